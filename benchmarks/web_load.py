"""How the labelling page's server bears up: many people answering at once, and one person waiting for the next row.

    python benchmarks/web_load.py [--people 20] [--rate 5] [--seconds 120]
    python benchmarks/web_load.py --data digits --method random --people 20 --rate 0.25 --ahead 1 --kills 2

Starts a real server on MNIST (in BELA_DATA; or on --data), lets so many simulated people answer at so many answers a
second, each by a link of their own and with a page that leases rows ahead, keeps answers until they are acknowledged,
and listens to the news; then one person alone who asks for the next row after each answer. With --kills the server is
killed (kill -9) so often meanwhile, and started again: pages go on with the rows that they have and send what they
hold, by the same links. Afterwards the journal is read: every acknowledged answer must be there, once, and nobody may
have been refused. The results go into README.md beside this file; exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from _browser import load
from _measure import write_table
from bela.campaign import Team, create_campaign, open_campaign
from bela.data import load_dataset

HERE = Path(__file__).resolve().parent
BAR = 200.0  # milliseconds
TABLE: list[dict[str, Any]] = []


class Line:
    """One connection to the server, as light as can be: the simulated people share a processor with the server."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.head = f"Host: localhost:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        return self._streams

    async def post(self, path: str, **body: Any) -> Any:
        """Send something and return what comes back; raise an error for any status but 200."""
        try:
            reader, writer = await self._open()
            content = json.dumps(body).encode()
            kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            writer.write(f"POST {path} HTTP/1.1\r\n{self.head}{kind}\r\n".encode() + content)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
            found = await reader.readexactly(int(length[1])) if length else b""
        except (OSError, asyncio.IncompleteReadError):
            self._streams = None
            raise
        if not answer.startswith("HTTP/1.1 200"):
            raise RuntimeError(f"{answer.splitlines()[0]} {found[:200]!r}")
        return json.loads(found)

    async def listen(self, heard: list[int]) -> None:
        """Count the news, from a line that is opened anew whenever it is ended."""
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
                writer.write(f"GET /api/events HTTP/1.1\r\n{self.head}\r\n".encode())
                while line := await reader.readline():
                    heard[0] += line.startswith(b"event:")
            await asyncio.sleep(0.5)


class Person:
    """Somebody who answers at a steady pace, rows leased ahead."""

    def __init__(self, name: str, line: Line, truth: np.ndarray, ahead: int = 4) -> None:
        self.name, self.line, self.truth, self.ahead = name, line, truth, ahead
        self.rows: list[dict[str, Any]] = []
        self.unsent: list[dict[str, int]] = []  # answers that were given and not acknowledged
        self.acknowledged: dict[int, int] = {}
        self.done: set[int] = set()
        self.answer_times: list[float] = []
        self.lease_times: list[float] = []
        self.revising: list[bool] = []
        self.starved = self.away = 0  # moments without a row, and requests that the server was not there for
        self.errors: list[str] = []

    async def lease(self, n: int) -> None:
        """Get rows that are not here yet; as on the page, those that are not given again are somebody else's by now."""
        began = time.perf_counter()
        found = await self.line.post("/api/lease", tab="one", n=n, grid=False)
        self.lease_times.append(time.perf_counter() - began)
        given = {row["id"] for row in found["questions"]}
        if len(given) < n:  # the first is on the screen
            self.rows = [row for at, row in enumerate(self.rows) if at == 0 or row["id"] in given]
        here = {row["id"] for row in self.rows} | self.done
        self.rows += [row for row in found["questions"] if row["id"] not in here]

    async def answer(self) -> None:
        """Answer for the first row."""
        row = self.rows.pop(0)
        self.done.add(row["id"])
        self.unsent.append({"question": row["id"], "label": int(self.truth[row["row"]])})
        await self.send()

    async def send(self) -> None:
        """Send what is not acknowledged."""
        said = list(self.unsent)
        began = time.perf_counter()
        found = await self.line.post("/api/answers", answers=said)
        self.answer_times.append(time.perf_counter() - began)
        self.revising.append(found["state"]["revising"])
        self.unsent = self.unsent[len(said) :]
        self.errors += [str(refused) for refused in found["refused"]]
        labels = {one["question"]: one["label"] for one in said}
        self.acknowledged |= {question: labels[question] for question in found["accepted"]}

    async def work(self, rate: float, end: asyncio.Event) -> None:
        """Answer so many rows a second; a moment without a row or a server is counted and passes."""
        due = time.perf_counter() + float(np.random.default_rng(zlib.crc32(self.name.encode())).random()) / rate
        while not end.is_set():
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due += 1 / rate
            try:
                if self.unsent:
                    await self.send()
                if len(self.rows) <= self.ahead:
                    await self.lease(self.ahead + 1)
                if self.rows:
                    await self.answer()
                else:
                    self.starved += 1
            except RuntimeError as error:
                self.errors.append(repr(error))
            except (OSError, asyncio.IncompleteReadError):
                self.away += 1
        while self.unsent:  # as the page does, however long it takes
            with suppress(OSError, asyncio.IncompleteReadError):
                await self.send()
            await asyncio.sleep(0.2)


