"""Uniform questions, a classifier, a hold-out: what a practitioner does today."""

from __future__ import annotations

from bela.methods._holdout import HoldoutMethod


class RandomSampling(HoldoutMethod):
    """Ask rows in random order; parameters and certificate are those of `HoldoutMethod`."""

    name = "random"

    def _next_training(self) -> int | None:
        return self._next_uniform()
