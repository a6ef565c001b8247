"""Roles: what annotators may do and are shown, on every address that there is; and links that end."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import Page

from bela.campaign import open_campaign
from bela.records import Role
from bela.web import LabelService
from bela.web._identity import Visitor
from bela.web._roles import for_annotators
from bela.web._serve import _people

OPEN = {
    "GET /api/me", "GET /api/state", "GET /api/events", "GET /api/history", "GET /api/guidelines",
    "GET /api/rows/{row}/images/{column}", "POST /api/lease", "POST /api/release", "POST /api/answers",
    "POST /api/undo", "POST /api/relabel", "POST /api/flags", "POST /api/rows/find",
}  # fmt: skip
"""What annotators may ask for. A new address is for owners, until it is written down here and keeps others' labels."""

BODIES: dict[str, dict[str, Any]] = {
    "POST /api/lease": {"n": 3},
    "POST /api/answers": {"answers": [{"question": None, "label": "dog", "second": True}]},
    "POST /api/release": {"questions": [0]},
    "POST /api/undo": {},
    "POST /api/relabel": {"row": 0, "label": "cat"},
    "POST /api/settle": {"row": 0, "label": "cat"},
    "POST /api/flags": {"row": 0, "comment": "odd"},
    "POST /api/rows/find": {"limit": 100},
    "POST /api/classes": {"action": "rename", "label": "cat", "to": "kitten"},
    "POST /api/classes/new": {"labels": ["bird"]},
    "POST /api/aim": {"target": 0.9, "budget": None},
    "PUT /api/guidelines": {"markdown": "be fair"},
    "POST /api/exports": {"format": "csv"},
    "POST /api/team": {"name": "Mallory", "role": "owner"},
    "POST /api/team/change": {"name": "Bob", "action": "owner"},
}
"""What is sent to the addresses that take something."""


NUMBERS = re.compile(r'"[0-9a-f]{8}"|bela-[0-9a-f]{8}')  # of people and campaigns, which are random


class World:
    """A campaign in which Ann has answered a question, and Bob has it before him for a second opinion.

    It is the first of all, or a `draw` that moves the bound, after some that were answered alike.
    """

    def __init__(self, folder: Path, first: str, *, draw: bool) -> None:
        self.draw = draw
        with open_campaign(folder) as made:
            for label in ("cat", "dog"):
                made.campaign.add_class(label)
        self.stored = open_campaign(folder)
        self.service = LabelService(self.stored, team=True, overlap=1.0, now=lambda: 1e9, clock=lambda: 100.0)
        self.service.prepare()
        self.page = Page(self.service)
        self.headers = {
            "owner": self.page.of("Ann"), "annotator": self.page.of("Bob", "annotator"), "stranger": {},
        }  # fmt: skip
        self.page.http.headers.clear()
        [self.question] = self.page.lease("Ann", 1)
        questions = self.stored.campaign.book.questions
        while draw and (
            self.stored.campaign.n_asked < 30 or questions[self.question["id"]].role is not Role.BOUNDS
        ):  # fmt: skip
            self.page.answer([self.question])
            [self.question] = self.page.lease("Ann", 1)
        self.page.post("/api/answers", by="Ann", answers=[{"question": self.question["id"], "label": first}])
        self.service.refresh()
        held = self.page.post("/api/lease", by="Bob", n=100)["questions"]
        assert self.question["id"] in [one["id"] for one in held if one["second"]]

    def ask(self, address: str, role: str) -> Any:
        """Send a request to an address, as somebody."""
        method, _, path = address.partition(" ")
        known = {"row": self.question["row"], "column": "weight", "leaf": 0, "name": "pets-labelled.csv.zip"}
        path = re.sub(r"\{(\w+)\}", lambda found: str(known[found[1]]), path)
        body = BODIES.get(address)
        if body is not None and "row" in body:
            body = {**body, "row": self.question["row"]}
        if body is not None and "answers" in body:
            body = {"answers": [{**body["answers"][0], "question": self.question["id"]}]}
        headers = {**self.headers[role], "Host": "localhost"}
        return self.page.http.request(method, path, json=body, headers=headers)

    def news(self, role: str) -> str:
        """Return the first of the news that somebody gets."""
        broadcast = self.page.http.app.state.broadcast
        broadcast._publish()
        token = self.headers[role]["Authorization"].removeprefix("Bearer ")
        visitor = Visitor(id="", name="", is_owner=role == "owner", token=token)

        async def first() -> str:
            async for line in broadcast.lines(visitor):
                return line
            return ""

        return asyncio.run(first())


