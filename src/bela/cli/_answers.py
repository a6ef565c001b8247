"""The answers of an audit on disk: one line each, on the disk before the next question is asked."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from bela.audit import Audit, Draw
from bela.errors import BelaError, DataError, ParameterError
from bela.records import Question

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_VERSION = 1
_SAME = {  # what must not change while an audit goes on, and how to say so
    "label": "for the label column {!r}",
    "score": "for the score column {!r}",
    "confidence": "at confidence {}",
    "seed": "with the seed {}",
}


class AnswersFile:
    """Append answers to a file of JSON lines, and take up an audit from it.

    The first line says what the answers are about. The others are draws, answers, skips and undos in the order in
    which they happened, so that the audit is the file replayed. A last line that was cut short by a crash was not
    acknowledged to anybody, and is dropped.
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ParameterError(f"{path} is in use by another audit: end that one first") from None
            lines = self._read()
            if not lines:
                lines = [{"bela": "certify", "version": _VERSION, **about}]
                self._append(lines[0])
                _sync_folder(path)
            self.about = lines[0]
            self._events = lines[1:]
            self._check(about)
        except BaseException:
            os.close(self._file)
            raise
        self._n_draws = 0

    def close(self) -> None:
        """Close the file, and let others have it."""
        os.close(self._file)

    def replay(self, audit: Audit) -> None:
        """Bring an audit to where the file says it was."""
        for number, event in enumerate(self._events, start=2):
            try:
                self._apply(audit, event)
            except (KeyError, TypeError, ValueError, BelaError) as error:
                reason = "" if isinstance(error, KeyError) else f": {error}"
                raise DataError(f"{self.path} does not fit this audit at line {number}{reason}") from None
        self._events = []

    def ask(self, audit: Audit) -> Question:
        """Return the next question, its draw on record."""
        [question] = audit.ask(1)
        for index in range(self._n_draws, len(audit.draws)):
            draw = audit.draws[index]
            if draw.weights is not None:
                self._append({"draw": index, "row": draw.row, "weights": list(draw.weights)})
        self._n_draws = len(audit.draws)
        return question

    def tell(self, audit: Audit, question: Question, *, answer: str | None) -> None:
        """Record an answer; None for a label that is wrong, without the right one."""
        if answer is None:
            audit.reject(question.id)
        else:
            audit.tell(question.id, answer)
        self._append({"answer": question.id, "row": question.row, "is": answer})

    def skip(self, audit: Audit, question: Question) -> None:
        """Record that a question was left unanswered."""
        audit.skip(question.id)
        self._append({"skip": question.id, "row": question.row})

    def undo(self, audit: Audit) -> Question:
        """Record that the last answer or skip was taken back."""
        question = audit.undo()
        self._append({"undo": question.id})
        return question

    # ---------------------------------------------------------------------------------------------- inside

    def _apply(self, audit: Audit, event: dict[str, Any]) -> None:
        if "draw" in event:
            if event["draw"] != len(audit.draws):
                raise ValueError(f"draw {event['draw']} follows draw {len(audit.draws) - 1}")
            audit.restore(Draw(int(event["row"]), tuple(map(float, event["weights"]))))
            self._n_draws = len(audit.draws)
        elif "undo" in event:
            if audit.undo().id != event["undo"]:
                raise ValueError(f"question {event['undo']} was not the last to be answered")
        else:
            question_id = event["skip"] if "skip" in event else event["answer"]
            if question_id == len(audit.draws) and audit.uniform:
                audit.restore(Draw(int(event["row"])))
                self._n_draws = len(audit.draws)
            if not 0 <= question_id < len(audit.draws) or audit.draws[question_id].row != event["row"]:
                raise ValueError(f"question {question_id} is not about row {event['row']}")
            if "skip" in event:
                audit.skip(question_id)
            elif event["is"] is None:
                audit.reject(question_id)
            else:
                audit.tell(question_id, event["is"])

    def _read(self) -> list[dict[str, Any]]:
        with os.fdopen(os.dup(self._file), "rb") as file:
            text = file.read()
        lines: list[dict[str, Any]] = []
        end = 0
        for number, line in enumerate(text.splitlines(keepends=True), start=1):
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError
            except ValueError:
                if line.endswith(b"\n"):
                    raise DataError(
                        f"{self.path} has no answer in line {number}: it is no file of answers, or it was changed"
                    ) from None
                break
            if not line.endswith(b"\n"):
                os.lseek(self._file, 0, os.SEEK_END)
                os.write(self._file, b"\n")
                end += 1
            lines.append(record)
            end += len(line)
        if end < len(text):
            os.ftruncate(self._file, end)
        os.lseek(self._file, 0, os.SEEK_END)
        return lines

    def _check(self, about: dict[str, Any]) -> None:
        there = self.about
        if there.get("bela") != "certify":
            raise DataError(f"{self.path} is no file of answers of `bela certify`: name another with --answers")
        if not isinstance(there.get("version"), int) or there["version"] > _VERSION:
            raise DataError(f"{self.path} was written by a newer version of BELA: upgrade to go on with it")
        if there.get("fingerprint") != about["fingerprint"]:
            raise DataError(
                f"{self.path} has answers about another {about['file']}: the file was changed since, so put it back, "
                f"or start anew with another --answers file"
            )
        for name, words in _SAME.items():
            if there.get(name) != about[name]:
                raise ParameterError(
                    f"{self.path} was begun {words.format(there.get(name))}: use the same to go on, "
                    f"or start anew with another --answers file"
                )

    def _append(self, record: dict[str, Any]) -> None:
        data = (json.dumps(record, ensure_ascii=False) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None


def _sync_folder(path: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
