"""The certificate of whole runs, judged by how often it was ever above the truth; and the same with broken rules.

The full version is `python benchmarks/coverage.py`.
"""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from bela import Campaign
from bela.methods import METHODS
from bela.methods.bela import Bela

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_certificate_is_ever_above_the_truth_in_at_most_the_share_alpha_of_runs(alpha):
    """Populations, learners and manners of all kinds, a look after every answer: failures are not more than chance."""
    outcomes = [RUNS.run(design, alpha, seed) for seed, design in enumerate(RUNS.DESIGNS.values(), start=100)]
    assert not RUNS.refuted(sum(outcome.failed for outcome in outcomes), len(outcomes), alpha)
    # It is no feat to be never wrong if nothing is ever said.
    assert sum(outcome.lower > outcome.n_asked / outcome.n_rows + 0.05 for outcome in outcomes) > 0.6 * len(outcomes)


def excess_of_wrong_draws(method: type[Bela]) -> float:
    """How many more of the draws of the last looks are wrong than of the rows that they stand for, in deviations."""
    more, variance = 0.0, 0.0
    for seed in range(400, 406):
        X, y = RUNS.more_of_both(np.random.default_rng(seed))
        with patch.dict(METHODS._loaded, {"bela": method}):
            campaign = Campaign(X, seed=seed, learner=RUNS.Surest(X, seed))
        while campaign.n_asked < 0.83 * len(y):
            for question in campaign.ask():
                campaign.tell(question.id, int(y[question.row]))
        certificates, epoch = campaign.method.certificates, campaign.method.epoch
        look = certificates.bounds[-1].look
        wrong = np.array(campaign.classes)[certificates.revisions[look.revision].codes] != y
        drawn = [row for row in epoch.drawn[: look.n_draws] if row in look.population]
        n, population, share = len(drawn), len(look.population), float(wrong[look.population.mask()].mean())
        more += wrong[drawn].sum() - n * share
        variance += n * share * (1 - share) * (population - n) / (population - 1)
    return more / math.sqrt(variance)


def test_draws_are_a_fair_sample_only_if_training_does_not_pass_over_them():
    """A drawn row that is picked joins training; where it is passed over, too many easy rows are left to the draws."""
    assert abs(excess_of_wrong_draws(Bela)) < 3
    assert excess_of_wrong_draws(RUNS.PassingOver) < -4


@pytest.mark.parametrize("rule", RUNS.BROKEN)
def test_a_broken_rule_shows(rule):
    """Each rule of honesty is needed: broken, in a design where it must show, most runs fail; kept, few do."""
    broken, design = RUNS.BROKEN[rule]
    n_broken = n_runs = 0
    while n_runs < 10 and RUNS.p_value(n_broken, n_runs or 1, 0.2) >= 1e-4:
        n_broken += RUNS.run(design, 0.2, 200 + n_runs, broken).failed
        n_runs += 1
    assert RUNS.p_value(n_broken, n_runs, 0.2) < 1e-4
    n_honest = sum(RUNS.run(design, 0.2, seed).failed for seed in range(200, 200 + n_runs))
    assert not RUNS.refuted(n_honest, n_runs, 0.2)
    assert n_honest < n_broken - 3
