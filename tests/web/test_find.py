"""Finding rows: what is found, in which order, in pages, and what must not be seen of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import StoredCampaign, create_campaign, open_campaign
from bela.errors import ParameterError
from bela.records import Role
from bela.views import FoundPlace, FoundRows, RowView, Wanted
from bela.views._find import Finder
from bela.views._matching import split_terms
from bela.web import LabelService

TEXTS = ["my card is lost", "Straße &amp; CO", "a fee of 20 %", "card fee", "ÜBER <b>uns</b>", "nothing at all", ""]


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


@pytest.fixture
def stored(folder: Path) -> Iterator[StoredCampaign]:
    """The campaign, with revisions made in their turn: labels stay as they are while a test looks at them."""
    with open_campaign(folder) as opened:
        yield opened


def rows_of(found: Any) -> list[int]:
    """Return the numbers of the rows that were found."""
    return [row["row"] for row in found["rows"]]


def all_pages(page: Any, by: str = "Ann", **wanted: Any) -> list[dict[str, Any]]:
    """Find rows page by page, until there are no more."""
    found, after = [], None
    for _ in range(200):
        part = page.post("/api/rows/find", by=by, after=after, **wanted)
        found += part["rows"]
        after = part["next"]
        if after is None:
            return found
    raise AssertionError("there is no end of pages")


def open_rows(page: Any) -> set[int]:
    """Return the rows that wait for an answer."""
    return {question.row for question in page.service.stored.campaign.book.open.values()}


# --------------------------------------------------------------------------------------------------------- the text


@pytest.fixture
def texts(tmp_path: Path) -> Any:
    """A campaign about some texts, a number and a column that is hidden."""
    lines = ["text,number,secret", *(f'"{TEXTS[i % 7]}",{i},hush{i}' for i in range(700))]
    (tmp_path / "texts.csv").write_text("\n".join(lines), encoding="utf-8")
    with create_campaign(
        tmp_path / "texts.csv", tmp_path / "texts.bela", method="random", hidden=("secret",), kinds={"text": "text"}
    ) as stored:
        yield stored


def look(stored: StoredCampaign, clock: Any = None, **more: Any) -> FoundRows:
    """Find rows by their text."""
    finder = Finder(stored, RowView.of(stored), **({"clock": clock} if clock else {}))
    options = {name: more.pop(name) for name in ("after", "limit", "seconds") if name in more}
    return finder.find(Wanted(**more), None, waits={}, **options)


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("card", {0, 3}),
        ("fee card", {3}),
        ('"card fee"', {3}),
        ('"fee card"', set()),
        ("STRASSE", set()),
        ("straße", {1}),
        ("& co", {1}),
        ("über <B>", {4}),
        ("20 %", {2}),
        ("c.rd", set()),
        ("hush3", set()),
        ("(", set()),
    ],
)
def test_all_words_must_be_there(texts: StoredCampaign, text: str, which: set[int]) -> None:
    """Whatever their case, in any column that is shown; nothing is a pattern, and hidden columns are not looked at."""
    found = look(texts, text=text, limit=700)
    expected = [row for row in range(700) if row % 7 in which]
    assert [row.row for row in found.rows if text != "20 %" or row.row % 7 == 2] == expected
    assert (found.next, found.n_looked, found.by_doubt) == (None, 700, False)


def test_numbers_are_found_as_they_are_written(texts: StoredCampaign) -> None:
    """Also in a column that is left out beside the rows, as nothing can be learned from it."""
    assert [row.row for row in look(texts, text="699").rows] == [699]


def test_nobody_waits_for_long_texts(tmp_path: Path) -> None:
    """When the time is over, what was found comes with how far it was looked; the next look goes on there."""
    n, ticks = 20_000, itertools.count()
    lines = ["text,x", *(f"{'needle' if i % 5000 == 4999 else 'hay'} {i},{i % 3}" for i in range(n))]
    (tmp_path / "long.csv").write_text("\n".join(lines), encoding="utf-8")
    with create_campaign(tmp_path / "long.csv", tmp_path / "l.bela", method="random", kinds={"text": "text"}) as stored:
        seen, places, after = [], [], None
        while True:
            found = look(stored, text="needle", after=after, seconds=0.5, clock=lambda: next(ticks))
            seen += [row.row for row in found.rows]
            places.append(found.n_looked)
            after = found.next
            if after is None:
                break
        assert seen == [4999, 9999, 14999, 19999]
        assert places == sorted(set(places))
        assert len(places) > 3
        assert places[-1] == n
        whole = look(stored, text="needle")
        assert ([row.row for row in whole.rows], whole.n_found) == (seen, 4)


def test_pages_of_a_text_join(texts: StoredCampaign) -> None:
    """However many rows a page has."""
    for limit in (1, 7, 64):
        seen, after = [], None
        while True:
            found = look(texts, text="card", limit=limit, after=after)
            seen += [row.row for row in found.rows]
            after = found.next
            if after is None:
                break
        assert seen == [row for row in range(700) if row % 7 in (0, 3)]


def test_terms() -> None:
    """Quotes keep words together; too many words are refused, in a sentence."""
    assert split_terms('  a "b c" "" "d') == ("a", "b c", '"d')
    with pytest.raises(ParameterError, match="at most 8 words"):
        split_terms("a b c d e f g h i")


# ----------------------------------------------------------------------------------------------- labels and people


def test_by_label_source_and_confidence(page: Any) -> None:
    """Each finds what the result says, the least certain first, and all of them together find all rows."""
    page.go_on(20)
    page.lease("Zed")  # so that no question is opened meanwhile
    everything = all_pages(page, limit=100)
    assert sorted(row["row"] for row in everything) == list(range(120))
    waiting = [row for row in everything if row["waits"] == "answer"]
    assert {row["row"] for row in waiting} == open_rows(page)
    labelled = [row for row in everything if row["waits"] is None]
    assert [row["probability"] for row in labelled] == sorted(row["probability"] for row in labelled)
    assert everything[-len(waiting) :] == waiting or not waiting
    for label in ("cat", "dog"):
        expected = {row["row"] for row in labelled if row["label"] == label}
        assert {row["row"] for row in all_pages(page, labels=[label], limit=7)} == expected
    answered = {row["row"] for row in all_pages(page, sources=["oracle"])}
    assert answered == set(page.service.stored.campaign.book.answered)
    limit = sorted(row["probability"] for row in labelled if row["source"] == "inferred")[20]
    below, above = all_pages(page, below=limit), all_pages(page, above=limit)
    assert len(below) + len(above) == sum(row["source"] == "inferred" for row in labelled)
    assert all(row["probability"] < limit for row in below)
    assert rows_of(page.post("/api/rows/find", by="Ann", labels=["bird"])) == []
    assert page.post("/api/rows/find", by="Ann", labels=["cat"], limit=3)["n_found"] == len(
        all_pages(page, labels=["cat"])
    )


def test_text_and_label_together(page: Any) -> None:
    """What is said of text, name and label must all hold."""
    page.go_on(30)
    found = all_pages(page, text="<7", labels=["dog"])
    dogs = {row["row"] for row in all_pages(page, labels=["dog"])}
    assert [row["row"] for row in found] == [row for row in (7, *range(70, 80)) if row in dogs]
    assert len(found) > 3


def test_before_the_first_answer(page: Any) -> None:
    """Rows are found without labels."""
    found = page.post("/api/rows/find", by="Ann", text="pet")
    assert len(found["rows"]) == 60
    assert {row["label"] for row in found["rows"]} == {None}
    waiting = open_rows(page)
    assert all(row["source"] == ("waiting" if row["row"] in waiting else "unlabelled") for row in found["rows"])


def test_by_person_flagged_and_skipped(page: Any) -> None:
    """What people did with rows, until they take it back; a skipped row that is corrected is dealt with."""
    page.go_on(6)
    page.go_on(3, by="Bob")
    book = page.service.stored.campaign.book
    bobs = {row for row, question in book.answered.items() if "Bob" in book.said[question]}
    found = all_pages(page, person="Bob")
    assert {row["row"] for row in found} == bobs
    assert all(row["people"] == ["Bob"] for row in found)
    page.post("/api/flags", by="Ann", row=7, comment="is <b>that</b> a cat?")
    [flagged] = all_pages(page, flagged=True)
    assert (flagged["row"], flagged["name"]) == (7, "pet <7>")
    assert flagged["record"].keys() == {"name", "weight", "height"}
    assert flagged["flags"] == [{"comment": "is <b>that</b> a cat?", "by": "Ann"}]
    page.post("/api/undo", by="Ann")
    assert all_pages(page, flagged=True) == []
    [question] = page.lease("Ann")
    page.post("/api/answers", by="Ann", answers=[{"question": question["id"], "label": None}])
    [skipped] = all_pages(page, skipped=True)
    assert (skipped["row"], skipped["skipped"]) == (question["row"], True)
    page.post("/api/relabel", by="Cy", row=question["row"], label="cat")
    assert all_pages(page, skipped=True) == []
    assert question["row"] in {row["row"] for row in all_pages(page, person="Cy", sources=["corrected"])}


def test_a_correction_is_found_at_once(page: Any) -> None:
    """By its new label and its source, and by the old ones after an undo."""
    page.go_on(12)
    row = next(row for row in all_pages(page, labels=["cat"]) if row["source"] == "inferred")["row"]
    page.post("/api/relabel", by="Ann", row=row, label="bird")
    assert [(one["row"], one["source"], one["people"]) for one in all_pages(page, labels=["bird"])] == [
        (row, "corrected", ["Ann"])
    ]
    page.post("/api/undo", by="Ann")
    assert row in {one["row"] for one in all_pages(page, labels=["cat"])}


def test_what_a_prediction_says_is_told_apart(tmp_path: Path, make_any: Callable[..., Any]) -> None:
    """Rows whose label is that of a prediction are a source of their own."""
    lines = ["x,guess", *(f"{i % 2 * 9 + i / 1000},{kind_of(i if i % 10 else i + 1)}" for i in range(120))]
    (tmp_path / "p.csv").write_text("\n".join(lines))
    with create_campaign(tmp_path / "p.csv", tmp_path / "p.bela", predicted=["guess"]) as stored:
        page = make_any(LabelService(stored))
        page.go_on(10)
        found = {row["row"]: row for row in all_pages(page)}
        guessed = {row: kind_of(row if row % 10 else row + 1) for row in range(120)}
        for row, one in found.items():
            if one["source"] in ("inferred", "prediction"):
                assert (one["source"] == "prediction") == (one["label"] == guessed[row])
        assert {row["source"] for row in all_pages(page, sources=["prediction"])} == {"prediction"}
        assert all("guess" not in one["record"] for one in found.values())


# ------------------------------------------------------------------------------------------------ what stays blind


def test_rows_that_wait_are_never_told_by_their_labels(page: Any) -> None:
    """An open question, draw or not, is found by its text only, without label; nor does a leaf or an address tell."""
    page.go_on(20)
    page.lease("Bob", 30)
    waiting = open_rows(page)
    roles = {question.role for question in page.service.stored.campaign.book.open.values()}
    assert roles == set(Role)
    for row in waiting:
        [one] = [one for one in all_pages(page, text=f"<{row}>") if one["row"] == row]
        assert (one["label"], one["probability"], one["source"], one["waits"]) == (None, None, "waiting", "answer")
        assert page.get(f"/api/rows/{row}").json()["label"] is None
    for wanted in ({"labels": ["cat", "dog"]}, {"below": 1}, {"above": 0}, {"sources": ["inferred", "oracle"]}):
        assert not waiting & {one["row"] for one in all_pages(page, **wanted)}
    for leaf in page.get("/api/leaves").json():
        rows = page.get(f"/api/leaves/{leaf['leaf']}/rows?limit=100").json()
        assert not waiting & {one["row"] for one in rows}
    stored, labels = page.service.stored, page.service.monitor.present()
    twin = Finder(stored, RowView.of(stored)).find(Wanted(labels=["cat", "dog"]), labels, waits={}, limit=200)
    assert waiting <= {one.row for one in twin.rows}  # found by its label if nobody hides it


def test_what_is_said_of_a_row_that_waits_is_its_answer(page: Any) -> None:
    """It was seen without a label, so it counts as any answer; undo opens the question again."""
    page.go_on(20)
    page.lease("Bob", 30)
    book = page.service.stored.campaign.book
    question = next(one for one in book.open.values() if one.role is Role.BOUNDS)
    page.post("/api/relabel", by="Bob", row=question.row, label=kind_of(question.row))
    assert book.answered[question.row] == question.id
    assert list(book.said[question.id]) == ["Bob"]
    assert book.corrections == {}
    page.post("/api/undo", by="Bob")
    assert question.id in book.open


def test_a_second_opinion_does_not_see_the_first(make_page: Callable[..., Any]) -> None:
    """Until they gave theirs; whoever answered sees it, and what the second says is an opinion."""
    page = make_page(overlap=1.0)
    [question] = page.lease("Ann")
    page.answer([question])
    row, book = question["row"], page.service.stored.campaign.book

    def seen(by: str) -> dict[str, Any]:
        return next(one for one in all_pages(page, by=by, text=f"<{row}>") if one["row"] == row)

    assert seen("Ann")["label"] == kind_of(row)
    assert (seen("Bob")["label"], seen("Bob")["people"], seen("Bob")["waits"]) == (None, [], "opinion")
    assert row not in {one["row"] for one in all_pages(page, by="Bob", labels=[kind_of(row)])}
    page.post("/api/relabel", by="Bob", row=row, label="bird")
    assert list(book.said[question["id"]]) == ["Ann", "Bob"]
    assert book.label(row) == kind_of(row)
    assert seen("Bob")["people"] == ["Ann", "Bob"]
    assert seen("Cy")["label"] == kind_of(row)


def test_a_draw_that_is_asked_again_is_not_shown_before(make_page: Callable[..., Any]) -> None:
    """Or nobody would know how far people agree with themselves; it cannot be corrected meanwhile."""
    page = make_page(again=1.0)
    page.go_on(10)
    book = page.service.stored.campaign.book
    row = next(row for row, number in book.answered.items() if book.questions[number].role is Role.BOUNDS)
    [one] = [one for one in all_pages(page, text=f"<{row}>") if one["row"] == row]
    assert (one["label"], one["waits"]) == (None, "again")
    refused = page.post("/api/relabel", 404, by="Ann", row=row, label="bird")
    assert "once more" in refused["error"]["message"]
    assert book.label(row) == kind_of(row)


def test_places_that_make_no_sense(page: Any) -> None:
    """A place beyond all rows finds nothing more; too many words are an error in a sentence."""
    page.go_on(4)
    assert rows_of(page.post("/api/rows/find", by="Ann", after={"row": 10**6, "probability": 2.0})) == []
    assert rows_of(page.post("/api/rows/find", by="Ann", text="pet", after={"row": 10**6})) == []
    assert "at most 8 words" in page.post("/api/rows/find", 400, by="Ann", text="a " * 9)["error"]["message"]
    assert FoundPlace(row=1).probability is None


def test_whoever_sees_only_their_own(page: Any) -> None:
    """Labels, people and flags of others are not shown, and nothing is found by them; texts are."""
    page.go_on(12)
    page.go_on(4, by="Bob")
    page.post("/api/flags", by="Ann", row=7, comment="hers")
    page.post("/api/flags", by="Bob", row=9, comment="his")
    service, book = page.service, page.service.stored.campaign.book
    bobs = {row for row, question in book.answered.items() if "Bob" in book.said[question]}
    found = service.find("Bob", Wanted(), limit=200, own=True).rows
    assert {row.row for row in found if row.label is not None} == bobs
    assert {row.waits for row in found if row.row not in bobs} == {"others"}  # whether they wait is not told
    assert all(not row.people and row.probability is None for row in found if row.row not in bobs)
    assert {row.row for row in service.find("Bob", Wanted(labels=["cat", "dog"]), limit=200, own=True).rows} == bobs
    assert [row.row for row in service.find("Bob", Wanted(flagged=True), own=True).rows] == [9]
    assert len(service.find("Bob", Wanted(text="pet"), limit=200, own=True).rows) == 120
    assert service.find("Bob", Wanted(person="Ann"), own=True).rows == []
    row = next(iter(bobs))
    page.post("/api/relabel", by="Ann", row=row, label="bird")
    assert row not in {one.row for one in service.find("Bob", Wanted(), limit=200, own=True).rows if one.label}
