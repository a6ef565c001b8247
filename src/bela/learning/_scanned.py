"""What a fit says of very many rows: worked out block by block when it is asked for, in a few bytes each."""

from __future__ import annotations

import numpy as np

from bela.learning._graph import Floats
from bela.records import AnyArray, FloatArray, IntArray


class ScannedFit:
    """The part of a fit that is about all rows, where only some of them have probabilities in memory."""

    __slots__ = ()

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

    def say(self, power: float) -> tuple[IntArray, FloatArray]:
        """Return the label of every row and its chance, by one scan."""
        said = self.scan(power)
        return np.asarray(said["code"]), np.asarray(said["chance"], np.float32)

    def scan(self, power: float) -> AnyArray:
        """Return the code of the likeliest class of every row, how sure it is in steps, and its chance."""
        raise NotImplementedError


def said_of(codes: IntArray, sure: Floats, chances: FloatArray, largest: int) -> AnyArray:
    """Return what is said of rows as a record each, in which there is room for codes up to the largest."""
    code = np.int16 if largest < 2**15 else np.int32
    said = np.empty(len(codes), np.dtype([("code", code), ("sure", "<u2"), ("chance", "<f2")]))
    said["code"], said["sure"], said["chance"] = codes, in_steps(sure), chances
    return said


def in_steps(sure: Floats) -> AnyArray:
    """Return numbers between 0 and 1 as one of 2^16 steps, the finer the closer they are to 1."""
    left = np.clip(1 - sure, 0, 1).astype(np.float32)
    return np.asarray(2**16 - 1 - (left.view(np.uint32) >> np.uint32(15)), np.uint16)
