"""A real server, killed while people answer: what it acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from bela.campaign import Team, open_campaign


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


class Server:
    """`bela serve` or `bela label` as a process of its own."""

    def __init__(self, command: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bela", command, *map(str, arguments), "--port", "0", "--no-browser"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ,
        )  # fmt: skip
        self.said: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            found = re.search(r"http://localhost:(\d+)/\?token=([\w-]+)", line)
            if found:
                self.address, self.token = f"http://localhost:{found[1]}", found[2]
                return
        raise AssertionError("".join(self.said))

    def post(self, path: str, token: str | None = None, **body: Any) -> Any:
        """Send something, as the owner unless somebody else's token is given, and return what comes back."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.address}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.token}"},
        )
        with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310
            return json.loads(response.read() or b"null")

    def listen(self) -> Any:
        """Open the line for news, and read the first."""
        head = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.address}/api/events", headers=head)  # noqa: S310
        line = urllib.request.urlopen(request, timeout=20)  # noqa: S310
        assert line.readline() == b"event: state\n"
        return line

    def end(self, how: int) -> int:
        """End it, and return its status."""
        self.process.send_signal(how)
        assert self.process.stdout is not None
        self.said += self.process.stdout
        self.process.stdout.close()
        return self.process.wait(20)


class Person:
    """Somebody whose page keeps answers until they are acknowledged, as the real one does."""

    def __init__(self, name: str, token: str) -> None:
        self.name, self.token = name, token
        self.queue: list[dict[str, Any]] = []
        self.acknowledged: dict[int, str] = {}

    def work(self, server: Server, n: int) -> None:
        """Answer until there are n more answers, or the server is gone; what has no answer in time is sent again."""
        n += len(self.acknowledged)
        while len(self.acknowledged) < n and server.process.poll() is None:
            with suppress(urllib.error.URLError, ConnectionError, TimeoutError, json.JSONDecodeError):
                if not self.queue:
                    questions = server.post("/api/lease", self.token, n=2)["questions"]
                    self.queue = [{"question": q["id"], "label": kind_of(q["row"])} for q in questions]
                found = server.post("/api/answers", self.token, answers=self.queue)
                assert found["refused"] == []
                for answer in self.queue:
                    assert answer["question"] in found["accepted"]
                    self.acknowledged[answer["question"]] = answer["label"]
                self.queue = []


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(folder: Path) -> None:
    """Killed twice amid answers of three people, who send again what was not acknowledged; then told to end.

    Each comes in by a link of their own, which is as good after each start as it was before.
    """
    with open_campaign(folder) as stored:
        for label in ("cat", "dog"):
            stored.campaign.add_class(label)
    team = Team.of(folder)
    people = [Person(name, team.add(name).token) for name in ("Ann", "Bob", "Cid")]
    rng = random.Random(0)  # noqa: S311 - moments, not secrets
    for how in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
        server = Server("serve", folder)
        workers = [threading.Thread(target=person.work, args=(server, 6)) for person in people]
        for worker in workers:
            worker.start()
        if how == signal.SIGKILL:
            threading.Event().wait(rng.uniform(0.02, 0.3))  # a moment that nobody has chosen
        else:
            for worker in workers:
                worker.join()
        status = server.end(how)
        for worker in workers:
            worker.join()
        assert status == (-signal.SIGKILL if how == signal.SIGKILL else 0), server.said
        with open_campaign(folder, read_only=True) as stored:
            told = [event.data for event in stored.journal.events() if event.kind == "answered"]
            assert max(Counter(data["question"] for data in told).values(), default=1) == 1
            answers = {data["question"]: (data["label"], data["by"]) for data in told}
            for person in people:
                for question, label in person.acknowledged.items():
                    assert answers[question] == (label, person.name)
            assert stored.campaign.n_asked == len(answers)
            rows = {row for row in range(stored.campaign.n_rows) if stored.campaign.book.label(row) is not None}
            assert all(stored.campaign.book.label(row) == kind_of(row) for row in rows)
    assert all(person.acknowledged and not person.queue for person in people)
    assert "To go on: bela serve" in "".join(server.said)


def test_the_page_of_one_person_ends_well(template: Path, tmp_path: Path) -> None:
    """`bela label` serves the page; Ctrl-C ends it at once, though a page is open, and it says what has come of it."""
    folder = tmp_path / "mine.bela"
    server = Server("label", template / "pets.csv", "--campaign", folder, "--hide", "secret", "--method", "random")
    with server.listen():
        until = time.monotonic() + 60.0
        while not (questions := server.post("/api/lease", n=1)["questions"]) and time.monotonic() < until:
            time.sleep(0.05)
        answer = {"question": questions[0]["id"], "label": "cat"}
        assert server.post("/api/answers", answers=[answer])["state"]["team"] is False
        assert server.end(signal.SIGINT) == 0
    said = "".join(server.said)
    assert "1 answer" in said
    assert f"To go on: bela label {folder}" in " ".join(said.split())
    assert "Traceback" not in said
