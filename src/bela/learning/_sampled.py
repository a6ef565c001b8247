"""The learner where there are too many rows for a graph of all: it learns on a sample, and all others lean on that.

Which rows are in the sample follows from the seed and from how many rows there are. Answers to other rows are learnt
from as well: for a fit, they join the sample. One scan of all rows finds what each leans on; after that, a fit takes as
long as one of the sample, and a few operations a row.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bela.data import scan_blocks, writing
from bela.features import LearnerRows
from bela.learning._fit import Fit
from bela.learning._graph import Floats, Rows
from bela.learning._helped import Answers
from bela.learning._leaning import FULL, Marks
from bela.learning._questions import Picks, margins
from bela.learning._scanned import ScannedFit, in_steps, said_of
from bela.learning._transductive import TransductiveLearner
from bela.learning._voices import Voice, add_voices
from bela.records import AnyArray, BoolArray, FloatArray, IntArray, Json
from bela.storage import find_kept, keep

SAMPLE_ROWS = 60_000  # no more than `MOST_MARKS`
LEAN_VERSION = 1  # to be raised with every change of what rows lean on


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledFit(ScannedFit, Fit):
    """A fit in which the probabilities are about some rows, `local`, and all others lean on the first of these.

    They lean on what is said `by_place`; what was predicted of a row is told by `voices`, for the row itself.
    """

    local: IntArray
    lean: AnyArray
    by_place: Floats
    voices: Sequence[Voice] = ()

    @property
    def n_rows(self) -> int:
        """How many rows it is about."""
        return len(self.lean)

    @property
    def left_out_sure(self) -> Floats:
        """How sure each answer is, by models that had not seen it, in the same steps as `sure`."""
        return np.asarray(in_steps(_sure_of(self.out_of_fold)), np.float32)

    def scan(self, power: float) -> AnyArray:
        """Return the code of the likeliest class of every row, how sure it is in steps, and its chance."""
        classes = np.asarray(self.classes)
        largest = max(int(np.max(some, initial=0)) for some in (classes, *(voice.codes for voice in self.voices)))

        def say(proba: Floats, names: IntArray) -> AnyArray:
            best = proba.argmax(axis=1)
            powers = np.power(np.maximum(proba, 1e-9), np.float32(power))
            chances = powers.max(axis=1) / powers.sum(axis=1)
            return said_of(names[np.arange(len(names)), best], _sure_of(proba), chances, largest)

        def lean(rows: slice) -> AnyArray:
            on, weight = self.lean["on"][rows], self.lean["weight"][rows] / FULL
            proba: Floats = self.by_place[on[:, 0]] * weight[:, :1]
            for i in range(1, on.shape[1]):
                proba += self.by_place[on[:, i]] * weight[:, i : i + 1]
            if self.voices:
                return say(*add_voices(proba, classes, self.voices, rows))
            return say(proba, np.broadcast_to(classes, proba.shape))

        found = scan_blocks(self.n_rows, lean)
        found[self.local] = say(self.proba, np.broadcast_to(classes, self.proba.shape))
        return found


def _sure_of(proba: Floats) -> Floats:
    """Return the margin of each row, and of one class that of a certain label: others have more columns, or may."""
    return margins(proba) if proba.shape[1] > 1 else np.ones(len(proba), np.float32)


class SampledRows:
    """Some of very many rows, which follow from the seed and from how many there are: `rows`, in order."""

    def __init__(self, n_rows: int, seed: int) -> None:
        rng = np.random.default_rng([seed, n_rows, 8])
        self.rows: Rows = np.sort(rng.choice(n_rows, min(SAMPLE_ROWS, n_rows), replace=False))

    def others(self, rows: IntArray, helped: Answers | None) -> Rows:
        """Return the rows that are not in it, each once, of answers and of what a helper has spoken about."""
        return np.setdiff1d(rows if helped is None else np.concatenate([rows, helped.rows]), self.rows)

    def place(self, rows: IntArray, more: IntArray) -> Rows:
        """Return where each row is: in the sample, or among those that come behind it."""
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, place, len(self.rows) + np.searchsorted(more, rows))


class SampledLearner:
    """Labels all rows from a few answers, as `TransductiveLearner` does, by way of a sample of them.

    What the rows lean on may be `kept` in a folder, under a digest of what their features depend on. `scores` are those
    of predictions.
    """

    def __init__(
        self, rows: LearnerRows, *, seed: int = 0, kept: tuple[Path, str] | None = None,
        scores: Sequence[FloatArray | None] = (),
    ) -> None:  # fmt: skip
        self._rows, self._seed, self._kept, self._scores = rows, seed, kept, tuple(scores)
        self._sample = SampledRows(rows.n_rows, seed)
        self._preparing, self._leaning = threading.Lock(), threading.Lock()  # nobody waits for a scan who needs none
        self._learner: TransductiveLearner | None = None
        self._lean: AnyArray | None = None
        self._marks: Marks | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._rows.n_rows

    @property
    def sample(self) -> Rows:
        """The rows that are learnt on, in order."""
        return self._sample.rows

    @property
    def learner(self) -> TransductiveLearner:
        """The learner of the sample, made when first wanted, by whoever wants it first."""
        with self._preparing:
            if self._learner is None:
                scores = take_scores(self._scores, self.sample)
                features = self._rows.take(self.sample)
                self._learner = TransductiveLearner(features, seed=self._seed, scores=scores, lean=True)
            return self._learner

    @property
    def marks(self) -> Marks:
        """The sample, for others to lean on."""
        dense = self.learner.dense
        with self._preparing:
            if self._marks is None:
                self._marks = Marks.of(dense, self._seed)
            return self._marks

    @property
    def lean(self) -> AnyArray:
        """What every row leans on, found when first wanted: a scan of all rows."""
        marks = self.marks
        with self._leaning:
            if self._lean is None:
                self._lean = self._rows.scan(marks) if self._kept is None else self._found(*self._kept, marks)
            return self._lean

    def _found(self, cache: Path, key: str, marks: Marks) -> AnyArray:
        """Return what is kept of an earlier scan of the same rows, or scan them and keep it."""

        def build(folder: Path) -> dict[str, Json]:
            np.save(folder / "lean.npy", self._rows.scan(marks))
            return {}

        name = hashlib.sha256(f"{LEAN_VERSION} {key} {self._seed} {len(self.sample)}".encode()).hexdigest()
        found = find_kept(cache, "lean", name)
        if found is None:
            with writing(cache, "what the rows lean on"):
                found = keep(cache, "lean", name, build)
        return np.asarray(np.load(found[0] / "lean.npy", mmap_mode="r"))

    def prepare(self) -> None:
        """Make what every fit needs, if it is not there."""
        self.learner.prepare()
        self.lean  # noqa: B018 - made by being looked at

    def first_questions(self) -> IntArray:
        """Rows to ask before anything is known: they cover the data."""
        return np.asarray(self.sample[self.learner.first_questions()])

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Rows of the sample to ask after a fit: where it is in doubt, and a share at random."""
        inside = Fit(
            rows=fit.rows, classes=fit.classes, proba=fit.proba[: len(self.sample)], out_of_fold=fit.out_of_fold,
            loss=fit.loss, weights=fit.weights,
        )  # fmt: skip
        picks = self.learner.next_questions(inside, asked[self.sample], n, uniform_share=uniform_share, rng=rng)
        return Picks(rows=self.sample[picks.rows], uniform=picks.uniform)

    def fit(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> SampledFit:
        """Label every row from answers: rows, each once, and the class code of each.

        And from what was predicted, a class code for each row, and what a helper says, as far as answers bear it out.
        """
        self.prepare()
        more = self._sample.others(rows, helped)
        learner, local = self.learner, np.concatenate([self.sample, more])
        if len(more):
            others = self._rows.take(more)
            learner = learner.with_rows(others, *self.marks.lean(others.dense), take_scores(self._scores, more))
        if helped is not None:
            helped = Answers(rows=self._sample.place(helped.rows, more), codes=helped.codes)
        here = [np.asarray(some[local]) for some in predicted]
        weighed = learner.weigh(self._sample.place(rows, more), codes, here, helped=helped)
        voices = [
            Voice(codes=predicted[i], scores=self._scores[i], belief=belief, weight=weight)
            for i, belief, weight in weighed.voices
        ]
        fit = weighed.fit
        return SampledFit(
            rows=np.asarray(rows, np.intp), classes=fit.classes, proba=fit.proba, out_of_fold=fit.out_of_fold,
            loss=fit.loss, weights=fit.weights, local=local, lean=self.lean, by_place=weighed.by_place(), voices=voices,
        )  # fmt: skip


def take_scores(scores: Sequence[FloatArray | None], rows: IntArray) -> list[FloatArray | None]:
    """Return the scores that predictions have of some rows, as they are ranked."""
    return [None if some is None else np.asarray(some[rows], float) for some in scores]
