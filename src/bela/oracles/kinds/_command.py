"""An external command that answers: any language model, service or program behind a script."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from bela._plain import to_plain
from bela.errors import OracleError, ParameterError
from bela.labels import label_to_text
from bela.oracles._answer_line import NoAnswer, parse_answer
from bela.oracles._child import Child
from bela.oracles._kinds import ORACLES, OracleContext, OracleOptions
from bela.oracles._reader import RecordOf, RecordReader
from bela.records import Answer, IntArray, Label

_TIDY_UP = 5.0  # seconds that a command which has answered everything may take to end
_LONGEST_WAIT = 60.0  # seconds between two tries
_NONSENSE, _NONSENSE_BYTES = 1000, 1 << 24  # lines or bytes of no answers, after which nobody waits for better ones
_SHOWN = 300  # characters of what the command said
_AT_ONCE = 8  # questions that are worth starting a command for


class CommandOracle:
    """Answer by an external command that reads questions and writes answers, one JSON object a line.

    A question is `{"id": 7, "record": {"text": "..."}, "classes": ["cat", "dog"]}` on the command's standard input; an
    answer is `{"id": 7, "label": "cat"}` on its standard output, with `null` for a label to skip the row, and
    `"cost": 0.002` where answers cost something. Answers may come in any order; they are matched by `id`.

    The command is started anew for each batch of questions, and its input ends after the last of them. So scripts that
    work line by line will do, and those that read everything first, such as `jq`. With `keep_running` it is started
    once and its input stays open, for commands that take long to start and answer line by line; such a command must
    write out each answer at once (Python scripts do here, as PYTHONUNBUFFERED is set).

    When the command fails, hangs or leaves questions without an answer, it is started again for those questions only.
    Every answer counts as soon as its line is there, whatever happens to the command afterwards. No shell is involved.

    Parameters
    ----------
    command
        The program and its arguments, as a list or as a string that is split like in a shell.
    records, hide
        The data, or a function that gives the record of a row, and columns that the command does not see. What JSON
        cannot hold is given as text: images as absolute paths or `data:` addresses, dates as ISO 8601.
    batch, timeout
        The most questions put to the command at once, and the most seconds to wait for each next answer.
    retries, backoff
        How often in a row the command is started again without getting a single answer from it, and the seconds before
        the first of these; each further one waits twice as long. `on_retry` is called with one sentence each time.
    classes
        The only labels allowed, or a function that gives those known so far; sent with each question.
    """

    def __init__(
        self, command: str | Sequence[str], records: RecordOf, *, hide: Collection[str] = (), batch: int = 32,
        timeout: float = 60.0, retries: int = 3, backoff: float = 0.5, keep_running: bool = False,
        classes: Sequence[Label] | Callable[[], Iterable[Label]] | None = None,
        on_retry: Callable[[str], object] | None = None,
    ) -> None:  # fmt: skip
        self.command = _split(command)
        self._program = _find(self.command[0])
        self._title = f"the oracle command {shlex.join(self.command)!r}"
        if batch < 1:
            raise ParameterError(f"a batch is at least one question, not {batch}")
        if not timeout > 0:
            raise ParameterError(f"the time-out is a number of seconds above 0, not {timeout}")
        if retries < 0 or backoff < 0:
            raise ParameterError(f"retries and backoff are numbers from 0 on, not {retries} and {backoff}")
        self._read = RecordReader(records, hide)
        self._batch, self._timeout, self._retries, self._backoff = batch, timeout, retries, backoff
        self._classes, self._keep_running, self._on_retry = classes, keep_running, on_retry
        self._child: Child | None = None
        self.cost, self.n_answers, self.n_skipped = 0.0, 0, 0  # of what `answers` has yielded

    @property
    def name(self) -> str:
        """What the command is called, without its options: there may be secrets among them."""
        program, *rest = self.command
        script = rest[0] if rest and not rest[0].startswith("-") else ""
        return f"command {Path(program).name} {script}".strip()

    @property
    def batch(self) -> int:
        """How many questions are worth starting the command for."""
        return min(_AT_ONCE, self._batch)

    def answers(self, rows: IntArray | Sequence[int]) -> Generator[Answer, None, None]:
        """Yield each answer as soon as it is there; to give up half-way, close the iterator: that ends the command."""
        asked = list(dict.fromkeys(int(row) for row in rows))
        for start in range(0, len(asked), self._batch):
            yield from self._answer_batch(asked[start : start + self._batch])

    def close(self, *, patience: float = _TIDY_UP) -> None:
        """End the command if it is still running; its input ends, and it has some seconds to end by itself."""
        child, self._child = self._child, None
        if child is not None:
            child.close(patience=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer_batch(self, rows: Sequence[int]) -> Generator[Answer, None, None]:
        """Ask until every row has an answer, or the command has failed too often."""
        classes = list(self._classes()) if callable(self._classes) else self._classes
        closed = classes is not None and not callable(self._classes)
        by_text = {label_to_text(label).strip(): label for label in classes or ()}
        parse = partial(parse_answer, classes=by_text, closed=closed)
        common = {} if classes is None else {"classes": [to_plain(label) for label in classes]}
        questions = {
            row: json.dumps({"id": row, "record": to_plain(self._read(row)), **common}).encode("ascii") + b"\n"
            for row in rows
        }
        failures = 0
        while True:
            before = len(questions)
            trouble = yield from self._try(questions, parse)
            if not questions:
                return
            failures = failures + 1 if len(questions) == before else 1
            what, left = f"{self._title} {trouble}", f"{len(questions)} of {len(rows)}"
            if failures > self._retries:
                raise OracleError(
                    f"{what}; after {failures} tries, {left} questions are without an answer: "
                    "mend it and go on, nothing that was answered so far is lost"
                )
            wait = min(self._backoff * 2 ** (failures - 1), _LONGEST_WAIT)
            if self._on_retry is not None:
                self._on_retry(f"{what}; asking again for {left} in {wait:g} s")
            time.sleep(wait)

    def _try(
        self, questions: dict[int, bytes], parse: Callable[[bytes, Collection[int]], Answer]
    ) -> Generator[Answer, None, str]:
        """Ask once, take each answered row out of the questions, and return what went wrong."""
        if self._child is not None and self._child.wait(0) is not None:  # it has ended since the last batch
            self.close()
        self._child = child = self._child or self._start()
        troubles: list[str] = []
        n_nonsense = n_nonsense_bytes = 0
        try:
            child.send(questions.values(), last=not self._keep_running)
            deadline = time.monotonic() + self._timeout
            while questions and n_nonsense <= _NONSENSE and n_nonsense_bytes <= _NONSENSE_BYTES:
                try:
                    line = child.receive(max(0.0, deadline - time.monotonic()))
                except TimeoutError:
                    troubles.append(f"gave no answer for {self._timeout:g} s")
                    break
                if line is None:
                    troubles.append(_ended(child.wait(_TIDY_UP)))
                    break
                if not line.strip():
                    continue
                try:
                    answer = parse(line, questions)
                except NoAnswer as reason:
                    if not n_nonsense:
                        start = line[: 4 * _SHOWN].decode("utf-8", "replace")
                        troubles.append(f"wrote a line that {reason} ({_excerpt(start)})")
                    n_nonsense, n_nonsense_bytes = n_nonsense + 1, n_nonsense_bytes + len(line)
                    continue
                del questions[answer.row]
                self.cost += answer.cost
                self.n_answers += answer.label is not None
                self.n_skipped += answer.label is None
                yield answer
                deadline = time.monotonic() + self._timeout  # what the caller did in between is not the command's time
            if questions and (words := child.last_words()):
                troubles.append(f"said {_excerpt(words, end=True)}")
        except BaseException:
            self.close(patience=0.0)
            raise
        if questions or not self._keep_running:
            self.close(patience=0.0 if questions else _TIDY_UP)
        return " and ".join(troubles)

    def _start(self) -> Child:
        try:
            return Child([self._program, *self.command[1:]])
        except OSError as error:
            raise OracleError(f"{self._title} cannot be started: {error.strerror or error}") from error


def _split(command: str | Sequence[str]) -> list[str]:
    """Return the program and its arguments; on Windows, backslashes are no escapes."""
    if isinstance(command, str):
        try:
            parts = shlex.split(command, posix=os.name != "nt")
        except ValueError as error:
            raise ParameterError(f"the oracle command {command!r} cannot be split into words: {error}") from None
        if os.name == "nt":
            parts = [part[1:-1] if part[:1] == part[-1:] == '"' and len(part) > 1 else part for part in parts]
    else:
        parts = [os.fspath(part) for part in command]
    if not parts or not parts[0]:
        raise ParameterError("the oracle command is empty: give a program and its arguments")
    if any("\0" in part for part in parts):
        raise ParameterError("the oracle command has a null character in it")
    return parts


def _find(program: str) -> str:
    """Return where a program is, so that one that is not there is told before any question is asked."""
    if found := shutil.which(program):
        return found
    if os.path.isfile(program):
        advice = f"name its interpreter too, as in 'python {program}'"
        raise ParameterError(f"{program!r} is no program that can be started: {advice}")
    raise ParameterError(f"there is no program {program!r} for the oracle command")


def _ended(status: int | None) -> str:
    if status is None:
        return "closed its output"
    if status < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"was ended by {names.get(-status, f'signal {-status}')}"
    return f"ended with status {status}"


def _excerpt(text: str, *, end: bool = False) -> str:
    """Return the beginning or end of what somebody else's program wrote, as one line that is safe to print."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) > _SHOWN:
        text = f"…{text[-_SHOWN:]}" if end else f"{text[:_SHOWN]}…"
    return repr(text)


@ORACLES.register("command")
def choose_command(argument: str, options: OracleOptions) -> Callable[[OracleContext], CommandOracle]:
    """A command that reads questions and writes answers as JSON lines."""
    options.check_no_model()
    make = partial(CommandOracle, argument, batch=options.batch or 64, keep_running=options.keep_running)
    if options.timeout is not None:
        make = partial(make, timeout=options.timeout)
    if options.retries is not None:
        make = partial(make, retries=options.retries)
    make(lambda row: {})  # whether there is such a command is said before any work is done

    def make_for(context: OracleContext) -> CommandOracle:
        classes = context.classes() if context.closed else context.classes
        return make(context.records, hide=context.hidden, classes=classes, on_retry=context.say)

    return make_for
