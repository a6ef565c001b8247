"""How the labelling page's server bears up: many people answering at once, and one person waiting for the next row.

    python benchmarks/web_load.py [--people 20] [--rate 5] [--seconds 120]

Starts a real server on MNIST (BELA_DATA), lets so many simulated people answer at so many answers a second, each with a
page that leases rows ahead and listens to the news, then one person alone who asks for the next row after each answer.
Afterwards the journal is read: every acknowledged answer must be there, once. The results go into README.md beside this
file; exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from _browser import load
from _measure import write_table
from bela.campaign import create_campaign, open_campaign
from bela.data import load_dataset

HERE = Path(__file__).resolve().parent
BAR = 200.0  # milliseconds
AHEAD = 4  # rows that a page has before it
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
        reader, writer = await self._open()
        content = json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        writer.write(f"POST {path} HTTP/1.1\r\n{self.head}{kind}\r\n".encode() + content)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        found = await reader.readexactly(int(length[1])) if length else b""
        if not answer.startswith("HTTP/1.1 200"):
            raise RuntimeError(f"{answer.splitlines()[0]} {found[:200]!r}")
        return json.loads(found)

    async def listen(self, heard: list[int]) -> None:
        """Count the news."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        writer.write(f"GET /api/events HTTP/1.1\r\n{self.head}\r\n".encode())
        while line := await reader.readline():
            heard[0] += line.startswith(b"event:")


class Person:
    """Somebody who answers at a steady pace, rows leased ahead."""

    def __init__(self, name: str, line: Line, truth: np.ndarray) -> None:
        self.name, self.line, self.truth = name, line, truth
        self.rows: list[dict[str, Any]] = []
        self.acknowledged: dict[int, int] = {}
        self.done: set[int] = set()
        self.answer_times: list[float] = []
        self.lease_times: list[float] = []
        self.revising: list[bool] = []
        self.starved = 0
        self.errors: list[str] = []

    async def lease(self, n: int) -> None:
        """Get rows that are not here yet."""
        began = time.perf_counter()
        found = await self.line.post("/api/lease", by=self.name, n=n, grid=False)
        self.lease_times.append(time.perf_counter() - began)
        here = {row["id"] for row in self.rows} | self.done
        self.rows += [row for row in found["questions"] if row["id"] not in here]

    async def answer(self) -> None:
        """Answer for the first row."""
        row = self.rows.pop(0)
        self.done.add(row["id"])
        label = int(self.truth[row["row"]])
        began = time.perf_counter()
        found = await self.line.post("/api/answers", by=self.name, answers=[{"question": row["id"], "label": label}])
        self.answer_times.append(time.perf_counter() - began)
        self.revising.append(found["state"]["revising"])
        if found["accepted"] == [row["id"]]:
            self.acknowledged[row["id"]] = label
        else:
            self.errors.append(str(found["refused"]))

    async def work(self, rate: float, until: float) -> None:
        """Answer so many rows a second; a moment without a row is counted and passes."""
        due = time.perf_counter() + float(np.random.default_rng(len(self.name)).random()) / rate
        while due < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due += 1 / rate
            try:
                if len(self.rows) < AHEAD:
                    await self.lease(2 * AHEAD)
                if self.rows:
                    await self.answer()
                else:
                    self.starved += 1
            except (RuntimeError, OSError, asyncio.IncompleteReadError) as error:
                self.errors.append(repr(error))


async def many(port: int, token: str, truth: np.ndarray, options: argparse.Namespace) -> list[Person]:
    """Let many people answer."""
    people = [Person(f"person {i}", Line(port, token), truth) for i in range(options.people)]
    heard = [0]
    listeners = [asyncio.create_task(person.line.listen(heard)) for person in people]
    began = time.perf_counter()
    await asyncio.gather(*(person.work(options.rate, began + options.seconds) for person in people))
    for listener in listeners:
        listener.cancel()
    n = sum(len(person.acknowledged) for person in people)
    print(
        f"{options.people} people, {options.rate:g} answers a second each, {options.seconds:g} s: {n:,} acknowledged "
        f"({n / options.seconds:.0f} a second), {sum(len(person.errors) for person in people)} errors, "
        f"{sum(person.starved for person in people)} moments without a row, {heard[0]:,} news"
    )
    for person in people:
        for error in person.errors[:1]:
            print("  ", person.name, error)
    show(f"{options.people} people: an answer", [t for person in people for t in person.answer_times])
    show(f"{options.people} people: the next rows", [t for person in people for t in person.lease_times])
    return people


async def alone(port: int, token: str, truth: np.ndarray, options: argparse.Namespace) -> list[Person]:
    """Let one person answer and ask for the next row, as fast as it goes."""
    person = Person("alone", Line(port, token), truth)
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
        told = [event.data for event in stored.journal.events() if event.kind == "answered"]
        state = stored.campaign
    n_of = Counter(data["question"] for data in told)
    answers = {data["question"]: (data["label"], data["by"]) for data in told}
    lost = sum(
        answers.get(question) != (label, person.name)
        for person in people
        for question, label in person.acknowledged.items()
    )
    said = Counter(question for person in people for question in person.acknowledged)
    doubled = sum(n > 1 for n in n_of.values()) + sum(n > 1 for n in said.values())
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
    parser.add_argument("--target", type=float, default=0.99)
    parser.add_argument("--folder", type=Path, help="where to put the campaign")
    parser.add_argument("--copy", type=Path, help="a campaign on MNIST to begin with, instead of a new one")
    options = parser.parse_args()
    truth = load_dataset("mnist").y
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place) / "mnist.bela"
        began = time.perf_counter()
        if options.copy is None:
            create_campaign("mnist", folder, target=options.target).close()
        else:
            shutil.copytree(options.copy, folder)
        print(
            f"MNIST, 60,000 rows: campaign made in {time.perf_counter() - began:.1f} s; load {os.getloadavg()[0]:.1f}"
        )
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "bela", "serve", str(folder), "--port", "0", "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        found = next(m for line in server.stdout if (m := re.search(r"localhost:(\d+)/\?token=([\w-]+)", line)))
        port, token = int(found[1]), found[2]
        print(f"server up in {time.perf_counter() - began:.1f} s")
        try:
            first = Person("first", Line(port, token), truth)

            async def wait() -> None:
                while not first.rows:
                    await first.lease(1)
                    await asyncio.sleep(0.1)
                await first.answer()

            asyncio.run(wait())
            print(f"first question after {time.perf_counter() - began:.1f} s")
            people = [first, *asyncio.run(many(port, token, truth, options))]
            people += asyncio.run(alone(port, token, truth, options))
            machine = load()
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.read()
            status = server.wait(30)
        print(f"server ended with status {status}; load {os.getloadavg()[0]:.1f}")
        counts = check(folder, people)
        write_table(HERE / "README.md", "web load", [row | counts | {"load": machine} for row in TABLE])
        slow = [row for row in TABLE if row["what"].startswith(str(options.people)) and row["p99 ms"] >= BAR]
        return int(bool(slow or counts["errors"]))


if __name__ == "__main__":
    sys.exit(main())
