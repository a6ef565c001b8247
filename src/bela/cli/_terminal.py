"""The person in the terminal who labels: one key an answer, with the certificate always in sight."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bela.book import undo_step
from bela.campaign import Campaign, Repeats
from bela.cli._keyboard import BACKSPACE, ENTER, ESCAPE, OTHER, TAB, ClassKeys, Keyboard, open_keyboard
from bela.cli._showing import Pager, count, escape, name_of, record_lines
from bela.errors import LabelError, QuestionError
from bela.oracles import image_path
from bela.protocols import Table
from bela.records import Label, Question, StopReason
from bela.shares import percent_text, share_text

if TYPE_CHECKING:
    from rich.console import Console


class Command(Enum):
    """What somebody may want besides answering; labels under audit are right or wrong."""

    UNDO, SKIP, QUIT, GO_ON, RIGHT, WRONG = range(6)


_MOMENT = 1.0  # seconds
_CLASS_LINES = 4
_AROUND = _CLASS_LINES + 5  # lines of the screen that are not the row's


class TerminalLabeller:
    """Show rows to the person in the terminal, and understand which class they belong to.

    In a terminal every key is an answer at once; where standard input is no terminal, every line is one, so that it
    can be scripted. A line is a key, the name of a class, or `+` and the name of a new one.
    """

    prompt, more, reserved = "> ", ENTER, ""
    """What is shown when something may be typed, the key for more of a long row, and keys that no class may have."""

    def __init__(
        self, console: Console, records: Table, classes: Iterable[Label] = (),
        shown_columns: Sequence[str] | None = None, *, keyboard: Keyboard | None = None,
    ) -> None:  # fmt: skip
        self._console, self._records, self._columns = console, records, shown_columns
        self.keyboard: Keyboard = open_keyboard() if keyboard is None else keyboard
        self._keys = ClassKeys(classes, self.reserved)
        self._root = None if records.root is None else Path(records.root).absolute()
        if hasattr(console.file, "reconfigure"):
            console.file.reconfigure(errors="replace")  # better a ? than no question

    def learn(self, classes: Iterable[Label], *, afresh: bool = False) -> None:
        """Give keys to classes that have none yet, or anew to all, forgetting those that are gone."""
        if afresh:
            self._keys = ClassKeys(classes, self.reserved)
        else:
            self._keys.learn(classes)

    @property
    def commands(self) -> Mapping[str, Command]:
        """What keys mean besides the classes."""
        undo, quit_ = dict.fromkeys(("u", "U", BACKSPACE), Command.UNDO), dict.fromkeys(("q", "Q"), Command.QUIT)
        return {**undo, **quit_, " ": Command.SKIP}

    def introduce(self) -> None:
        """Say what can be typed."""
        new = "+: type the name of another class." if self.keyboard.single else "+NAME: another class."
        self.say(
            "The key of a class, as shown below each row, answers.  Space: skip (a row drawn at random then counts as "
            "wrong; where rows cannot be told, let that be a class).  u or Backspace: undo.  "
            f"Enter: more of a long row.  {new}  ?: help.  q: quit; every answer is kept."
        )

    def ask(self, row: int, state: str) -> Command | Label:
        """Show a row, and return the class that it belongs to, or the wish to undo, skip or quit."""
        pages = Pager(self._lines(row))
        self.say("")
        self.say(state, style="dim")
        self._show_page(pages)
        self._show_classes()
        while True:
            typed = self._read(self.prompt)
            if typed is None:
                return Command.QUIT
            if typed == self.more:
                self.say("" if pages.more else "There is no more of this row.")
                self._show_page(pages)
            elif typed == "?":
                self.say("")
                self.introduce()
                self._show_classes(everything=True)
            else:
                said = self._understand(typed)
                if said is not None:
                    return said

    def choose(self, text: str, keys: Mapping[str, str]) -> str:
        """Say something and wait for one of these keys, each of which has its explanation; "" if no key came."""
        self.say("")
        self.say(text, style="bold")
        self.say("  ".join(f"{'Enter' if key == ENTER else key}: {meaning}." for key, meaning in keys.items()))
        while True:
            typed = self._read("> ")
            if typed is None:
                return ""
            typed = "u" if typed == BACKSPACE else typed.lower()
            self.say("")
            if typed in keys:
                return typed

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line of our own."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show that something is being done, if it takes longer than a moment: the first fit of many rows does."""
        if not self._console.is_terminal:
            yield
            return
        status = self._console.status(what)
        timer = threading.Timer(_MOMENT, status.start)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            status.stop()

    def _read(self, prompt: str) -> str | None:
        try:
            self._echo(prompt)  # within, as somebody quick may press Ctrl-C as soon as it is seen
            typed = self.keyboard.read()
            while typed == OTHER:
                typed = self.keyboard.read()
        except KeyboardInterrupt:
            typed = None
        if typed is None:
            self.say("")
        return typed

    def _understand(self, typed: str) -> Command | Label | None:
        """Return what a key or a line means, or None, with a word of explanation, where it means nothing."""
        command = self.commands.get(typed)
        if command is not None:
            self.say("skipped" if command is Command.SKIP else "")
            return command
        found = self._keys.find(typed) if len(typed) == 1 else None
        if found is None and not (self.keyboard.single and len(typed) == 1):
            found = self._keys.named(typed)
        if found is None and typed.startswith("+"):
            name = self._read_name() if self.keyboard.single else typed[1:].strip()
            if not name:
                self.say("" if self.keyboard.single else "Write + and the name of the class.")
                return None
            try:
                found = self._keys.make(name)
            except LabelError as error:
                self.say(f"{error}.")
                return None
        if found is None:
            found = self._take_unknown(typed)
        if found is not None:
            self.say(name_of(found, 200), style="bold")
        return found

    def _take_unknown(self, typed: str) -> Label | None:
        """Say that there is no such class."""
        what = "There is no class with the key" if len(typed) == 1 else "There is no class named"
        self.say(f"{what} {name_of(typed)}: ? helps.")
        return None

    def _read_name(self) -> str:
        """Read the name of a class, key by key: Tab completes it, Escape gives up."""
        from rich.cells import cell_len

        name = ""
        self._echo("class (Tab completes, Escape: none): ")
        while True:
            try:
                key = self.keyboard.read()
            except KeyboardInterrupt:
                key = ESCAPE
            if key in (None, ESCAPE, ENTER):
                self._echo("\n")
                return " ".join(name.split()) if key == ENTER else ""
            if key == BACKSPACE:
                width = cell_len(name[-1:])
                self._echo("\b" * width + " " * width + "\b" * width)
                name = name[:-1]
            elif key == TAB:
                completed = self._keys.complete(name)
                self._echo("\b" * cell_len(name) + completed)
                name = completed
            elif key:
                self._echo(key)
                name += key

    def _echo(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()

    def _lines(self, row: int) -> Iterator[str]:
        record = {
            name: value if (path := image_path(value, self._root)) is None else str(path)
            for name, value in self._records.record(row).items()
        }
        return record_lines(self._console, record, self._columns)

    def _show_page(self, pages: Pager) -> None:
        for line in pages.take(max(5, self._console.height - _AROUND)):
            self.say(f"  {line}")
        if pages.more:
            self.say(f"  … ({'Enter' if self.more == ENTER else self.more}: more)", style="dim")

    def _show_classes(self, *, everything: bool = False) -> None:
        """Show the classes and their keys, side by side: a few lines of them, or all."""
        from rich.cells import cell_len

        if not self._keys.classes:
            first = "press + and type the name of the first one" if self.keyboard.single else "write +NAME"
            self.say(f"There are no classes yet: {first}.")
            return
        lines = [""]
        keys = {label: key for key, label in self._keys.by_key.items()}
        for label in self._keys.classes:
            item = f"  {keys.get(label, '+')} {name_of(label)} "
            if cell_len(lines[-1] + item) > self._console.width and lines[-1]:
                lines.append("")
            lines[-1] += item
        for line in lines if everything else lines[:_CLASS_LINES]:
            self.say(line, style="cyan")
        if len(lines) > _CLASS_LINES and not everything:
            self.say(f"  … ({len(self._keys.classes)} classes; ? shows them all)", style="dim")


def label_in_terminal(campaign: Campaign, labeller: TerminalLabeller, *, again: float = 0.0) -> None:
    """Let the person in the terminal answer until a target, a budget or the data end, or until they have had enough.

    When the target is reached it says so and offers to go on. Answers are told to the campaign one by one. The share
    `again` of draws is asked a second time, mixed in with the others and shown like them.
    """
    repeats = Repeats(campaign.book, again)
    with labeller.keyboard:
        labeller.introduce()
        going_on = False  # beyond the target
        undone = False  # whoever takes an answer back is asked again, whatever the reason to stop
        while True:
            reason = campaign.stop_reason
            going_on = going_on and reason is StopReason.TARGET  # if it is lost again, its return is news
            question = repeated = None
            if reason is None or going_on or undone:
                repeated = None if undone else next(iter(repeats.due()), None)
                with labeller.waiting("Choosing what to ask"):
                    question = repeated or next(iter(campaign.ask(1)), None)
            if question is None:
                said = _at_the_end(campaign, labeller, going_on=going_on)
            else:
                labeller.learn(campaign.classes)
                said = labeller.ask(question.row, describe(campaign))
            undone = said is Command.UNDO and undo(campaign, labeller) is not None
            going_on = going_on or said is Command.GO_ON
            if said is Command.QUIT:
                return
            if question is not None and said is Command.SKIP:
                if repeated is None:
                    campaign.skip(question.id)
                else:
                    campaign.tell_again(question.id, None)
            elif question is not None and not isinstance(said, Command):
                tell(campaign, labeller, question.id, said, again=repeated is not None)


def describe(campaign: Campaign) -> str:
    """Say in one line where a campaign stands: answers, certificate, target, and what is still to be done."""
    certificate, forecast = campaign.certificate, campaign.forecast
    parts = [count(campaign.n_asked, "answer")]
    parts.append(f"{certificate.guarantee.word} {share_text(certificate.lower)}")
    if campaign.target is not None:
        parts.append(f"target {percent_text(campaign.target)}")
        if campaign.class_target is not None:
            parts.append(f"for each class {percent_text(campaign.class_target)}")
        if forecast is not None and (certificate.lower < campaign.target or forecast.answers):
            parts.append(f"some {forecast.answers:,} more to go ({forecast.low:,} to {forecast.high:,})")
    if campaign.budget is not None:
        parts.append(f"budget {campaign.budget:,}")
    return " · ".join(parts)


def _at_the_end(campaign: Campaign, labeller: TerminalLabeller, *, going_on: bool) -> Command | Label:
    """Say why there is no further question, and ask what to do."""
    after, budget = f"after {count(campaign.n_asked, 'answer')}", campaign.budget
    choices = {"u": "take the last answer back", ENTER: "stop here", "q": "the same"}
    if campaign.stop_reason is StopReason.TARGET and not going_on:
        why, choices = f"The target is reached {after}.", {"g": "go on for a higher share", **choices}
    elif budget is not None and campaign.n_asked >= budget:
        why = f"The budget of {count(budget, 'answer')} is used up."
    else:
        why = f"There is nothing left to ask {after}."
    choice = labeller.choose(f"{why} {campaign.certificate.claim}", choices)
    return {"u": Command.UNDO, "g": Command.GO_ON}.get(choice, Command.QUIT)


def tell(
    campaign: Campaign, labeller: TerminalLabeller, question_id: int, label: Label, *, again: bool = False,
    suggested: bool = False,
) -> None:  # fmt: skip
    """Give an answer; whoever has typed a new name wants the class, also where the classes were declared."""
    give = campaign.tell_again if again else partial(campaign.tell, suggested=suggested)
    try:
        try:
            give(question_id, label)
        except LabelError:
            if label in campaign.classes:
                raise
            campaign.add_class(label)
            give(question_id, label)
            labeller.say("That is a new class beside the declared ones: u takes back the answer, then the class.")
    except LabelError as error:
        labeller.say(f"{escape(str(error))}.")


def undo(campaign: Campaign, labeller: TerminalLabeller) -> Question | None:
    """Take back what was done last; return the question that is open again by that, if one is."""
    try:
        step = undo_step(campaign.book)
        question = campaign.undo()
    except QuestionError as error:
        labeller.say(f"{escape(str(error)).capitalize()}.")
        return None
    if step.kind == "again":
        labeller.say(f"Took back row {step.row}.")
    elif question is None:
        labeller.say("Took back the last change of a label or of the classes.")
        labeller.learn(campaign.classes, afresh=True)
    else:
        labeller.say(f"Took back row {question.row}.")
    return question