class Served:
    """The server, which can be killed and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds = folder, list[float]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is there."""
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bela", "serve", str(self.folder), "--port", str(self.port), "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = next(m for line in self.process.stdout if (m := re.search(r"\?token=([\w-]+)", line)))
        self.token = found[1]
        self.seconds.append(time.perf_counter() - began)
        print(f"server up in {self.seconds[-1]:.1f} s")

    def end(self, how: int) -> int:
        """End it, and return its status."""
        assert self.process.stdout is not None
        self.process.send_signal(how)
        self.process.stdout.read()
        return self.process.wait(60)

    async def last(self, seconds: float, kills: int) -> None:
        """Let it be there for so long in all; meanwhile kill it so often, evenly spread, and start it again."""
        for _ in range(kills):
            await asyncio.sleep(seconds / (kills + 1))
            await asyncio.to_thread(self.end, signal.SIGKILL)
            await asyncio.to_thread(self.start)
        await asyncio.sleep(seconds / (kills + 1))


async def many(served: Served, truth: np.ndarray, options: argparse.Namespace) -> list[Person]:
    """Let many people answer, each by a link of their own."""
    team = Team.of(served.folder)
    names = [f"person {i}" for i in range(options.people)]
    people = [Person(name, Line(served.port, team.add(name).token), truth, options.ahead) for name in names]
    heard = [0]
    listeners = [asyncio.create_task(person.line.listen(heard)) for person in people]
    end = asyncio.Event()
    working = [asyncio.create_task(person.work(options.rate, end)) for person in people]
    await served.last(options.seconds, options.kills)
    end.set()
    await asyncio.gather(*working)
    for listener in listeners:
        listener.cancel()
    n = sum(len(person.acknowledged) for person in people)
    print(
        f"{options.people} people, {options.rate:g} answers a second each, {options.seconds:g} s: {n:,} acknowledged "
        f"({n / options.seconds:.0f} a second), {sum(len(person.errors) for person in people)} errors, "
        f"{sum(person.starved for person in people)} moments without a row, {sum(person.away for person in people)} "
        f"without the server, {heard[0]:,} news"
    )
    for person in people:
        for error in person.errors[:1]:
            print("  ", person.name, error)
    show(f"{options.people} people: an answer", [t for person in people for t in person.answer_times])
    show(f"{options.people} people: the next rows", [t for person in people for t in person.lease_times])
    return people


async def alone(served: Served, truth: np.ndarray, options: argparse.Namespace) -> list[Person]:
    """Let one person answer and ask for the next row, as fast as it goes."""
    person = Person("owner", Line(served.port, served.token), truth)
    times: dict[bool, list[float]] = {False: [], True: []}
    end = time.perf_counter() + options.seconds / 2
    while time.perf_counter() < end:
        if not person.rows:
            await person.lease(1)
        if person.rows:
            began = time.perf_counter()
            await person.answer()
            await person.lease(1)
            times[person.revising[-1]].append(time.perf_counter() - began)
        await asyncio.sleep(0.02)
    print(f"one person, {len(person.acknowledged):,} answers, each followed by a lease of the next row")
    for revising, found in times.items():
        show("one: answer and next row" + (", revising" if revising else ""), found)
    return [person]


