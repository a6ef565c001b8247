"""What every bound says of itself."""

import inspect

import pytest

from bela import bounds

PLANNING = {"draws_needed", "level_reached", "likely_shares", "nats_won"}  # forecasts, which claim nothing


@pytest.mark.parametrize("name", sorted(set(bounds.__all__) - PLANNING))
def test_every_bound_states_its_guarantee_and_what_it_assumes(name):
    """A bound without both sections is not to be published."""
    text = inspect.getdoc(getattr(bounds, name)) or ""
    assert "Guarantee\n---------" in text
    assert "Assumes\n-------" in text
