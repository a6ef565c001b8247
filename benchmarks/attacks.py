"""Does anything that a stranger sends keep others from answering?

    python benchmarks/attacks.py [--seconds 5]

Serves a campaign, as `bela serve` does. Strangers, who do not know the token, attack it in one way after the other,
from processes of their own, while somebody who knows it goes on answering: how long does an answer take, from the
request to the acknowledgement? The results go into README.md beside this file. Exit status 1 if an answer takes more
than 1 s.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import multiprocessing
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from _measure import ONE_THREAD, write_table

HERE = Path(__file__).resolve().parent
BAR = 1.0
N_ROWS = 20_000
HEAD = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n"


def large_cookies() -> Iterator[bytes]:
    """64 KB of what took the parser of the standard library half a minute."""
    while True:
        yield HEAD + b'Cookie: a="' + b"\\" * 60_000 + b'"\r\n\r\n'


def many_fields() -> Iterator[bytes]:
    """An address with thousands of fields."""
    while True:
        yield b"GET /?" + b"a=1&" * 10_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


def endless_heads() -> Iterator[bytes]:
    """A header that does not end."""
    while True:
        yield HEAD + b"X: " + b"x" * (1 << 20)


def wrong_tokens() -> Iterator[bytes]:
    """Guesses, many on a connection."""
    while True:
        yield (HEAD + b"Authorization: Bearer wrong\r\n\r\n") * 50


def large_bodies() -> Iterator[bytes]:
    """A megabyte that nobody asked for."""
    while True:
        yield b"POST /api/undo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"[" * 1_000_000


def nothing() -> Iterator[bytes]:
    """Connections on which nothing is sent, hundreds of them."""
    while True:
        yield b""


def half_heads() -> Iterator[bytes]:
    """Requests that are never complete, hundreds of them."""
    while True:
        yield HEAD + b"X: y\r\n"


FLOODS = (large_cookies, many_fields, endless_heads, wrong_tokens, large_bodies)
WAITING = (nothing, half_heads)


def flood(port: int, attack: Callable[[], Iterator[bytes]], stop: Any) -> None:
    """Send one request after the other, each on a connection of its own."""
    for content in attack():
        if stop.is_set():
            return
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(content)
            connection.recv(65536)


def wait(port: int, attack: Callable[[], Iterator[bytes]], stop: Any) -> None:
    """Hold as many connections open as one can, and open others for those that were ended."""
    held: list[socket.socket] = []
    for content in attack():
        if stop.is_set():
            return
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(content)
            held.append(connection)
        if len(held) > 500:
            held.pop(0).close()
            time.sleep(0.002)


class Person:
    """Somebody who knows the token, and answers on one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def post(self, path: str, **body: Any) -> Any:
        """Send something; as browsers do, once more where an idle connection was ended."""
        head = {"Authorization": f"Bearer {self._token}", "Host": "localhost", "Content-Type": "application/json"}
        for tries in range(5):
            try:
                self._line.request("POST", path, json.dumps(body), head)
                return json.loads(self._line.getresponse().read())
            except (http.client.HTTPException, OSError):
                self._line.close()
                if tries == 4:
                    raise
        return None

    def answer(self) -> float:
        """Answer a question, and return the seconds that it took."""
        questions = []
        while not questions:
            questions = self.post("/api/lease", n=1)["questions"]
        began = time.perf_counter()
        done = self.post("/api/answers", answers=[{"question": questions[0]["id"], "label": "cat"}])
        assert done["accepted"] == [questions[0]["id"]]
        return time.perf_counter() - began


def measure(port: int, token: str, attack: Callable[[], Iterator[bytes]] | None, seconds: float) -> dict[str, Any]:
    """Answer for some seconds while an attack goes on, with a newcomer now and then."""
    stop = multiprocessing.Event()
    strangers = [] if attack is None else [
        multiprocessing.Process(target=flood if attack in FLOODS else wait, args=(port, attack, stop), daemon=True)
        for _ in range(2)
    ]  # fmt: skip
    for stranger in strangers:
        stranger.start()
    known, took, newcomers = Person(port, token), [], []
    time.sleep(1.0 if strangers else 0.0)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(took) < 20:
        took.append(known.answer())
        newcomers.append(Person(port, token).answer())
    stop.set()
    for stranger in strangers:
        stranger.join(20)
        stranger.kill()
    ms = sorted(1000 * one for one in took + newcomers)
    return {
        "attack": "none" if attack is None else (attack.__name__).replace("_", " "), "answers": len(ms),
        "median ms": round(statistics.median(ms), 1), "p95 ms": round(ms[int(0.95 * len(ms))], 1),
        "longest ms": round(ms[-1]),
    }  # fmt: skip


def main() -> int:
    """Serve, attack, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["BELA_CONFIG"] = temporary  # for links that are of no use afterwards
        data = Path(temporary) / "pets.csv"
        with data.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["name", "number"])
            writer.writerows((f"pet {row} {'cat' if row % 3 else 'dog'}", row % 7) for row in range(N_ROWS))
        command = [sys.executable, "-m", "bela", "serve", str(data), "--method", "random", "--port", "0",
                   "--no-browser", "--classes", "cat,dog"]  # fmt: skip
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD)
        assert server.stdout is not None
        try:
            found = next(m for line in server.stdout if (m := re.search(r":(\d+)/\?token=([\w-]+)", line)))
            port, token = int(found[1]), found[2]
            table = []
            for attack in (None, *FLOODS, *WAITING):
                table.append(measure(port, token, attack, options.seconds))
                print(table[-1], flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            server.stdout.close()
    write_table(HERE / "README.md", "attacks", table)
    return int(max(row["longest ms"] for row in table) > 1000 * BAR)


if __name__ == "__main__":
    sys.exit(main())
