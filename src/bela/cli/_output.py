"""What a command says: words, bars and JSON, each where it belongs and none amid another."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bela.campaign import SCANNING, Campaign, LogPlace
from bela.cli._showing import escape
from bela.cli._terminal import describe
from bela.data import watching_scans
from bela.errors import ParameterError
from bela.records import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


_OFTEN = 0.1  # seconds between two looks at the certificate


def check_place(option: str, path: str | Path | None) -> None:
    """Refuse a file that cannot be written, before the work is done for it."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise ParameterError(f"{option} {path}: there is no such folder to write to; make it first")


class Output:
    """Words on stdout, or on stderr where JSON is wanted on stdout; bars on stderr, if that is a terminal.

    `json_to` is where the outcome goes as JSON: a file, "-" for stdout, None for nowhere.
    """

    def __init__(self, json_to: str | None = None) -> None:
        from rich.console import Console

        if json_to != "-":
            check_place("--json", json_to)
        self.json_to = json_to
        self.console: Console = Console(stderr=json_to == "-", highlight=False, soft_wrap=True)
        if hasattr(self.console.file, "reconfigure"):
            self.console.file.reconfigure(errors="replace")  # better a ? than a traceback

    def say(self, line: str) -> None:
        """Print a line; nothing in it steers the terminal."""
        self.console.print(escape(line), markup=False)

    def finish(self, outcome: Mapping[str, Json], words: Iterable[str]) -> None:
        """Say what has come of it, in words unless only JSON is wanted, and as JSON if it is."""
        if self.json_to != "-":
            for line in words:
                self.say(line)
        if self.json_to is None:
            return
        text = json.dumps(outcome, indent=1, allow_nan=False)
        if self.json_to == "-":
            print(text, flush=True)
        else:
            Path(self.json_to).write_text(f"{text}\n", encoding="utf-8")

    def apart(self) -> AbstractContextManager[object]:
        """Keep what functions of the user's own print from being taken for the outcome."""
        return redirect_stdout(sys.stderr) if self.json_to == "-" else nullcontext()

    @contextmanager
    def bars(self) -> Iterator[Bars]:
        """Show a bar for each long piece of work, and one for each time that all rows are gone through."""
        bars = Bars(self)
        try:
            with watching_scans(partial(bars, SCANNING)):
                yield bars
        finally:
            bars.progress.stop()


class Bars:
    """Bars that come when there is something to wait for, and leave no trace; words between them are not torn."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.progress = make_progress(transient=True)
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, share: float) -> None:
        """Show how much of something is done."""
        self.progress.start()
        if what not in self._tasks:
            self._tasks[what] = self.progress.add_task(what, total=1.0, state="")
        self.progress.update(self._tasks[what], completed=share)

    def say(self, line: str) -> None:
        """Print a line, with no bars until one of them moves again."""
        self.progress.stop()
        self._output.say(line)


def make_progress(*, transient: bool = False) -> Progress:
    """Return bars on stderr, or nothing where that is no terminal; transient ones end without a trace."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[state]}")
    ours = sys.stdout.isatty()  # what is read by another program is not ours to show
    return Progress(
        SpinnerColumn(), *columns, TimeElapsedColumn(),
        console=console, disable=not console.is_terminal, expand=True, transient=transient, redirect_stdout=ours,
    )  # fmt: skip


@contextmanager
def watch(name: str) -> Iterator[Callable[[Campaign], None]]:
    """Show a bar that fills as the bound climbs to the target, or as the budget is used where there is none.

    Another one comes for as long as it takes to go through all rows, where that is long. Where stderr is no terminal,
    there is a line now and then.
    """
    last, lines, scan = 0.0, LogPlace(sys.stderr), None
    with make_progress(transient=True) as bars:
        task = bars.add_task(name, total=None, state="looking at the data")

        def show(campaign: Campaign) -> None:
            nonlocal last
            if bars.disable:
                lines.show(campaign)
            if bars.disable or time.monotonic() - last < _OFTEN:
                return
            last = time.monotonic()
            cost, target = campaign.book.cost, campaign.target
            total = target if target is not None else campaign.n_rows if campaign.budget is None else campaign.budget
            done = campaign.n_asked if target is None else min(campaign.certificate.lower, target)
            state = describe(campaign) + (f" · cost {cost:.6g}" if cost else "")
            bars.update(task, total=total, completed=done, state=state)

        def show_scan(share: float) -> None:
            nonlocal scan
            if bars.disable:
                lines.show_scan(share)
                return
            scan = bars.add_task(SCANNING, total=1.0, state="") if scan is None else scan
            bars.update(scan, completed=share, visible=share < 1)

        with watching_scans(show_scan):
            yield show
