"""The certificate of whole runs, judged by how often it was ever above the truth; and the same with broken rules.

The full version is `python benchmarks/coverage.py`.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_certificate_is_ever_above_the_truth_in_at_most_the_share_alpha_of_runs(alpha):
    """Populations, learners and manners of all kinds, a look after every answer: failures are not more than chance."""
    outcomes = [RUNS.run(design, alpha, seed) for seed, design in enumerate(RUNS.DESIGNS.values(), start=100)]
    assert not RUNS.refuted(sum(outcome.failed for outcome in outcomes), len(outcomes), alpha)
    # It is no feat to be never wrong if nothing is ever said.
    assert sum(outcome.lower > outcome.n_asked / outcome.n_rows + 0.05 for outcome in outcomes) > 0.6 * len(outcomes)


@pytest.mark.parametrize("rule", RUNS.BROKEN)
def test_a_broken_rule_shows(rule):
    """Each rule of honesty is needed: broken, in a design where it must show, most runs fail; kept, few do."""
    broken, design = RUNS.BROKEN[rule]
    n_broken = sum(RUNS.run(design, 0.2, seed, broken).failed for seed in range(200, 210))
    assert RUNS.p_value(n_broken, 10, 0.2) < 1e-4
    n_honest = sum(RUNS.run(design, 0.2, seed).failed for seed in range(200, 210))
    assert not RUNS.refuted(n_honest, 10, 0.2)
    assert n_honest < n_broken - 3
