"""The `bela` program: its commands, and how it ends when something is wrong."""

import atexit
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from bela.cli._options import complete
from bela.cli._showing import escape
from bela.cli.backup import backup, restore
from bela.cli.certify import certify
from bela.cli.demo import demo
from bela.cli.export import export
from bela.cli.label import label
from bela.cli.people import people
from bela.cli.predict import predict
from bela.cli.report import report
from bela.cli.reproduce import reproduce
from bela.cli.rows import rows
from bela.cli.run import run
from bela.cli.serve import serve
from bela.cli.simulate import simulate
from bela.cli.status import status
from bela.cli.undo import undo
from bela.cli.verify import verify
from bela.errors import BelaError

# Threads that may take minutes, and would keep the program, or break when Python ends under them: a revision, a request
# that is being answered. All that must be kept is on disk.
_ENDLESS = ("bela-", "AnyIO worker")

app = typer.Typer(
    name="bela",
    help="Label a whole dataset for a few hundred answers, and know how good the labels are.",
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in (
    demo, label, serve, people, run, status, rows, export, predict, report, undo, verify, backup, restore, certify,
    simulate,
    reproduce,
):  # fmt: skip
    app.command()(command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from bela import __version__

        typer.echo(f"bela {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, or 2 with one line on stderr for what the caller can put right.

    Without arguments it is the program that was started, which ends with it.
    """
    if arguments is not None:
        return _run(arguments)
    status = _run(sys.argv[1:])
    if any(thread.name.startswith(_ENDLESS) for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    return status


def _run(arguments: Sequence[str]) -> int:
    try:
        said = complete(arguments)
        status = app(args=said, prog_name="bela", standalone_mode=False)
    except BelaError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has had enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.filename or 'a file'}: {error.strerror or error}")
    except typer.Abort:
        return 130
    except Exception as error:
        if not hasattr(error, "format_message"):  # the mark of a mistake in the arguments, whatever click this is
            raise
        return _fail(error.format_message())
    return status if isinstance(status, int) else 0


def _fail(message: str) -> int:
    line = escape(" ".join(message.split()))
    print(f"bela: {line}", file=sys.stderr)
    return 2
