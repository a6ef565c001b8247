"""A campaign against a known truth: how many labels were right after so many answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bela.campaign import Campaign
from bela.oracles import TruthOracle
from bela.records import Point, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The result of a campaign, and what came before it."""

    result: Result
    trajectory: tuple[Point, ...]
    accuracy: float
    seconds: float

    def asked_until(self, share: float, curve: str) -> int | None:
        """Return the answers after which `curve` ("accuracy" or "lower") first reached a share, None if never."""
        return next((point.asked for point in self.trajectory if getattr(point, curve) >= share), None)

    @property
    def n_violations(self) -> int:
        """Count the points where the bound was above the truth."""
        return sum(point.lower > point.accuracy + 1e-12 for point in self.trajectory)


def simulate(
    X: Any,
    truth: Any,
    *,
    every: float = 0.005,
    progress: Callable[[Point], object] | None = None,
    **campaign_options: Any,
) -> Simulation:
    """Run a campaign with the true labels as its oracle, and compare its labels with them as it goes.

    Parameters
    ----------
    X, campaign_options
        As for `Campaign`.
    truth
        The true label of each row.
    every
        Take a point each time this share of the rows has been asked, more often at the start, and after each revision.
    progress
        Called with each point.
    """
    start = time.perf_counter()
    campaign = Campaign(X, **campaign_options)
    n_rows = campaign.source.n_rows
    oracle = TruthOracle(truth, n_rows)
    step = max(1, int(every * n_rows))
    trajectory: list[Point] = []

    next_point, n_revisions = 1, 0
    while campaign.stop_reason is None:
        campaign.step(oracle, min(campaign.method.batch, max(1, next_point - campaign.n_asked)))
        revised = campaign.method.n_revisions > n_revisions
        if revised or campaign.n_asked >= next_point or campaign.stop_reason is not None:
            n_revisions = campaign.method.n_revisions
            next_point = campaign.n_asked + max(1, min(step, campaign.n_asked // 20))
            if campaign.n_asked and (not trajectory or campaign.n_asked > trajectory[-1].asked):
                trajectory.append(_measure(campaign, oracle))
                if progress is not None:
                    progress(trajectory[-1])
    if not trajectory:
        trajectory.append(_measure(campaign, oracle))
    result = campaign.result()
    return Simulation(
        result=result,
        trajectory=tuple(trajectory),
        accuracy=float((result.labels == oracle.labels).mean()),
        seconds=time.perf_counter() - start,
    )


def _measure(campaign: Campaign, oracle: TruthOracle) -> Point:
    result = campaign.result()
    n_leaves = int(result.leaf.max()) + 1
    accuracy = float(np.mean(result.labels == oracle.labels))
    return Point(
        asked=campaign.n_asked,
        lower=result.certificate.lower,
        accuracy=accuracy,
        leaves=n_leaves,
        forecast=campaign.forecast,
    )