def addresses() -> list[str]:
    """Return all addresses that there are, by the schema of the application."""
    from bela.web import create_app

    class Nothing:
        team = True

    paths = create_app(Nothing(), team=None).openapi()["paths"]  # type: ignore[arg-type]
    return sorted(f"{method.upper()} {path}" for path, methods in paths.items() for method in methods)


@pytest.fixture(scope="module", params=["the first answer", "a draw"])
def worlds(
    template: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, World]]:
    """Two campaigns that differ in what Ann has said, and in nothing else."""
    made = {}
    for first in ("cat", "dog"):
        folder = tmp_path_factory.mktemp(first) / "data"
        shutil.copytree(template, folder)
        made[first] = World(folder / "pets.bela", first, draw=request.param == "a draw")
    yield made
    for world in made.values():
        world.stored.close()


@pytest.mark.parametrize("address", [one for one in addresses() if one != "GET /api/events"])
@pytest.mark.parametrize("role", ["stranger", "annotator"])
def test_every_address_is_for_whom_it_is_for(worlds: dict[str, World], address: str, role: str) -> None:
    """Strangers get nothing, annotators what is open to them; what is refused is one sentence and changes nothing."""
    for world in worlds.values():  # which must differ in nothing else afterwards
        before = world.service.stored.journal.n_events, world.page.team.members
        response = world.ask(address, role)
        if role == "annotator" and address in OPEN:
            assert response.status_code not in (401, 403) or address == "POST /api/relabel", response.text
            continue
        expected = (401, "token") if role == "stranger" else (403, "role")
        found = response.json()["error"]
        assert (response.status_code, found["kind"]) == expected, response.text
        assert len(found["message"]) < 120
        assert (world.service.stored.journal.n_events, world.page.team.members) == before


def test_all_addresses_are_known() -> None:
    """Those that are open are there, and whatever takes something is tried with something."""
    assert set(addresses()) >= OPEN
    assert {one for one in addresses() if not one.startswith("GET")} == set(BODIES)


@pytest.mark.parametrize("address", addresses())
def test_a_second_opinion_cannot_know_the_first(worlds: dict[str, World], address: str) -> None:
    """By no address: whatever Ann has said, Bob is told the same, byte by byte, before and after his own opinion."""
    said = set()
    for world in worlds.values():
        if address == "GET /api/events":
            said.add(world.news("annotator"))
        else:
            response = world.ask(address, "annotator")
            said.add(f"{response.status_code} {NUMBERS.sub('a number', response.text)}")
    assert len(said) == 1


def test_the_worlds_can_be_told_apart(worlds: dict[str, World]) -> None:
    """By an owner, or the test above could not fail: rows, leaves, classes, news, exports."""
    for address in ("GET /api/rows/{row}", "GET /api/leaves", "GET /api/classes", "GET /api/state"):
        assert len({world.ask(address, "owner").text for world in worlds.values()}) == 2, address
    assert len({world.news("owner") for world in worlds.values()}) == 2
    if any(world.draw for world in worlds.values()):  # and by an annotator, who would be told the bound
        told = {str(for_annotators(world.service.status(), blind=False)) for world in worlds.values()}
        assert len(told) == 2
    for world in worlds.values():
        assert world.ask("POST /api/exports", "owner").status_code == 200
    assert len({world.ask("GET /api/exports/{name}", "owner").text for world in worlds.values()}) == 2


