"""What a command says: words, bars and JSON, each where it belongs and none amid another."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bela.cli._showing import escape

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


class Output:
    """Words on stdout, or on stderr where JSON is wanted on stdout; bars on stderr, if that is a terminal.

    Parameters
    ----------
    json_to
        Where the outcome goes as JSON: a file, "-" for stdout, None for nowhere.
    """

    def __init__(self, json_to: str | None = None) -> None:
        from rich.console import Console

        from bela.errors import ParameterError

        if json_to not in (None, "-") and not Path(str(json_to)).absolute().parent.is_dir():
            raise ParameterError(f"--json {json_to}: there is no such folder to write to; make it first")
        self.json_to = json_to
        self.console: Console = Console(stderr=json_to == "-", highlight=False, soft_wrap=True)
        if hasattr(self.console.file, "reconfigure"):
            self.console.file.reconfigure(errors="replace")  # better a ? than a traceback

    def say(self, line: str) -> None:
        """Print a line; nothing in it steers the terminal."""
        self.console.print(escape(line), markup=False)

    def finish(self, outcome: dict[str, Any], words: Iterable[str]) -> None:
        """Say what has come of it, in words unless only JSON is wanted, and as JSON if it is."""
        import json

        if self.json_to != "-":
            for line in words:
                self.say(line)
        if self.json_to is None:
            return
        text = json.dumps(outcome, indent=1, allow_nan=False) + "\n"
        if self.json_to == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            Path(self.json_to).write_text(text, encoding="utf-8")

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep what functions of the user's own print from being taken for the outcome."""
        with contextlib.redirect_stdout(sys.stderr) if self.json_to == "-" else contextlib.nullcontext():
            yield

    @contextmanager
    def bars(self) -> Iterator[Bars]:
        """Show a bar for each long piece of work."""
        bars = Bars(self)
        try:
            yield bars
        finally:
            bars.stop()


class Bars:
    """Bars that come when there is something to wait for, and leave no trace; words between them are not torn."""

    def __init__(self, output: Output) -> None:
        from bela.cli._progress import make_progress

        self._output = output
        self._progress = make_progress(transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._lines: list[str] = []

    def __call__(self, what: str, share: float) -> None:
        """Show how much of something is done."""
        self._speak()
        if what not in self._tasks:
            self._progress.start()
            self._tasks[what] = self._progress.add_task(what, total=1.0, state="")
        self._progress.update(self._tasks[what], completed=share)

    def say(self, line: str) -> None:
        """Print a line before the next bar moves."""
        self._lines.append(line)

    def stop(self) -> None:
        """Take the bars away, and say what is left to say."""
        self._tasks.clear()
        self._progress.stop()
        self._speak()

    def _speak(self) -> None:
        if not self._lines:
            return
        self._progress.stop()
        for line in self._lines:
            self._output.say(line)
        self._lines.clear()
        if self._tasks:
            self._progress.start()
