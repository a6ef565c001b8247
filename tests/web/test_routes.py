"""The routes: what goes in, what comes out, and one shape for every error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bela.errors import JournalError
from bela.records import Answer


def shape(response: Any) -> tuple[int, str]:
    """Return the status of an error and its kind; it must have the one shape."""
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"kind", "message"}
    assert body["error"]["message"]
    assert "\n" not in body["error"]["message"]
    assert "Traceback" not in body["error"]["message"]
    return response.status_code, body["error"]["kind"]


def test_a_row_is_leased_answered_and_undone(page: Any) -> None:
    """The whole round, with the state in every answer."""
    [question] = page.lease("Ann", 1)
    shown = {"id", "row", "name", "record", "images", "files", "suggested", "probability", "second", "again", "grid"}
    assert set(question) == shown
    answered = page.answer([question])
    assert answered["accepted"] == [question["id"]]
    assert answered["refused"] == []
    assert answered["state"]["answers"] == 1
    undone = page.post("/api/undo", by="Ann")
    assert undone["undone"] == {"kind": "answer", "question": question["id"], "row": question["row"]}
    assert undone["question"]["id"] == question["id"]
    assert undone["state"]["answers"] == 0
    assert shape(page.http.post("/api/undo", json={})) == (409, "conflict")
    page.post("/api/release", 204, by="Ann", questions=[question["id"]])


def test_a_campaign_to_its_target(page: Any) -> None:
    """Answered by two people, it reaches its target and says so; the chart has its points, the leaves their rows."""
    for _ in range(40):
        for by in ("Ann", "Bob"):
            page.answer(page.lease(by, 2), by)
        page.service.refresh()
        if page.get("/api/state").json()["stop_reason"] == "target":
            break
    state = page.get("/api/state").json()
    assert state["stop_reason"] == "target"
    assert state["lower"] >= 0.9
    assert state["forecast"] == {"answers": 0, "low": 0, "high": 0}
    assert {person["name"] for person in state["people"]} == {"Ann", "Bob"}
    leaves = page.get("/api/leaves").json()
    assert sum(leaf["size"] for leaf in leaves) == 120
    seen = []
    for leaf in leaves:
        rows = page.get(f"/api/leaves/{leaf['leaf']}/rows?limit=100").json()
        seen += [row["row"] for row in rows]
        doubt = [row["probability"] for row in rows if row["source"] == "inferred"]
        assert doubt == sorted(doubt)
    waiting = {question.row for question in page.service.stored.campaign.book.open.values()}
    assert sorted(seen) == [row for row in range(120) if row not in waiting]  # these are answered blind
    points = page.get("/api/history").json()
    assert points
    assert [point["answers"] for point in points] == sorted(point["answers"] for point in points)
    found = page.get("/api/classes").json()
    assert sum(entry["n_labels"] for entry in found["classes"]) == 120
    assert {entry["role"] for entry in found["confusions"]} <= {"training", "bounds"}
    assert sum(entry["n"] for entry in found["confusions"]) > 0


def test_a_helper_is_counted_apart(stored, make_page):
    """What a helper has said, and what that cost, is beside the answers of people, not among them."""

    class Guess:
        """Says the same of every row, for something."""

        name, batch = "guess", 0

        def answers(self, rows):
            """Yield an answer to each row."""
            for row in rows.tolist():
                yield Answer(row=row, label="cat", cost=0.01)

        def close(self):
            """Nothing is held open."""

    stored.campaign.use_helper(Guess())
    page = make_page()
    stored.campaign.ask()
    stored.campaign._helping.wait()
    stored.campaign.ask()
    state = page.get("/api/state").json()
    assert state["answers"] == 0
    assert state["helped"] > 10
    assert state["helper_cost"] == pytest.approx(0.01 * state["helped"])


def test_relabelling_shows_at_once(page: Any) -> None:
    """A label fixed in a gallery is there in the next look, and gone again after an undo."""
    page.go_on(12)
    leaf = page.get("/api/leaves").json()[0]["leaf"]
    row = next(row for row in page.get(f"/api/leaves/{leaf}/rows").json() if row["source"] == "inferred")
    page.post("/api/relabel", by="Ann", row=row["row"], label="bird")
    after = page.get(f"/api/rows/{row['row']}").json()
    assert (after["label"], after["source"], after["probability"]) == ("bird", "corrected", 1.0)
    page.post("/api/undo", by="Ann")
    assert page.get(f"/api/rows/{row['row']}").json()["label"] == row["label"]


def test_flags(page: Any) -> None:
    """A row with a comment, for later."""
    page.post("/api/flags", by="Ann", row=7, comment="is <b>that</b> a cat?")
    [flagged] = page.post("/api/rows/find", by="Ann", flagged=True)["rows"]
    assert (flagged["row"], flagged["name"]) == (7, "pet <7>")
    assert flagged["flags"] == [{"comment": "is <b>that</b> a cat?", "by": "Ann"}]


def test_classes(page: Any) -> None:
    """Added, renamed, merged."""
    page.go_on(4)
    page.post("/api/classes/new", by="Ann", labels=["bird", "cat", "bird"])
    state = page.post("/api/classes", by="Ann", action="rename", label="bird", to="parrot")
    assert "parrot" in [entry["label"] for entry in state["classes"]]
    page.post("/api/classes", by="Ann", action="merge", label="parrot", to="cat")
    assert {entry["label"] for entry in page.get("/api/classes").json()["classes"]} == {"cat", "dog"}
    for body in (
        {"action": "rename", "label": "cat"},
        {"action": "add", "label": "x"},
        {"action": "merge", "label": "cat"},
        {"action": "delete", "label": "nobody"},
        {"action": "merge", "label": "cat", "to": "cat"},
        {"action": "merge", "label": "nobody", "to": "cat"},
        {"action": "rename", "label": "cat", "to": "dog"},
        {"action": "forget", "label": "cat"},
    ):
        assert shape(page.http.post("/api/classes", json={**body}))[0] == 400


def test_a_class_is_deleted_and_restored(page: Any) -> None:
    """Its questions are open again and are handed out; taken back, the answers are there, unless somebody went on."""
    page.go_on(12)
    page.post("/api/classes/new", by="Ann", labels=["bird"])
    before = {entry["label"]: entry["n_answers"] for entry in page.get("/api/classes").json()["classes"]}
    assert before["cat"] > 0
    state = page.post("/api/classes", by="Ann", action="delete", label="cat")
    assert state["answers"] == 12 - before["cat"]
    assert "cat" not in [entry["label"] for entry in state["classes"]]
    state = page.post("/api/classes", by="Ann", action="restore", label="cat")
    assert state["answers"] == 12
    page.post("/api/classes", by="Ann", action="delete", label="cat")
    answers = [{"question": one["id"], "label": "bird", "second": False} for one in page.lease("Ann", 3)]
    page.post("/api/answers", by="Ann", answers=answers)
    body = {"action": "restore", "label": "cat"}
    assert shape(page.http.post("/api/classes", json=body))[0] == 404


def test_people_and_disagreements(make_page: Callable[..., Any]) -> None:
    """Second opinions are asked for, compared and settled."""
    page = make_page(overlap=1.0)
    page.answer(page.lease("Ann", 3), "Ann")
    second = [question for question in page.lease("Bob", 4) if question["second"]]
    answers = [{"question": question["id"], "label": "bird", "second": True} for question in second]
    page.post("/api/answers", by="Bob", answers=answers)
    found = page.get("/api/people").json()
    assert found["agreement"]["n_shared"] == found["agreement"]["n_differ"] == len(second) > 0
    assert found["agreement"]["pairs"][0]["people"] == ["Ann", "Bob"]
    differing = page.get("/api/disagreements").json()
    assert {entry["row"] for entry in differing} == {question["row"] for question in second}
    row = differing[0]["row"]
    assert page.post("/api/settle", by="Ann", row=row, label="bird")["answers"] == 3
    assert row not in [entry["row"] for entry in page.get("/api/disagreements").json()]
    assert [entry["row"] for entry in page.get("/api/disagreements?settled=true").json()] == [row]
    assert shape(page.http.post("/api/settle", json={"row": row + 1, "label": "x"})) == (409, "conflict")


def test_aim(page: Any, folder: Path) -> None:
    """When to stop is changed, also in the settings on disk."""
    state = page.post("/api/aim", target=0.99, budget=50)
    assert (state["target"], state["budget"]) == (0.99, 50)
    assert "budget = 50" in (folder / "campaign.toml").read_text()
    assert page.post("/api/aim", target=0.9, budget=50, class_target=0.8)["class_target"] == 0.8
    assert page.post("/api/aim", target=0.95, budget=50)["class_target"] == 0.8  # nothing was said of it
    assert "class_target = 0.8" in (folder / "campaign.toml").read_text()
    assert page.post("/api/aim", target=0.95, budget=50, class_target=None)["class_target"] is None
    for body in ({"target": 0, "budget": None}, {"target": 2, "budget": None}, {"target": 0.5, "budget": 10_000}):
        assert shape(page.http.post("/api/aim", json=body))[0] == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/lease", {"by": "Ben"}),  # a name comes from the token, and from nowhere else
        ("/api/lease", {"tab": "x" * 61}),
        ("/api/lease", {"n": 0}),
        ("/api/lease", {"n": 101}),
        ("/api/lease", {"n": True}),
        ("/api/lease", {"unknown": 1}),
        ("/api/answers", {"answers": [{"question": 0, "label": "x" * 201}]}),
        ("/api/answers", {"answers": [{"question": 0, "label": ""}]}),
        ("/api/answers", {"answers": [{"question": 0, "label": 1.5}]}),
        ("/api/answers", {"answers": [{"question": 0, "label": {"a": 1}}]}),
        ("/api/answers", {"answers": [{"question": -1, "label": "cat"}]}),
        ("/api/answers", {"answers": [{"question": 0}]}),
        ("/api/answers", {"answers": [{"question": 0, "label": "x"}] * 101}),
        ("/api/flags", {"row": 0, "comment": "x" * 2001}),
        ("/api/relabel", {"row": 0, "label": None}),
        ("/api/exports", {"format": "docx"}),
        ("/api/undo", ["Ann"]),
    ],
)
def test_bad_bodies(looker: Any, path: str, body: Any) -> None:
    """What makes no sense or is too long is refused with 400, in the one shape, and nothing happens."""
    before = looker.service.stored.journal.n_events
    assert shape(looker.http.post(path, json=body)) == (400, "input")
    assert looker.service.stored.journal.n_events == before


def test_bad_json_and_odd_text(looker: Any) -> None:
    """Neither broken JSON nor halves of characters nor another type of content get past the door."""
    for content in (b"{", b"", b"null", b'{"by": "\\ud800"}', b'{"n": 1e999}', b"\xff\xfe", b"[" * 10_000):
        response = looker.http.post("/api/lease", content=content, headers={"Content-Type": "application/json"})
        assert shape(response)[0] == 400, content[:20]
    response = looker.http.post("/api/lease", content=b"{}", headers={"Content-Type": "text/plain"})
    assert shape(response)[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("GET", "/nothing", 404),
        ("GET", "/api/rows/120", 404),
        ("GET", "/api/rows/-1", 400),
        ("GET", "/api/rows/99999999999999999999", 400),
        ("GET", "/api/rows/cat", 400),
        ("GET", "/api/rows/1/images/weight", 404),
        ("GET", "/api/leaves/x/rows", 400),
        ("GET", "/api/leaves/0/rows?limit=101", 400),
        ("GET", "/api/leaves/0/rows?offset=-1", 400),
        ("GET", "/api/exports/nothing.csv", 404),
        ("DELETE", "/api/state", 405),
        ("PUT", "/api/lease", 405),
    ],
)
def test_bad_addresses(looker: Any, method: str, path: str, status: int) -> None:
    """Rows, leaves, files and routes that there are not."""
    assert shape(looker.http.request(method, path))[0] == status


def test_unknown_rows_and_questions(looker: Any) -> None:
    """Well-formed, but about nothing."""
    assert shape(looker.http.post("/api/relabel", json={"row": 500, "label": "cat"}))[0] == 404
    assert shape(looker.http.post("/api/flags", json={"row": 500}))[0] == 404
    refused = looker.post("/api/answers", by="Ann", answers=[{"question": 500, "label": "cat"}])["refused"]
    assert refused[0]["question"] == 500


def test_a_full_disk_is_no_answer(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written down is not accepted; it can be tried again."""
    questions = page.lease("Ann", 1)
    body = {"answers": [{"question": questions[0]["id"], "label": "cat"}]}

    def refuse(*_: object) -> None:
        raise JournalError("journal.sqlite cannot be written: disk full")

    with monkeypatch.context() as patch:
        patch.setattr(page.service.stored.journal, "append", refuse)
        assert shape(page.http.post("/api/answers", json=body)) == (503, "journal")
    assert page.post("/api/answers", **body)["accepted"] == [questions[0]["id"]]


def test_a_surprise_is_an_error_of_the_same_shape(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should something go wrong that nobody thought of, the page gets the one shape and no inner life."""
    monkeypatch.setattr(page.service, "status", lambda: 1 / 0)
    assert shape(page.get("/api/state")) == (500, "internal")
    monkeypatch.undo()
