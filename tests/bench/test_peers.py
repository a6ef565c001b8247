"""Other programs: their files stand by themselves, and the loop that asks them writes down what they reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bela.bench import _memory, _peers
from bela.bench._environments import load_peer, peer_file, peer_names, run_or_say
from bela.bench.peers import _loop

pytestmark = pytest.mark.usefixtures("own_cache")
RANDOM_PEER = textwrap.dedent(
    """
    import numpy as np
    class Learner:
        def __init__(self, X, n_classes, rows, labels, seed):
            self.X, self.rng, self.rows, self.labels = X, np.random.default_rng(seed), list(rows), list(labels)
        def ask(self, n):
            if MORE is not None and len(self.rows) >= MORE:
                raise RuntimeError("it has had enough")
            return self.rng.choice(np.setdiff1d(np.arange(len(self.X)), self.rows), n, replace=False)
        def tell(self, rows, labels):
            self.rows += list(rows)
            self.labels += list(labels)
        def label(self):
            from sklearn.linear_model import LogisticRegression
            return LogisticRegression(max_iter=500).fit(self.X[self.rows], self.labels).predict(self.X)
    LEARNER = Learner
    """
)


@pytest.fixture
def loop(tmp_path: Path) -> Any:
    """Run the loop with a peer of the test's own, as another Python would, and return the lines that it writes."""
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "data.npz", X=(X / 16).astype(np.float32), y=y)

    def run(source: str, **job: object) -> list[dict[str, Any]]:
        peer, out = tmp_path / "peer.py", tmp_path / "out.jsonl"
        peer.write_text(source, encoding="utf-8")
        whole = {
            "peer": str(peer), "memory": str(_memory.__file__), "data": str(tmp_path / "data.npz"), "out": str(out),
            "marks": [50, 100], "limit": 60, "seed": 0, "most_mb": 8e3, **job,
        }  # fmt: skip
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([sys.executable, "-P", str(_loop.__file__), json.dumps(whole)], check=True, env=environment)
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    return run


def test_a_peer_is_judged_at_each_mark(loop: Any) -> None:
    """The share of all rows that are right grows, with the same seed to the same; asked rows count as right."""
    lines = loop("MORE = None\n" + RANDOM_PEER)
    assert [(line["mark"], line["asked"]) for line in lines] == [(50, 50), (100, 100)]
    assert 0.5 < lines[0]["right"] < lines[1]["right"] < 1
    assert [line["right"] for line in loop("MORE = None\n" + RANDOM_PEER)] == [line["right"] for line in lines]
    ignorant = RANDOM_PEER.replace("def label(self):", "def label(self):\n        return np.full(len(self.X), -5)")
    assert loop("MORE = None\n" + ignorant)[0]["right"] == pytest.approx(50 / 1797)


def test_what_was_reached_is_kept_when_a_peer_fails(loop: Any) -> None:
    """Points before an error stay, and its words come last; so it is when the time is over."""
    first, last = loop("MORE = 60\n" + RANDOM_PEER)
    assert first["mark"] == 50
    assert last["error"] == "RuntimeError: it has had enough"
    [stopped] = loop("MORE = None\n" + RANDOM_PEER, limit=0)
    assert stopped["stopped"] == "time"
    assert stopped["asked"] == 11


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_memory_is_limited(loop: Any) -> None:
    """A peer that wants more memory than there is for it is told so, and nobody else suffers."""
    greedy = RANDOM_PEER.replace("return self.rng.choice", "np.ones(10**9)\n        return self.rng.choice")
    [line] = loop("MORE = None\n" + greedy, most_mb=3e3)
    assert "Unable to allocate" in line["error"]


@pytest.mark.parametrize("name", peer_names())
def test_the_file_of_a_peer_stands_by_itself(name: str) -> None:
    """It says how it is installed and what is used of it, and knows nothing of BELA."""
    peer = load_peer(name)
    assert all(isinstance(word, str) for words in peer.INSTALL for word in words)
    assert peer.PACKAGE in " ".join(word for words in peer.INSTALL for word in words)
    assert peer.ABOUT
    assert all(hasattr(peer.LEARNER, verb) for verb in ("ask", "tell", "label"))
    assert "import bela" not in peer_file(name).read_text(encoding="utf-8")
    assert "from bela" not in peer_file(name).read_text(encoding="utf-8")


def test_a_peer_that_does_not_install_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last words of pip are the remark of its row."""
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "no-such-package-as-this"]  # an environment takes long
    monkeypatch.setattr(_peers, "make_environment", lambda name: run_or_say(pip, {}))
    row = _peers.measure_peer(data="digits", peer="absent", seed=0, answers=50, limit_s=5)
    assert str(row["error"]).startswith("not installed: ")
    assert "no-such-package-as-this" in str(row["error"])


@pytest.mark.parametrize("peer", ["bela", "pac"])
def test_ours_are_measured_at_the_same_marks(peer: str) -> None:
    """Share right and share certified after the same numbers of answers, no more certified than is right here."""
    row = _peers.measure_peer(data="digits", peer=peer, seed=0, answers=100, limit_s=60)
    for mark in (50, 100):
        assert 0 <= row[f"lower_{mark}"] <= row[f"right_{mark}"] <= 1
    assert row["asked"] == 100
    assert row["right_100"] > 0.6
