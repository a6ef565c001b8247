"""Campaigns to serve, a clock that is moved by hand, and a client that has the token."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from bela.campaign import StoredCampaign, Team, create_campaign, open_campaign
from bela.web import LabelService, create_app

N_ROWS = 120
TOKEN = "the-right-one"  # noqa: S105 - for tests


class Clock:
    """Tells the time that it was told."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of pets and a campaign about it, in which nothing was asked yet."""
    folder = tmp_path_factory.mktemp("pets")
    rng = np.random.default_rng(0)
    with (folder / "pets.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "weight", "height", "secret"])
        for row, (a, b) in enumerate(rng.normal(size=(N_ROWS, 2)) + 9 * (np.arange(N_ROWS) % 2)[:, None]):
            writer.writerow([f"pet <{row}>", round(a, 4), round(b, 4), kind_of(row)])
    with create_campaign(
        folder / "pets.csv", folder / "pets.bela", id_column="name", hidden=("secret",), target=0.9
    ) as stored:
        assert stored.campaign.n_rows == N_ROWS
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """A campaign of one's own."""
    shutil.copytree(template, tmp_path / "data")
    return tmp_path / "data" / "pets.bela"


@pytest.fixture
def stored(folder: Path) -> Iterator[StoredCampaign]:
    """The campaign, opened for writing."""
    with open_campaign(folder, background=True) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def service(stored: StoredCampaign, clock: Clock) -> LabelService:
    """A service for a team of people."""
    return LabelService(stored, team=True, clock=clock, lease_seconds=60)


def team_of_ann(token: str = TOKEN) -> Team:
    """Return people of whom Ann is the owner, by a token that is known beforehand; nothing of it is on disk."""
    team = Team()
    team._put(replace(team.owner("Ann"), token=token))
    return team


class Page:
    """Ann's browser, which answers with the truth; she owns the campaign, and so do all whose names are given.

    It can be anybody's, who is then let in by a token of their own.
    """

    def __init__(
        self, service: LabelService, *, token: str | None = TOKEN, known: bool = True, **options: Any
    ) -> None:  # fmt: skip
        self.service, self.token = service, token
        self.team = None if token is None else team_of_ann(token)
        app = create_app(service, team=self.team, **options)
        self.http = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        if known and token is not None:
            self.http.headers["Authorization"] = f"Bearer {token}"
        self.headers = {"Authorization": f"Bearer {token}", "Host": "localhost"}
        self.get, self.put = self.http.get, self.http.put

    def of(self, name: str, role: str = "owner") -> dict[str, str]:
        """Return the headers of somebody's requests, who is let in if they were not yet."""
        if self.team is None:
            return {}
        member = self.team.named(name) or self.team.add(name, is_owner=role == "owner")
        return {"Authorization": f"Bearer {member.token}"}

    def post(self, path: str, status: int = 200, *, by: str = "Ann", **body: Any) -> Any:
        """Send something in somebody's name, and return what comes back."""
        response = self.http.post(path, json=body, headers=self.of(by))
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    def lease(self, by: str = "Ann", n: int = 1, **more: Any) -> list[dict[str, Any]]:
        """Ask for questions, once more when the revision is there that is being made."""
        questions: list[dict[str, Any]] = self.post("/api/lease", by=by, n=n, **more)["questions"]
        if not questions:
            with self.service.lock:
                self.service.stored.campaign.ask()
            questions = self.post("/api/lease", by=by, n=n, **more)["questions"]
        return questions

    def answer(self, questions: list[dict[str, Any]], by: str = "Ann") -> Any:
        """Answer questions with the truth."""
        answers = [{"question": q["id"], "label": kind_of(q["row"]), "second": q["second"]} for q in questions]
        return self.post("/api/answers", by=by, answers=answers)

    def go_on(self, n: int, by: str = "Ann") -> None:
        """Answer so many questions."""
        for _ in range(n):
            self.answer(self.lease(by), by)


@pytest.fixture
def make_page(stored: StoredCampaign) -> Iterator[Callable[..., Page]]:
    """Return a function that serves the campaign to somebody."""
    pages: list[Page] = []

    def make(
        *, token: str | None = TOKEN, known: bool = True, serving: dict[str, Any] | None = None, **options: Any
    ) -> Page:
        service = LabelService(stored, **{"team": True, **options})
        service.prepare()
        page = Page(service, token=token, known=known, **(serving or {}))
        page.http.__enter__()
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.http.__exit__(None, None, None)


@pytest.fixture
def page(make_page: Callable[..., Page]) -> Page:
    """Somebody who knows the token."""
    return make_page()


@pytest.fixture
def make_any() -> type[Page]:
    """Serve any service to somebody who knows the token."""
    return Page


@pytest.fixture(scope="session")
def lookers(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Page]]:
    """One campaign for all who only look, or are refused: those who know the token, and those who do not."""
    shutil.copytree(template, tmp_path_factory.mktemp("looked-at") / "data")
    with open_campaign(next(tmp_path_factory.getbasetemp().glob("looked-at*")) / "data" / "pets.bela") as stored:
        service = LabelService(stored, team=True)
        service.prepare()
        yield {known: Page(service, known=known) for known in (True, False)}


@pytest.fixture
def looker(lookers: dict[bool, Page]) -> Page:
    """Somebody who knows the token and changes nothing."""
    return lookers[True]


@pytest.fixture
def stranger(lookers: dict[bool, Page]) -> Iterator[Page]:
    """Somebody who does not know the token."""
    yield lookers[False]
    lookers[False].http.cookies.clear()
