"""What every bound says of itself."""

import inspect
import pkgutil
from importlib import import_module

import pytest

from bela import bounds
from bela.bounds import BOUNDS

CLAIM_NOTHING = {
    "ErrorCurves", "Population", "bend", "check_counts", "check_inside", "best_power", "draw_order", "draws_needed",
    "draws_to_mend", "error_grid", "even_weights", "growth", "likely_shares", "log_falling",
    "log_tail", "mending_weights", "needs_mending", "priorities", "tilt",
}  # fmt: skip
"""Guesses, forecasts, orders and arithmetic."""


def public_names() -> dict[str, object]:
    """Return every function and class without an underscore that a module of the package defines."""
    found: dict[str, object] = {}
    for module in pkgutil.iter_modules(bounds.__path__, "bela.bounds."):
        for name, thing in vars(import_module(module.name)).items():
            defined = getattr(thing, "__module__", None) == module.name
            if defined and not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
                found[name] = thing
    return found


def sections(thing: object) -> tuple[bool, bool]:
    """Return whether a docstring says what is guaranteed, and what that assumes."""
    text = inspect.getdoc(thing) or ""
    return "Guarantee\n---------" in text, "Assumes\n-------" in text


@pytest.mark.parametrize("name", sorted(public_names().keys() - CLAIM_NOTHING))
def test_whatever_claims_something_states_its_guarantee_and_what_it_assumes(name: str) -> None:
    """What is not listed as claiming nothing needs both sections, wherever in the package it stands."""
    assert sections(public_names()[name]) == (True, True)


@pytest.mark.parametrize("name", BOUNDS.names)
def test_every_registered_bound_states_its_guarantee_and_what_it_assumes(name: str) -> None:
    """A bound without both sections is not to be published."""
    assert sections(BOUNDS[name]) == (True, True)


def test_no_bound_is_forgotten() -> None:
    """Whatever returns an upper or lower number of errors, rows or shares is in the registry."""
    registered = [BOUNDS[name] for name in BOUNDS.names]
    members = ("errors_upper", "errors_lower", "rows_right")
    for name, thing in public_names().items():
        if any(hasattr(thing, member) for member in members) or "upper" in name or "lower" in name:
            assert thing in registered, name


def test_the_list_is_not_stale() -> None:
    """What claims nothing is still there."""
    assert public_names().keys() >= CLAIM_NOTHING
