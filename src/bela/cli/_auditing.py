"""The person in the terminal who audits labels: one key says that a label is right, another that it is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bela.book import Book
from bela.campaign import Campaign, audit_result, audited_label
from bela.cli._keyboard import BACKSPACE, ENTER
from bela.cli._showing import count, name_of
from bela.cli._terminal import Command, TerminalLabeller, tell, undo
from bela.errors import DataError
from bela.labels import label_to_text
from bela.protocols import Table
from bela.records import Label, Question, StopReason
from bela.shares import percent_text, share_text

if TYPE_CHECKING:
    from rich.console import Console


_KEYS = {"y": Command.RIGHT, "n": Command.WRONG, "u": Command.UNDO, "s": Command.SKIP, "q": Command.QUIT}


class AuditLabeller(TerminalLabeller):
    """Show rows with the label under audit, from a `column`, and understand whether it is right.

    Where every line is an answer, the name of a class is one; a name that no class has must be typed twice. If a class
    has the name of a key, keys then need a slash.
    """

    prompt, more, reserved = "  right? ", ".", "yns."

    def __init__(self, console: Console, table: Table, campaign: Campaign, column: str, shown: Sequence[str]) -> None:
        super().__init__(console, table, campaign.classes, shown)
        self._campaign, self._column, self._row, self._unknown = campaign, column, -1, ""

    @property
    def commands(self) -> Mapping[str, Command]:
        """What keys mean besides the classes."""
        keys = {f"{self._mark}{key}": command for key, command in _KEYS.items()}
        more = {ENTER: Command.RIGHT, " ": Command.SKIP, BACKSPACE: Command.UNDO}
        return {**keys, **{key.upper(): command for key, command in keys.items()}, **more}

    @property
    def _mark(self) -> str:
        named = (label_to_text(label).lower() for label in self._campaign.classes)
        return "/" if not self.keyboard.single and any(name in _KEYS for name in named) else ""

    def introduce(self) -> None:
        """Say what can be typed."""
        mark, how = self._mark, "press the key of" if self.keyboard.single else "type"
        new = "+: type the name of another.  " if self.keyboard.single else ""
        self.say(
            f"Enter: the label is right.  {mark}n: it is wrong, or {how} the right one.  {new}{mark}u: undo.  "
            f"{mark}s: skip (counts as wrong until answered).  {self.more}: more of a long row.  ?: help.  "
            f"{mark}q: quit; the answers are kept."
        )

    def ask(self, row: int, state: str) -> Command | Label:
        """Show a row with its label and where the audit stands, and return what is said about it."""
        if self._row < 0:  # what is known already needs no introduction
            self.introduce()
        self._row, self._unknown = row, ""
        return super().ask(row, f"{state} (row {row})")

    def _show_classes(self, *, everything: bool = False) -> None:
        if self.keyboard.single or everything:
            super()._show_classes(everything=everything)
        self.say(f"  {name_of(self._column)}: {name_of(audited_label(self._campaign, self._row), 200)}", style="bold")

    def _take_unknown(self, typed: str) -> Label | None:
        if self.keyboard.single:
            return super()._take_unknown(typed)
        if typed != self._unknown:
            self._unknown = typed
            self.say(f"No label of this file is {name_of(typed, 200)}: type it again if it is the right one.")
            return None
        return self._keys.make(typed)


def describe(campaign: Campaign) -> str:
    """Say in a few words where an audit stands."""
    found = audit_result(campaign)
    target = "" if found.target is None else f", target {percent_text(found.target)}"
    return (
        f"{count(found.n_asked, 'answer')}, {count(len(found.mistakes), 'mistake')}, "
        f"at least {share_text(found.certificate.lower)} right{target}"
    )


def audit_in_terminal(campaign: Campaign, labeller: AuditLabeller, known: Mapping[int, str | None]) -> None:
    """Let the person in the terminal answer until there is a verdict, or until they have had enough.

    Rows that were skipped another day come first. What is `known` already is not asked: the right label of a row, or
    None for one whose label is wrong.
    """
    passed: set[int] = set()  # rows that were skipped today
    reopened: Question | None = None
    with labeller.keyboard:
        while campaign.stop_reason in (None, StopReason.EXHAUSTED):
            late = None if reopened else _skipped(campaign.book, passed)
            question = reopened or late or next(iter(campaign.ask(1)), None)
            reopened = None
            if question is None:
                return
            if late is None and question.row in known:
                answer = known[question.row]
                told: Command | Label = Command.WRONG if answer is None else answer
                _take(campaign, labeller, question, told, late=False, seen=False)
                continue
            labeller.learn(campaign.classes)
            said = labeller.ask(question.row, describe(campaign))
            if said is Command.QUIT:
                return
            if said is Command.UNDO:
                reopened = undo(campaign, labeller)
                continue
            if said is Command.SKIP:
                passed.add(question.row)
            _take(campaign, labeller, question, said, late=late is not None, seen=True)


def _skipped(book: Book, passed: set[int]) -> Question | None:
    """Return the first question that was skipped and is not answered since."""
    answered = {*book.rejected, *book.corrections, *passed}
    return next((q for q in book.questions if book.declined[q.row] and q.row not in answered), None)


def _take(
    campaign: Campaign, labeller: AuditLabeller, question: Question, said: Command | Label, *, late: bool, seen: bool
) -> None:
    """Tell a campaign what was said about a row, be it to a question that is open or to one that was skipped.

    Whoever answers here has `seen` the label; of answers from a file nobody knows.
    """
    if said is Command.RIGHT:
        said = audited_label(campaign, question.row)
    if not isinstance(said, Command):
        if late:
            campaign.relabel(question.row, said)
        else:
            tell(campaign, labeller, question.id, said, suggested=seen)
    elif late and said is Command.WRONG:
        labeller.say("As a skipped row it counts as wrong: type the right label, or skip it again.")
    elif not late:
        if said is Command.WRONG:
            campaign.reject(question.id, suggested=seen)
        else:
            campaign.skip(question.id)


def read_answers(path: Path) -> dict[int, str | None]:
    """Return the right labels of rows from a file of JSON lines, None for a row whose label is wrong.

    Files that `bela certify` wrote before there was a folder for each audit are read as well: what was taken back or
    skipped in them is left out.
    """
    answers: dict[int, str | None] = {}
    rows: dict[object, int] = {}  # by question
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise DataError(f"{path} has no answer in line {number}: it is not a file of answers, or it was changed")
        row = rows.get(record["undo"], -1) if "undo" in record else record.get("row")
        says = record.keys() & {"is", "undo", "skip", "draw"}
        if type(row) is not int or not says or not isinstance(record.get("is"), str | int | float | None):
            if "bela" in record and number == 1:
                continue
            like = 'as {"row": 7, "is": "cat"} does'
            raise DataError(f"{path} is not a file of answers: line {number} does not say what a row is, {like}")
        answers.pop(row, None)
        rows[record.get("answer", record.get("skip"))] = row
        if "is" in record:
            answers[row] = None if record["is"] is None else label_to_text(record["is"])
    return answers
