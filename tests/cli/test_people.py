"""How people are asked: what cannot be told as a class, draws that are asked again, suggestions that are wanted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from bela import Campaign
from bela.book import again
from bela.campaign import open_campaign
from bela.cli._keyboard import LineKeyboard
from bela.cli._options import PeopleOptions
from bela.cli._terminal import Command, TerminalLabeller, label_in_terminal
from bela.records import Label, Role

N_ROWS = 60
SIDE = np.arange(N_ROWS) % 2
X = np.where(SIDE[:, None] == 0, 0.0, 9.0) + np.random.default_rng(0).normal(size=(N_ROWS, 2))


def classes_of(path: str) -> list[Label]:
    """The classes of a campaign on disk."""
    with open_campaign(Path(path), read_only=True) as stored:
        return list(stored.campaign.classes)


# ---------------------------------------------------------------------------------------------------- cannot be told


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["--classes", "cat,dog", "--cannot-tell"], ["cat", "dog", "cannot tell"]),
        (["--classes", "cat,dog", "--cannot-tell=no idea"], ["cat", "dog", "no idea"]),
        (["--cannot-tell"], ["cannot tell"]),
    ],
)
def test_what_cannot_be_told_is_a_class(call: Any, table: Path, said: list[str], expected: list[str]) -> None:
    """It is there from the first question on, with a key, and is an answer like any other."""
    found = call("label", "pets.csv", "--terminal", "--hide", "kind", *said, typed=f"{len(expected)}\nq\n")
    assert f"{len(expected)} {expected[-1]}" in found.out
    assert classes_of("pets.bela") == expected
    with open_campaign(Path("pets.bela"), read_only=True) as stored:
        book = stored.campaign.book
        assert (book.n_asked, book.n_skipped, book.answer_to(0)) == (1, 0, expected[-1])


def test_it_can_be_added_later(call: Any, table: Path) -> None:
    """Once: a class that there is already is not added again."""
    call("label", "pets.csv", "--terminal", "--hide", "kind", "--classes", "cat,dog", typed="q\n")
    assert "'cannot tell' is a class from now on" in call("label", "pets.csv", "--terminal", "--cannot-tell").out
    assert "from now on" not in call("label", "pets.csv", "--terminal", "--cannot-tell").out
    assert classes_of("pets.bela") == ["cat", "dog", "cannot tell"]


def test_an_oracle_may_be_unable_to_tell(call: Any, table: Path) -> None:
    """`bela run` knows the class too."""
    call("run", "pets.csv", "--truth", "kind", "--budget", 5, "--cannot-tell")
    assert classes_of("pets.bela")[0] == "cannot tell"
    assert len(classes_of("pets.bela")) == 3


def test_a_class_without_a_name(call: Any, table: Path) -> None:
    """That is refused in one sentence, before anything is begun."""
    assert "names no class" in call("label", "pets.csv", "--terminal", "--cannot-tell=", status=2).err
    assert not Path("pets.bela").exists()


def test_help_says_what_a_skip_means(call: Any, table: Path) -> None:
    """Whoever skips should know what that does to the certificate."""
    said = call("label", "pets.csv", "--terminal", "--hide", "kind", typed="?\nq\n").out
    assert said.count("Space: skip (a row drawn at random then counts as wrong") == 2


# -------------------------------------------------------------------------------------------------------- the terminal


class Person(TerminalLabeller):
    """Answers with the truth, and notes what was on the screen; `odd` says what to do at some questions."""

    def __init__(self, campaign: Campaign, n: int, odd: dict[int, Any] | None = None) -> None:
        self.shown = io.StringIO()
        rows = [{"row": row} for row in range(N_ROWS)]

        class Rows:
            n_rows, columns, root = N_ROWS, ("row",), None
            record = staticmethod(rows.__getitem__)

        super().__init__(Console(file=self.shown, width=100), Rows(), keyboard=LineKeyboard())  # type: ignore[arg-type]
        self._campaign, self._n, self._odd = campaign, n, odd or {}
        self.rows: list[int] = []
        self.screens: dict[Role, set[str]] = {role: set() for role in Role}

    def ask(self, row: int, state: str) -> Command | Label:
        """Look at the row as it is shown, and answer."""
        if len(self.rows) == self._n:
            return Command.QUIT
        self.shown.truncate(0)
        self.shown.seek(0)
        self._show_classes()
        question = next(q for q in self._campaign.book.questions if q.row == row)
        self.screens[question.role].add(self.shown.getvalue())
        self.rows.append(row)
        said: Command | Label = self._odd.get(len(self.rows) - 1, str(SIDE[row]))
        return said


def test_the_terminal_shows_draws_as_it_shows_others() -> None:
    """The classes are in the same order for all rows, and nothing is marked."""
    campaign = Campaign(X, classes=["1", "0"])
    person = Person(campaign, 40)
    label_in_terminal(campaign, person)
    training, draws = person.screens[Role.TRAINING], person.screens[Role.BOUNDS]
    assert training == draws
    assert len(draws) == 1


def test_draws_are_asked_again_in_the_terminal() -> None:
    """Mixed in with the others, at least twenty answers later; labels and counts stay as they are."""
    campaign = Campaign(X, classes=["0", "1"])
    person = Person(campaign, 50)
    label_in_terminal(campaign, person, again=1.0)
    book = campaign.book
    twice = [row for row in set(person.rows) if person.rows.count(row) > 1]
    assert len(twice) == len(book.again) == again(book).agreed > 0
    for row in twice:
        first = person.rows.index(row)
        assert person.rows.index(row, first + 1) - first > 20
    assert book.n_asked == len(set(person.rows))


def test_undo_and_skip_of_a_draw_that_is_asked_again() -> None:
    """Undo asks the same row again; a skip leaves the first answer as it is, and counts for nothing."""
    campaign = Campaign(X, classes=["0", "1"])
    person = Person(campaign, 50)
    label_in_terminal(campaign, person, again=1.0)
    at = next(place for place, row in enumerate(person.rows) if row in person.rows[:place])
    campaign = Campaign(X, classes=["0", "1"])
    person = Person(campaign, at + 4, {at + 1: Command.UNDO, at + 2: Command.SKIP})
    label_in_terminal(campaign, person, again=1.0)
    rows, book = person.rows, campaign.book
    assert rows[at] == rows[at + 2] != rows[at + 1]
    assert (len(book.again), again(book).asked, book.n_skipped) == (1, 0, 0)


# ---------------------------------------------------------------------------------------------------------- on the page


def test_the_page_is_told_what_was_chosen(call: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is suggested for draws, and nothing asked again, unless somebody says so."""
    served: list[Any] = []
    monkeypatch.setattr("bela.web.serve", lambda stored, **options: served.append(options))
    call("label", "pets.csv", "--hide", "kind", "--method", "bela-paper")
    call("serve", "pets.csv", "--suggest-draws", "--again", 0.05)
    assert [(one["suggest_draws"], one["again"]) for one in served] == [(False, 0.0), (True, 0.05)]
    assert PeopleOptions() == PeopleOptions(suggest_draws=False, again=0.0)
    assert "--again" in call("serve", "pets.csv", "--again", 2, status=2).err


def test_an_audit_counts_what_was_seen(call: Any, table: Path) -> None:
    """The label under audit is in sight, which the certificate says; answers from a file were given elsewhere."""
    Path("known.jsonl").write_text("".join(json.dumps({"row": row, "is": "cat"}) + "\n" for row in range(40)))
    said = ("certify", "pets.csv", "--label", "kind", "--answers", "known.jsonl")
    call(*said, typed="n\n\n\nq\n", status=1)
    with open_campaign(Path("pets.certify.bela"), read_only=True) as stored:
        book = stored.campaign.book
        assert book.n_suggested == {Role.TRAINING: 0, Role.BOUNDS: 3}
        assert book.n_asked > 3
    call("export", "pets.certify.bela", "--to", "pets-labelled.csv")
    document = json.loads(Path("pets-labelled.csv.certificate.json").read_text())
    assert document["with_suggestion"] == {"draws": 3, "others": 0}
    assert "3 of the answers to rows drawn at random" in document["statement"]
    call("verify", "pets.certify.bela", "--export", "pets-labelled.csv", status=None)
