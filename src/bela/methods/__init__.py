"""Ways to choose questions and label the rest, by name: one protocol."""

from collections.abc import Callable

from bela._registry import Registry
from bela.errors import ParameterError
from bela.methods._deciding import DecidingMethod
from bela.protocols import Method, Setup

__all__ = ["DEFAULT_METHOD", "METHODS", "DecidingMethod", "make_method"]

METHODS = Registry[Callable[..., Method]]("method", "bela.methods", package="bela.methods")
"""Whatever takes a `Setup` and options of its own, and makes a `Method`. One that comes with BELA adds itself here."""

DEFAULT_METHOD = "bela"


def make_method(name: str, setup: Setup, **options: object) -> Method:
    """Make a method by its name; each takes what it understands of the options, and any takes splitter="auto"."""
    if options.get("splitter") == "auto":
        del options["splitter"]
    try:
        return METHODS[name](setup, **options)
    except TypeError as error:
        if "unexpected keyword argument 'splitter'" in str(error):
            raise ParameterError(
                f"the method {name!r} does not split leaves with a model: leave out splitter={options['splitter']!r}"
            ) from None
        if "unexpected keyword" in str(error):
            raise ParameterError(f"the method {name!r} does not take this option: {error}") from None
        raise
