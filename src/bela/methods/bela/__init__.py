"""The certified method: a learner that sees all rows, and random draws that bound its errors."""

from bela.methods.bela._labelling import make_learner
from bela.methods.bela._method import Bela

__all__ = ["Bela", "make_learner"]
