"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bela.errors import ParameterError
from bela.methods._bela import Bela
from bela.methods._bela_paper import BelaPaper
from bela.methods._hsal import HSAL
from bela.methods._margin import MarginSampling
from bela.methods._pac import PacLabels
from bela.methods._plal import PLAL
from bela.methods._random import RandomSampling
from bela.protocols import Method, Source
from bela.splitters import make_splitter

METHODS = ("bela", "bela-paper", "hsal", "margin", "pac", "plal", "random")
"""The names that `make_method` knows."""

DEFAULT_METHOD = "bela"


def make_method(
    name: str,
    source: Source,
    *,
    target: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    splitter: Any = "auto",
    **options: Any,
) -> Method:
    """Make a method by its name; each takes what it understands of the options."""
    try:
        if name == "bela-paper":
            return BelaPaper(source, splitter=make_splitter(splitter), confidence=confidence, seed=seed, **options)
        if splitter != "auto":
            raise ParameterError(
                f"the method {name!r} does not split leaves with a model: leave out splitter={splitter!r}"
            )
        if name == "hsal":
            return HSAL(source, confidence=confidence, seed=seed, **options)
        if name == "plal":
            return PLAL(source, confidence=confidence, seed=seed, **options)
        with_aims: dict[str, Callable[..., Method]] = {
            "bela": Bela,
            "margin": MarginSampling,
            "pac": PacLabels,
            "random": RandomSampling,
        }
        if name in with_aims:
            return with_aims[name](source, confidence=confidence, seed=seed, target=target, budget=budget, **options)
    except TypeError as error:
        if "unexpected keyword" in str(error):
            raise ParameterError(f"the method {name!r} does not take this option: {error}") from None
        raise
    raise ParameterError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