def show(what: str, times: list[float]) -> None:
    """Print quantiles, and keep them for the table."""
    if times:
        p50, p95, p99, most = 1000 * np.quantile(times, [0.5, 0.95, 0.99, 1])
        print(f"  {what:26} n {len(times):6,}  p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f}  max {most:7.1f} ms")
        quantiles = {"median ms": p50, "p95 ms": p95, "p99 ms": p99, "most ms": most}
        TABLE.append({"what": what, "requests": len(times)} | {key: round(ms, 1) for key, ms in quantiles.items()})


def check(folder: Path, people: list[Person]) -> dict[str, int]:
    """Compare what was acknowledged with what the journal has; return the counts."""
    with open_campaign(folder, read_only=True) as stored:
        events = list(stored.journal.events())
        told = [event.data for event in events if event.kind == "answered"]
        state = stored.campaign
    n_of = Counter(data["question"] for data in told)
    answers = {data["question"]: (data["label"], data["by"]) for data in told}
    lost = sum(
        answers.get(question) != (label, person.name)
        for person in people
        for question, label in person.acknowledged.items()
    )
    said = Counter(question for person in people for question in person.acknowledged)
    opinions = sum(event.kind == "second opinion" for event in events)
    doubled = sum(n > 1 for n in n_of.values()) + sum(n > 1 for n in said.values()) + opinions
    print(f"journal: {len(told):,} answers, {lost} lost, {doubled} doubled, {state.book.n_revisions} revisions")
    assert not lost
    assert not doubled
    errors = sum(len(person.errors) for person in people)
    return {"answers": len(told), "errors": errors, "lost": lost, "doubled": doubled}


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--rate", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--ahead", type=int, default=4, help="rows that a page has besides the one that it shows")
    parser.add_argument("--data", default="mnist", help="the dataset that is labelled")
    parser.add_argument("--method", default="bela", help="how questions are chosen; random never has to wait")
    parser.add_argument("--kills", type=int, default=0, help="how often the server is killed meanwhile")
    parser.add_argument("--target", type=float, default=0.99)
    parser.add_argument("--folder", type=Path, help="where to put the campaign")
    parser.add_argument("--copy", type=Path, help="a campaign on MNIST to begin with, instead of a new one")
    options = parser.parse_args()
    truth = load_dataset(options.data).y
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place) / f"{options.data}.bela"
        os.environ["BELA_CONFIG"] = str(Path(place) / "config")  # for links that are of no use afterwards
        began = time.perf_counter()
        if options.copy is None:
            create_campaign(options.data, folder, target=options.target, method=options.method).close()
        else:
            shutil.copytree(options.copy, folder)
        seconds = time.perf_counter() - began
        print(f"{options.data}, {len(truth):,} rows: campaign made in {seconds:.1f} s; load {os.getloadavg()[0]:.1f}")
        began = time.perf_counter()
        served = Served(folder)
        try:
            first = Person("owner", Line(served.port, served.token), truth)

            async def wait() -> None:
                while not first.rows:
                    await first.lease(1)
                    await asyncio.sleep(0.1)
                await first.answer()
                await first.line.post("/api/classes/new", labels=list(range(10)))

            asyncio.run(wait())
            print(f"first question after {time.perf_counter() - began:.1f} s")
            people = [first, *asyncio.run(many(served, truth, options))]
            if not options.kills:
                people += asyncio.run(alone(served, truth, options))
            machine = load()
        finally:
            status = served.end(signal.SIGTERM)
        print(f"server ended with status {status}; load {os.getloadavg()[0]:.1f}")
        counts = check(folder, people)
        name = "web load" if not options.kills else "web load, killed"
        if options.kills:
            counts |= {
                "rows": len(truth),
                "method": options.method,
                "kills": options.kills,
                "most s to start": round(max(served.seconds), 1),
            }
        write_table(HERE / "README.md", name, [row | counts | {"load": machine} for row in TABLE])
        slow = [row for row in TABLE if row["what"].startswith(str(options.people)) and row["p99 ms"] >= BAR]
        return int(bool(counts["errors"] or (slow and not options.kills)))


if __name__ == "__main__":
    sys.exit(main())
