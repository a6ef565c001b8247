"""Ways to choose questions, cut the data and label the rest: one protocol."""

from bela.methods._bela import Bela
from bela.methods._bela_paper import BelaPaper
from bela.methods._hsal import HSAL
from bela.methods._margin import MarginSampling
from bela.methods._pac import PacLabels
from bela.methods._plal import PLAL
from bela.methods._random import RandomSampling
from bela.methods._registry import DEFAULT_METHOD, METHODS, make_method

__all__ = [
    "DEFAULT_METHOD",
    "HSAL",
    "METHODS",
    "PLAL",
    "Bela",
    "BelaPaper",
    "MarginSampling",
    "PacLabels",
    "RandomSampling",
    "make_method",
]
