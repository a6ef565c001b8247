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
from bela.learning._transductive import TransductiveLearner
from bela.records import AnyArray, BoolArray, FloatArray, IntArray, Json
from bela.storage import find_kept, keep

SAMPLE_ROWS = 60_000  # no more than `MOST_MARKS`
LEAN_VERSION = 1  # to be raised with every change of what rows lean on


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledFit(Fit):
    """A fit in which the probabilities are about some rows, `local`, and all others lean on the first of these.

    What it says of all rows is worked out block by block when it is asked for, in a few bytes each.
    """

    local: IntArray
    lean: AnyArray

    @property
    def n_rows(self) -> int:
        """How many rows it is about."""
        return len(self.lean)

    @property
    def labels(self) -> IntArray:
        """The likeliest class of every row."""
        return np.asarray(self.scan(1.0)["code"])

    @property
    def sure(self) -> Floats:
        """How sure the label of every row is, in steps: what rows are put in order by."""
        return np.asarray(self.scan(1.0)["sure"], np.float32)

    def chances(self, power: float) -> FloatArray:
        """Return the chance of each label, with all probabilities taken to a power first."""
        return np.asarray(self.scan(power)["chance"], np.float32)

    @property
    def left_out_sure(self) -> Floats:
        """How sure each answer is, by models that had not seen it, in the same steps as `sure`."""
        return np.asarray(in_steps(margins(self.out_of_fold)), np.float32)

    def scan(self, power: float) -> AnyArray:
        """Return the code of the likeliest class of every row, how sure it is in steps, and its chance."""
        code = np.int16 if int(np.max(self.classes)) < 2**15 else np.int32
        dtype = np.dtype([("code", code), ("sure", "<u2"), ("chance", "<f2")])

        def say(proba: Floats) -> AnyArray:
            said = np.empty(len(proba), dtype)
            said["code"] = np.asarray(self.classes)[proba.argmax(axis=1)]
            said["sure"] = in_steps(margins(proba))
            powers = np.power(np.maximum(proba, 1e-9), np.float32(power))
            said["chance"] = powers.max(axis=1) / powers.sum(axis=1)
            return said

        def lean(rows: slice) -> AnyArray:
            on, weight = self.lean["on"][rows], self.lean["weight"][rows] / FULL
            proba: Floats = self.proba[on[:, 0]] * weight[:, :1]
            for i in range(1, on.shape[1]):
                proba += self.proba[on[:, i]] * weight[:, i : i + 1]
            return say(proba)

        found = scan_blocks(self.n_rows, lean)
        found[self.local] = say(self.proba)
        return found


def in_steps(sure: Floats) -> AnyArray:
    """Return numbers between 0 and 1 as one of 2^16 steps, the finer the closer they are to 1."""
    left = np.clip(1 - sure, 0, 1).astype(np.float32)
    return np.asarray(2**16 - 1 - (left.view(np.uint32) >> np.uint32(15)), np.uint16)


class SampledLearner:
    """Labels all rows from a few answers, as `TransductiveLearner` does, by way of a sample of them.

    What the rows lean on may be `kept` in a folder, under a digest of what their features depend on.
    """

    def __init__(self, rows: LearnerRows, *, seed: int = 0, kept: tuple[Path, str] | None = None) -> None:
        self._rows, self._seed, self._kept = rows, seed, kept
        rng = np.random.default_rng([seed, rows.n_rows, 8])
        self.sample: Rows = np.sort(rng.choice(rows.n_rows, min(SAMPLE_ROWS, rows.n_rows), replace=False))
        self._preparing, self._leaning = threading.Lock(), threading.Lock()  # nobody waits for a scan who needs none
        self._learner: TransductiveLearner | None = None
        self._lean: AnyArray | None = None
        self._marks: Marks | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._rows.n_rows

    @property
    def learner(self) -> TransductiveLearner:
        """The learner of the sample, made when first wanted, by whoever wants it first."""
        with self._preparing:
            if self._learner is None:
                self._learner = TransductiveLearner(self._rows.take(self.sample), seed=self._seed)
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
        """Label every row from answers: rows, each once, and the class code of each; and from what a helper says."""
        self.prepare()
        more = np.setdiff1d(rows if helped is None else np.concatenate([rows, helped.rows]), self.sample)
        learner, local = self.learner, np.concatenate([self.sample, more])
        if len(more):
            others = self._rows.take(more)
            learner = learner.with_rows(others, *self.marks.lean(others.dense))
        if helped is not None:
            helped = Answers(rows=self._local(helped.rows, more), codes=helped.codes)
        fit = learner.fit(self._local(rows, more), codes, helped=helped)
        return SampledFit(
            rows=np.asarray(rows, np.intp), classes=fit.classes, proba=fit.proba, out_of_fold=fit.out_of_fold,
            loss=fit.loss, weights=fit.weights, local=local, lean=self.lean,
        )  # fmt: skip

    def _local(self, rows: IntArray, more: IntArray) -> Rows:
        """Return where each row is: in the sample, or behind it."""
        place = np.minimum(np.searchsorted(self.sample, rows), len(self.sample) - 1)
        return np.where(self.sample[place] == rows, place, len(self.sample) + np.searchsorted(more, rows))
