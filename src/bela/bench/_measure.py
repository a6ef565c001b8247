"""What all measurements share: the unit of cost, a campaign that is timed, and what machine it ran on."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from bela.campaign import Campaign
from bela.records import AnyArray, FloatArray

WIDE = 500  # columns of the W of a wide pass
_BLOCK = 1 << 16


def one_pass(X: FloatArray) -> float:
    """Return the seconds of one pass: X @ W for ten columns, one thread, median of 20.

    Of the processor, not of the clock: with one thread they are the same unless other processes get in between.
    """
    W = np.random.default_rng(0).random((X.shape[1], 10), dtype=np.float32)
    seconds = []
    for _ in range(20):
        start = time.process_time()
        X @ W
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def wide_pass(X: FloatArray) -> float:
    """Return the seconds of the processor that X @ W takes for W of 500 columns, block by block, median of 3."""
    W = np.random.default_rng(0).random((X.shape[1], WIDE), dtype=np.float32)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        for first in range(0, len(X), _BLOCK):
            X[first : first + _BLOCK] @ W
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


@dataclass(slots=True, kw_only=True)
class Timed:
    """What a campaign took: seconds of the processor for each `ask` between revisions, `tell` and revision."""

    asks: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)
    revisions: list[float] = field(default_factory=list)
    points: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The share right and the share certified, by the number of answers."""

    def to_row(self) -> dict[str, float]:
        """Return the times as the columns of a table."""
        row: dict[str, float] = {}
        for name, seconds in (("ask", self.asks), ("tell", self.tells)):
            for what, share in (("p50", 0.5), ("p99", 0.99)):
                row[f"{name}_{what}_ms"] = round(1e3 * float(np.quantile(seconds or [0.0], share)), 3)
        return row | {"revisions": len(self.revisions), "revision_longest_s": round(max(self.revisions, default=0), 2)}


def time_campaign(
    campaign: Campaign, truth: AnyArray, *, stop_after: int | None = None, marks: Collection[int] = ()
) -> Timed:
    """Answer a campaign one question at a time until it stops, and look at its labels after so many answers.

    The time of a question that makes a revision is that of the revision; what the looks take is counted nowhere.
    """
    timed = Timed()
    while campaign.stop_reason is None and (stop_after is None or campaign.n_asked < stop_after):
        before, start = campaign.book.n_revisions, time.process_time()
        questions = campaign.ask()
        took = time.process_time() - start
        if not questions:
            break
        (timed.asks if campaign.book.n_revisions == before and campaign.n_asked else timed.revisions).append(took)
        start = time.process_time()
        campaign.tell(questions[0].id, truth[questions[0].row].item())
        timed.tells.append(time.process_time() - start)
        if campaign.n_asked in marks:
            timed.points[campaign.n_asked] = share_right(campaign, truth), float(campaign.certificate.lower)
    return timed


def share_right(campaign: Campaign, truth: AnyArray) -> float:
    """Return the share of all rows that have their true label, those that were asked among them."""
    return float((campaign.result().labels == truth).mean())


def describe_machine() -> str:
    """Say in a line what this machine is, as far as it tells."""
    from bela import __version__

    memory = memory_gb()
    parts = [
        _processor(),
        f"{os.cpu_count()} processors",
        "" if memory is None else f"{memory:.0f} GB of memory",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")),
        f"BELA {__version__}",
    ]
    return ", ".join(part for part in parts if part)


def memory_gb() -> float | None:
    """Return how much memory the machine has, in 10^9 bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
