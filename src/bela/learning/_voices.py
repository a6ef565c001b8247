"""What was predicted of a row speaks for that row alone: it is added to what is said of the place where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bela.learning._belief import Belief
from bela.learning._graph import Floats
from bela.learning._stack import softmax
from bela.records import UNKNOWN, FloatArray, IntArray

_NEVER = np.float32(-1e9)
_LEAST = np.float32(1e-30)  # chance of any class by place, whose log is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A prediction of all rows: the class codes, their scores if any, and how far it is believed."""

    codes: IntArray
    scores: FloatArray | None
    belief: Belief
    weight: float


def add_voices(by_place: Floats, classes: IntArray, voices: Sequence[Voice], rows: slice) -> tuple[Floats, IntArray]:
    """Return probabilities of some rows by place and by what was predicted of each, and the class of each column.

    A column stands for one class. Where a class was predicted that none of the rows has that were learnt on, there is
    one more column for each prediction, of classes that differ from row to row: nothing is known of it but that.
    """
    scores = np.log(np.maximum(by_place, _LEAST))
    more = np.repeat(scores.max(axis=1, keepdims=True), len(voices), axis=1)
    said = [np.asarray(voice.codes[rows]) for voice in voices]
    columns = [_columns_of(classes, codes) for codes in said]
    others = np.stack([np.where(column == len(classes), codes, UNKNOWN)
                       for column, codes in zip(columns, said, strict=True)], axis=1)  # fmt: skip
    some = np.flatnonzero((others != UNKNOWN).any(axis=0))
    for voice, codes, column in zip(voices, said, columns, strict=True):
        right = voice.belief.judge(column, None if voice.scores is None else voice.scores[rows])
        chances = voice.belief.log_chances_of(column, right)
        scores += np.float32(voice.weight) * chances
        if len(some):  # a class without a column is what was said, or nothing speaks for it
            silent = np.where(codes == UNKNOWN, chances.max(axis=1), voice.belief.least_log_chance)
            of_others = np.where(others == codes[:, None], np.log(right)[:, None], silent[:, None])
            more += (voice.weight * of_others).astype(np.float32)
    names = np.broadcast_to(classes, scores.shape)
    if len(some):
        for j in some.tolist():  # what two predictions say is one class
            others[(others[:, :j] == others[:, j : j + 1]).any(axis=1), j] = UNKNOWN
        scores = np.concatenate([scores, np.where(others == UNKNOWN, _NEVER, more)[:, some]], axis=1)
        names = np.concatenate([names, others[:, some]], axis=1)
    return np.asarray(softmax(scores), np.float32), names


def _columns_of(classes: IntArray, codes: IntArray) -> IntArray:
    """Return the column of each class code, the number of columns where it has none, UNKNOWN for UNKNOWN."""
    place = np.minimum(np.searchsorted(classes, codes), len(classes) - 1)
    return np.where(codes == UNKNOWN, UNKNOWN, np.where(classes[place] == codes, place, len(classes)))