def test_annotators_answer_for_themselves(page: Any) -> None:
    """In no other name, and about rows of others nothing but an opinion; only their own is changed or taken back."""
    page.post("/api/classes/new", labels=["cat", "dog"])
    bob, eve = page.of("Bob", "annotator"), page.of("Eve", "annotator")
    [question] = page.http.post("/api/lease", json={"n": 1}, headers=bob).json()["questions"]
    said = {"answers": [{"question": question["id"], "label": "cat"}]}
    assert page.http.post("/api/answers", json={**said, "by": "Ann"}, headers=bob).status_code == 400
    assert page.http.post("/api/answers", json=said, headers=bob).json()["accepted"] == [question["id"]]
    assert page.http.post("/api/undo", json={}, headers=eve).status_code == 409
    relabel = {"row": question["row"], "label": "dog"}
    refused = page.http.post("/api/relabel", json=relabel, headers=eve)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "role")
    assert page.http.post("/api/relabel", json=relabel, headers=bob).status_code == 200
    assert page.get(f"/api/rows/{question['row']}").json()["label"] == "dog"
    page.post("/api/relabel", row=question["row"], label="cat")  # Ann, who owns it all
    assert page.http.post("/api/relabel", json=relabel, headers=bob).status_code == 403
    told = [event.data["by"] for event in page.service.stored.journal.events() if event.kind == "answered"]
    assert told == ["Bob"]
    page.http.post("/api/flags", json={"row": 1, "comment": "mine"}, headers=bob)
    wanted = {"flagged": True}
    [flagged] = page.http.post("/api/rows/find", json=wanted, headers=bob).json()["rows"]
    assert [flag["comment"] for flag in flagged["flags"]] == ["mine"]
    assert page.http.post("/api/rows/find", json=wanted, headers=eve).json()["rows"] == []


def test_annotators_make_no_classes(page: Any) -> None:
    """Neither by an answer nor by changing one."""
    page.post("/api/classes/new", labels=["cat", "dog"])
    bob = page.of("Bob", "annotator")
    [question] = page.http.post("/api/lease", json={"n": 1}, headers=bob).json()["questions"]
    said = {"answers": [{"question": question["id"], "label": "zebra"}]}
    [refused] = page.http.post("/api/answers", json=said, headers=bob).json()["refused"]
    assert "there is no class 'zebra'" in refused["message"]
    said["answers"][0]["label"] = " cat "
    assert page.http.post("/api/answers", json=said, headers=bob).json()["refused"] == []
    relabel = page.http.post("/api/relabel", json={"row": question["row"], "label": "zebra"}, headers=bob)
    assert relabel.status_code == 400
    assert {entry["label"] for entry in page.get("/api/state").json()["classes"]} == {"cat", "dog"}


def test_a_link_ends_at_once(page: Any) -> None:
    """Revoked or renewed, by the page or elsewhere: requests are refused, and news end; another link is as before."""
    bob = page.of("Bob", "annotator")
    assert page.http.get("/api/state", headers=bob).status_code == 200
    broadcast = page.http.app.state.broadcast
    visitor = Visitor(id="", name="Bob", is_owner=False, token=bob["Authorization"].removeprefix("Bearer "))
    assert broadcast._is_let_in(visitor)
    page.post("/api/team/change", name="Bob", action="revoke")
    refused = page.http.get("/api/state", headers=bob)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "revoked")
    assert not broadcast._is_let_in(visitor)
    [again] = [one for one in page.post("/api/team", name="Bob") if one["name"] == "Bob"]
    new = {"Authorization": f"Bearer {again['token']}"}
    assert page.http.get("/api/me", headers=new).json()["name"] == "Bob"
    assert page.http.get("/api/state", headers=bob).status_code == 401
    page.post("/api/team/change", name="Bob", action="owner")
    assert page.http.get("/api/team", headers=new).status_code == 200
    page.post("/api/team/change", name="Bob", action="renew")
    assert page.http.get("/api/state", headers=new).status_code == 401
    for action in ("revoke", "annotator"):  # somebody has to be there who owns it
        assert page.http.post("/api/team/change", json={"name": "Ann", "action": action}).status_code == 400
    assert page.http.post("/api/team", json={"name": "ann"}).status_code == 400


