"""An external command that answers: any language model, service or program behind a script."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

from bela.errors import OracleError, ParameterError
from bela.oracles._answer_line import AnswerParser, NoAnswer
from bela.oracles._child import Child
from bela.oracles._plain import Reader, RecordOf, to_json
from bela.records import IntArray, Label

_TIDY_UP = 5.0  # seconds that a command which has answered everything may take to end
_LONGEST_WAIT = 60.0  # seconds between two tries
_NONSENSE = 1000  # lines that are no answers, after which nobody waits for better ones,
_NONSENSE_BYTES = 1 << 24  # or bytes
_SHOWN = 300  # characters of what the command said


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
    records
        The data, or a function that gives the record of a row. What JSON cannot hold is given as text: images as
        absolute paths or `data:` addresses, dates as ISO 8601.
    hide
        Columns that the command does not see, such as the one that holds the labels.
    batch
        The most questions put to the command at once.
    timeout
        The most seconds to wait for the first answer of a batch, and then for each further one.
    retries
        How often in a row the command is started again without getting a single answer from it.
    backoff
        Seconds before the first of these; each further one waits twice as long.
    classes
        The only labels allowed, or a function that gives those known so far, where others may come. Sent with each
        question.
    keep_running
        Whether the command stays for all batches.
    on_retry
        Called with one sentence whenever the command is about to be started again.

    Attributes
    ----------
    cost
        What all answers have cost so far. It grows just before `answers` yields the answer that it grows by.
    n_answers, n_skipped
        How many labels the command gave, and how many rows it skipped.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        records: RecordOf,
        *,
        hide: Collection[str] = (),
        batch: int = 32,
        timeout: float = 60.0,
        retries: int = 3,
        backoff: float = 0.5,
        classes: Sequence[Label] | Callable[[], Iterable[Label]] | None = None,
        keep_running: bool = False,
        on_retry: Callable[[str], object] | None = None,
    ) -> None:
        self.command = _split(command)
        self._program = _find(self.command[0])
        if batch < 1:
            raise ParameterError(f"a batch is at least one question, not {batch}")
        if not timeout > 0:
            raise ParameterError(f"the time-out is a number of seconds above 0, not {timeout}")
        if retries < 0 or backoff < 0:
            raise ParameterError(f"retries and backoff are numbers from 0 on, not {retries} and {backoff}")
        self._read = Reader(records, hide)
        self._batch, self._timeout, self._retries, self._backoff = batch, timeout, retries, backoff
        self._classes = classes
        self._keep_running, self._on_retry = keep_running, on_retry
        self._child: Child | None = None
        self._unclaimed: dict[int, Label | None] = {}  # answers that came before a call failed
        self.cost = 0.0
        self.n_answers = 0
        self.n_skipped = 0

    def __call__(self, rows: IntArray | Sequence[int]) -> list[Any]:
        """Return one label for each row, None for those that the command skips.

        Answers that came before an error are kept, and cost nothing when their rows are asked again.
        """
        asked = [int(row) for row in rows]
        with closing(self.answers([row for row in asked if row not in self._unclaimed])) as answers:
            for row, label in answers:
                self._unclaimed[row] = label
        labels = [self._unclaimed[row] for row in asked]
        for row in asked:
            self._unclaimed.pop(row, None)
        return labels

    def answers(self, rows: IntArray | Sequence[int]) -> Generator[tuple[int, Any], None, None]:
        """Yield each row with its label (None: skipped) as soon as it is answered, in the order of the answers.

        To give up half-way, close the iterator (`contextlib.closing`): that ends the command.
        """
        asked = list(dict.fromkeys(int(row) for row in rows))
        for start in range(0, len(asked), self._batch):
            yield from self._answer_batch(asked[start : start + self._batch])

    def close(self) -> None:
        """End the command if it is still running."""
        child, self._child = self._child, None
        if child is not None:  # its input ends: it may tidy up and end by itself
            child.close(patience=_TIDY_UP)

    def __enter__(self) -> CommandOracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------- inside

    def _answer_batch(self, rows: Sequence[int]) -> Generator[tuple[int, Any], None, None]:
        """Ask until every row has an answer, or the command has failed too often."""
        n_rows = len(rows)
        classes = list(self._classes()) if callable(self._classes) else self._classes
        closed = classes is not None and not callable(self._classes)
        parser = AnswerParser(classes or (), closed=closed)
        common = {} if classes is None else {"classes": [to_json(label) for label in classes]}
        questions = {
            row: json.dumps({"id": row, "record": to_json(self._read(row)), **common}).encode("ascii") + b"\n"
            for row in rows
        }
        failures = 0
        while True:
            before = len(questions)
            trouble = yield from self._try(questions, parser)
            if not questions:
                return
            failures = failures + 1 if len(questions) == before else 1
            what = f"the oracle command {shlex.join(self.command)!r} {trouble}"
            if failures > self._retries:
                raise OracleError(
                    f"{what}; after {failures} tries, {len(questions)} of {n_rows} questions are without an answer: "
                    "mend it and go on, nothing that was answered so far is lost"
                )
            wait = min(self._backoff * 2 ** (failures - 1), _LONGEST_WAIT)
            if self._on_retry is not None:
                self._on_retry(f"{what}; asking again for {len(questions)} of {n_rows} in {wait:g} s")
            time.sleep(wait)

    def _try(self, questions: dict[int, bytes], parser: AnswerParser) -> Generator[tuple[int, Any], None, str]:
        """Ask once, take each answered row out of the questions, and return what went wrong."""
        child = self._child if self._child is not None and self._child.running else self._start()
        self._child = child
        troubles: list[str] = []
        n_nonsense = n_nonsense_bytes = 0
        done = False
        try:
            child.send(questions.values(), last=not self._keep_running)
            deadline = time.monotonic() + self._timeout
            while questions:
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
                    answer = parser.parse(line, questions)
                except NoAnswer as reason:
                    n_nonsense, n_nonsense_bytes = n_nonsense + 1, n_nonsense_bytes + len(line)
                    if n_nonsense == 1:
                        start = line[: 4 * _SHOWN].decode("utf-8", "replace")
                        troubles.append(f"wrote a line that {reason} ({_excerpt(start)})")
                    elif n_nonsense > _NONSENSE or n_nonsense_bytes > _NONSENSE_BYTES:
                        break
                    continue
                del questions[answer.row]
                self.cost += answer.cost
                self.n_answers += answer.label is not None
                self.n_skipped += answer.label is None
                yield answer.row, answer.label
                deadline = time.monotonic() + self._timeout  # what the caller did in between is not the command's time
            if questions and (words := child.last_words()):
                troubles.append(f"said {_excerpt(words, end=True)}")
            done = not questions
        finally:
            if not (done and self._keep_running):
                self._child = None
                child.close(patience=_TIDY_UP if done else 0.0)
        return " and ".join(troubles)

    def _start(self) -> Child:
        try:
            return Child([self._program, *self.command[1:]])
        except OSError as error:
            raise OracleError(
                f"the oracle command {shlex.join(self.command)!r} cannot be started: {error.strerror or error}"
            ) from error


def _split(command: str | Sequence[str]) -> list[str]:
    """Return the program and its arguments."""
    if isinstance(command, str):
        try:
            # Backslashes are no escapes where they stand between the parts of a path.
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
    found = shutil.which(program)
    if found is not None:
        return found
    if os.path.isfile(program):
        raise ParameterError(
            f"{program!r} is no program that can be started: name its interpreter too, as in 'python {program}'"
        )
    raise ParameterError(f"there is no program {program!r} for the oracle command")


def _ended(status: int | None) -> str:
    if status is None:
        return "closed its output"
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with status {status}"


def _excerpt(text: str, *, end: bool = False) -> str:
    """Return the beginning or end of what somebody else's program wrote, as one line that is safe to print."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(text) > _SHOWN:
        text = f"…{text[-_SHOWN:]}" if end else f"{text[:_SHOWN]}…"
    return repr(text)
