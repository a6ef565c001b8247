"""Count the files and functions of the project that one answer on the page passes through.

    python benchmarks/one_answer.py [--answers 20] [--list]

A small campaign is served by the application itself, without a network; after some answers, each further `POST
/api/answers` is traced. Counted are functions of this project that run before the response is there, comprehensions and
lambdas as part of the function that they stand in. Apart from the rest are what the method does (methods, learning,
bounds, and whatever these call) and what every request passes through (the gate, errors, how routes find the service).
The largest count is told, and how often the certificate was computed. The bar: 8 files, 40 functions, one certificate.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
from fastapi.testclient import TestClient

import bela
from bela.campaign import StoredCampaign, create_campaign
from bela.records import Certificate
from bela.web import LabelService, create_app

ROOT = Path(bela.__file__).parent
METHOD = ("methods", "learning", "bounds")
MIDDLEWARE = ("web/_security.py", "web/_errors.py", "web/_context.py")
MOST_FILES, MOST_FUNCTIONS, MOST_CERTIFICATES = 8, 40, 1


@dataclass
class Trace:
    """What ran during one answer: (file, function) of each kind, and how many certificates were made."""

    called: dict[str, set[tuple[str, str]]] = field(
        default_factory=lambda: {"answer": set(), "method": set(), "middleware": set()}
    )
    n_certificates: int = 0

    @property
    def n_files(self) -> int:
        """How many files an answer passes through."""
        return len({file for file, _ in self.called["answer"]})


class Tracer:
    """Follows the threads that deal with a request, and no others."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self._place = threading.local()

    def install(self) -> None:
        """Follow threads that begin from now on."""
        threading.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return") or not threading.current_thread().name.startswith(("AnyIO", "asyncio")):
            return
        depth = getattr(self._place, "depth", 0)  # of calls inside the method
        kind, name = kind_of(frame.f_code)
        if kind == "method" or depth:
            self._place.depth = max(0, depth + (1 if event == "call" else -1))
        if self.trace is None or event != "call":
            return
        if frame.f_code is Certificate.__post_init__.__code__:
            self.trace.n_certificates += 1
        if kind:
            self.trace.called["method" if depth else kind].add(name)


@cache
def kind_of(code: CodeType) -> tuple[str, tuple[str, str]]:
    """Return what a function is counted as, "" if it is not one of this project, and its file and name."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT):
        return "", ("", "")
    file = path.relative_to(ROOT).as_posix()
    name = ".".join(part for part in code.co_qualname.split(".") if not part.startswith("<"))
    kind = "method" if file.split("/")[0] in METHOD else "middleware" if file in MIDDLEWARE else "answer"
    return kind, (file, name)


def make_campaign(folder: Path) -> StoredCampaign:
    """Create a campaign on two clouds of points."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 5)) + 4 * (np.arange(2000) % 2)[:, None]
    np.save(folder / "points.npy", points)
    return create_campaign(folder / "points.npy", folder / "points.bela", classes=["even", "odd"], target=0.99)


def answer(client: TestClient, tracer: Tracer, stored: StoredCampaign) -> Trace:
    """Answer one question by the truth; return what that passes through."""
    leased: list[dict[str, int]] = []
    while not leased:
        leased = client.post("/api/lease", json={"n": 2}).json()["questions"]
        if not leased:  # a revision is being made
            stored.campaign.ask()
    label = ("even", "odd")[leased[0]["row"] % 2]
    body = {"answers": [{"question": leased[0]["id"], "label": label}]}
    tracer.trace = trace = Trace()
    client.post("/api/answers", json=body).raise_for_status()
    tracer.trace = None
    return trace


def measure(n_answers: int) -> list[Trace]:
    """Trace some answers."""
    tracer = Tracer()
    tracer.install()
    with tempfile.TemporaryDirectory() as folder, make_campaign(Path(folder)) as stored:
        service = LabelService(stored, team=True)
        client = TestClient(create_app(service, team=None), base_url="http://localhost")
        for _ in range(60):
            answer(client, tracer, stored)
            service.refresh()
        return [answer(client, tracer, stored) for _ in range(n_answers)]


def main() -> None:
    """Trace answers, and say what the largest count is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="Name the functions.")
    arguments = parser.parse_args()
    traces = measure(arguments.answers)
    most = max(traces, key=lambda trace: len(trace.called["answer"]))
    n_certificates = max(trace.n_certificates for trace in traces)
    n_functions = len(most.called["answer"])
    print(f"one answer: {most.n_files} files, {n_functions} functions, {n_certificates} certificates computed")
    for kind in ("method", "middleware"):
        called = most.called[kind]
        print(f"besides, {kind}: {len({file for file, _ in called})} files, {len(called)} functions")
    for file, count in sorted(Counter(file for file, _ in most.called["answer"]).items()):
        print(f"  {count:3} {file}")
        if arguments.list:
            names = sorted(name for where, name in most.called["answer"] if where == file)
            print(*(f"        {name}" for name in names), sep="\n")
    within = most.n_files <= MOST_FILES and n_functions <= MOST_FUNCTIONS and n_certificates <= MOST_CERTIFICATES
    sys.exit(0 if within else 1)


if __name__ == "__main__":
    main()