def test_two_browsers_of_one_person_have_rows_of_their_own(page: Any) -> None:
    """Told apart by a cookie, though both say that they are the same tab; each answer counts."""
    page.post("/api/classes/new", labels=["cat", "dog"])
    token = page.of("Bob", "annotator")["Authorization"].removeprefix("Bearer ")
    given = []
    for _ in range(2):
        page.http.cookies.clear()
        entered = page.http.get("/", params={"token": token}, headers={"Authorization": ""})
        assert entered.status_code == 200
        kept = "; ".join(f"{name}={value}" for name, value in page.http.cookies.items())
        headers = {"Cookie": kept, "Authorization": ""}
        page.http.cookies.clear()
        rows = page.http.post("/api/lease", json={"n": 4, "tab": "same"}, headers=headers).json()["questions"]
        given.append((headers, [one["id"] for one in rows]))
    (laptop, ours), (phone, theirs) = given
    assert len({*ours, *theirs}) == len(ours) + len(theirs) == 8
    for headers, questions in given:
        body = {"answers": [{"question": one, "label": "cat"} for one in questions]}
        assert page.http.post("/api/answers", json=body, headers=headers).json()["accepted"] == questions
    page.http.cookies.clear()
    assert laptop != phone
    told = [event.data["by"] for event in page.service.stored.journal.events() if event.kind == "answered"]
    assert told == ["Bob"] * 8


def test_a_page_that_was_somebody_elses_is_told(page: Any) -> None:
    """Who it believes to be is compared with who it is, and never taken for it."""
    me = page.get("/api/me").json()
    assert page.get("/api/state", headers={"X-Bela-Person": me["id"]}).status_code == 200
    bob = page.of("Bob", "annotator")
    refused = page.http.get("/api/state", headers={**bob, "X-Bela-Person": me["id"]})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "person")


def test_a_page_for_one_person_is_for_its_owner(stored: Any) -> None:
    """Links of a team lead nowhere there, and there is nobody to let in."""
    page = Page(LabelService(stored, team=False))
    bob = page.of("Bob", "annotator")
    assert page.http.get("/api/state", headers=bob).status_code == 401
    assert page.get("/api/me").json()["name"] == "me"
    assert page.http.post("/api/team", json={"name": "Cid"}).status_code == 409
    assert json.loads(page.get("/api/state").text)["team"] is False


def test_links_that_cannot_be_kept_end_with_the_server(
    stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that cannot be written to keeps nobody from labelling; it is said."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "file" / "below"))
    said: list[str] = []
    team = _people(stored, said.append)
    assert team.by_token(team.owner().token) is not None
    assert "cannot be kept" in said[0]
    assert not (stored.path / "team").exists()


def test_leases_outlive_the_server(stored: Any) -> None:
    """A server that starts anew gives nobody what a page still has before it, however long it was away."""
    first = LabelService(stored, team=True, clock=lambda: 9000.0, now=lambda: 1e9)
    held = [one.id for one in first.lease("Bob", 4, tab="t", browser="b")]
    again = LabelService(stored, team=True, clock=lambda: 3.0, now=lambda: 2e9)
    assert not {one.id for one in again.lease("Cid", 20)} & set(held)
    assert [one.id for one in again.lease("Bob", 4, tab="t", browser="b")] == held
    (stored.path / "cache" / "leases.json").write_text('[[1, "Eve"]]')
    assert LabelService(stored, team=True).lease("Bob", 4) != []
