"""News by server-sent events: to many at once, not too often, and gone when the server goes."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from bela.web import AnswerIn, LabelService
from bela.web import _broadcast as broadcast_module
from bela.web._broadcast import Broadcast
from bela.web._identity import Visitor

OWNER = Visitor(id="", name="Ann", is_owner=True)


@pytest.fixture
def broadcast(service: LabelService, monkeypatch: pytest.MonkeyPatch) -> Any:
    """News about a service, comments often."""
    monkeypatch.setattr(broadcast_module, "_SILENCE", 0.3)
    service.prepare()
    made = Broadcast(service)
    made.start()
    yield made
    made.close()


async def read(broadcast: Broadcast, until: Any) -> list[str]:
    """Read events until one fits."""
    found: list[str] = []
    async for line in broadcast.lines(OWNER):
        found.append(line)
        if until(line):
            return found
    return found


def state_of(line: str) -> dict[str, Any]:
    kind, data, *_ = line.split("\n")
    assert kind == "event: state"
    state: dict[str, Any] = json.loads(data.removeprefix("data: "))
    return state


def test_many_hear_of_an_answer(service: LabelService, broadcast: Broadcast) -> None:
    """Everybody gets the state as it is, and then as it is after an answer."""

    async def listen() -> list[list[str]]:
        async def hear() -> list[str]:
            return await read(broadcast, lambda line: "event" in line and state_of(line)["answers"] == 1)

        heard = asyncio.gather(*(hear() for _ in range(20)))
        await asyncio.sleep(0.1)
        [asked] = service.lease("Ann", 1)
        await asyncio.to_thread(service.answer, "Ann", [AnswerIn(question=asked.id, label="cat")])
        return await asyncio.wait_for(heard, 20)

    for lines in asyncio.run(listen()):
        assert state_of(lines[0])["answers"] == 0
        assert state_of(lines[-1])["seq"] > state_of(lines[0])["seq"]


def test_not_more_than_five_a_second(service: LabelService, broadcast: Broadcast) -> None:
    """However fast people answer."""

    async def listen() -> int:
        async def hear() -> None:
            async for line in broadcast.lines(OWNER):
                lines.extend([line] if "event" in line else [])

        heard = asyncio.create_task(hear())
        for _ in range(40):
            await asyncio.to_thread(service.flag, "Ann", 1, "!")
        for asked in service.lease("Ann", 40):
            await asyncio.to_thread(service.answer, "Ann", [AnswerIn(question=asked.id, label=None)])
        n_skipped = service.status().skipped
        assert n_skipped > 5
        while not any(state_of(line)["skipped"] == n_skipped for line in lines):
            await asyncio.sleep(0.05)
        heard.cancel()
        return len(lines)

    lines: list[str] = []
    began = time.monotonic()
    assert asyncio.run(asyncio.wait_for(listen(), 20)) <= 5 * (time.monotonic() - began) + 2


def test_silence_is_broken_by_a_comment(broadcast: Broadcast) -> None:
    """So that whoever is in between does not take the line for dead."""
    lines = asyncio.run(asyncio.wait_for(read(broadcast, lambda line: line.startswith(":")), 20))
    assert lines[-1].startswith(": ")


def test_lines_end_when_the_server_does(broadcast: Broadcast) -> None:
    """Nobody has to wait for pages to be closed."""

    async def listen() -> None:
        heard = asyncio.create_task(read(broadcast, lambda _: False))
        await asyncio.sleep(0.3)
        broadcast.end_lines()
        await asyncio.wait_for(heard, 5)

    asyncio.run(listen())
    assert not broadcast._waiting


def test_a_tab_is_in_sight_for_as_long_as_it_listens(service: LabelService, broadcast: Broadcast) -> None:
    """Then another tab of the same person goes on with what it had."""

    async def listen() -> None:
        heard, line = asyncio.Event(), broadcast.lines(OWNER, "first")

        async def hear() -> None:
            async for _ in line:
                heard.set()

        held = service.lease("Ann", 200, tab="first")
        hearing = asyncio.create_task(hear())
        await asyncio.wait_for(heard.wait(), 20)
        assert service.lease("Ann", 200, tab="second") == []
        hearing.cancel()
        await asyncio.wait([hearing])
        assert {one.id for one in service.lease("Ann", 200, tab="second")} == {one.id for one in held}

    asyncio.run(listen())


def test_news_go_on_after_first_questions_that_failed(service: LabelService, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full for a moment, say, does not end them: the questions are chosen a little later."""

    def fail() -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(broadcast_module, "_AFTER_ERROR", 0.01)
    monkeypatch.setattr(service, "prepare", fail)
    made = Broadcast(service)
    made.start()
    try:
        read_on = read(made, lambda line: "event" in line and state_of(line)["seq"] > 1)
        asyncio.run(asyncio.wait_for(read_on, 20))
        assert service.stored.campaign.open_questions
    finally:
        made.close()
