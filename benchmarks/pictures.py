"""What it is worth that small moves of a picture count for less: labels right after so many answers, with and without.

    python benchmarks/pictures.py [--seeds 3] [--only mnist,fashion-mnist,photos]

Needs BELA_DATA. Questions are those of the learner alone, in doubt and spread over the data, every answer teaching.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from bela.bench import load_labelled
from bela.bench._data import load_features
from bela.features import _images
from bela.learning import TransductiveLearner

SIZES = (50, 100, 200, 400, 800)
NAMES = ("mnist", "fashion-mnist", "photos")


def right(X: np.ndarray, truth: np.ndarray, seed: int) -> Iterator[float]:
    """Yield the share of right labels after each number of answers."""
    learner, rng = TransductiveLearner(X, seed=seed), np.random.default_rng(seed)
    rows = np.asarray(learner.first_questions())
    for size in SIZES:
        if len(rows) < size:
            asked = np.isin(np.arange(len(truth)), rows)
            picks = learner.next_questions(fit, asked, size - len(rows), uniform_share=0.0, rng=rng)  # noqa: F821
            rows = np.concatenate([rows, picks.rows])
        fit = learner.fit(rows, truth[rows])
        labels = fit.labels.copy()
        labels[rows] = truth[rows]
        yield float(np.mean(labels == truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(NAMES))
    arguments = parser.parse_args()
    print("| | " + " | ".join(map(str, SIZES)) + " |\n|---|" + "---|" * len(SIZES))
    for name in arguments.only.split(","):
        truth = np.unique(np.asarray(load_labelled(name).truth), return_inverse=True)[1]
        for title, metric in (("without", lambda *_: None), ("with", _images._steady_metric)):
            with patch.object(_images, "_steady_metric", metric):
                X = load_features(name)
            means = np.mean([list(right(X, truth, seed)) for seed in range(arguments.seeds)], axis=0)
            print(f"| {name}, {title} | " + " | ".join(f"{mean:.1%}" for mean in means) + " |", flush=True)


if __name__ == "__main__":
    main()
