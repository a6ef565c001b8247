"""What people want to know about a campaign besides its certificate: counts, costs, and what was done last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bela.campaign._campaign import Campaign
from bela.campaign._deeds import Added, Answered, Flagged, Opined, Relabelled, Renamed, Skipped
from bela.records import UNKNOWN, Label, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of a campaign.

    Parameters
    ----------
    n_training, n_bounds
        Answers, by what they were asked for.
    n_skipped, n_open
        Questions that were left unanswered, and that wait for an answer.
    n_given
        Rows that the data brought a label for.
    n_corrected
        Rows that somebody gave a label to without being asked.
    known
        How many rows each class is known to have, in the order of the classes.
    cost
        What all answers have cost, those taken back included.
    """

    n_training: int
    n_bounds: int
    n_skipped: int
    n_open: int
    n_given: int
    n_corrected: int
    known: Mapping[Label, int]
    cost: float


def tally(campaign: Campaign) -> Tally:
    """Count what there is in a campaign."""
    state = campaign._state
    n_training = sum(state.questions[question].role is Role.TRAINING for question in state.answers)
    codes = state.known[state.known != UNKNOWN]
    if state.volunteered:
        codes = np.append(codes, list(state.volunteered.values()))
    counts = np.bincount(codes, minlength=len(state.codes.classes))
    return Tally(
        n_training=n_training,
        n_bounds=len(state.answers) - n_training,
        n_skipped=campaign.n_skipped,
        n_open=len(state.open),
        n_given=len(state.given),
        n_corrected=len(state.volunteered),
        known={label: int(counts[state.code_of(label)]) for label in campaign.classes},
        cost=state.cost,
    )


def n_deeds(campaign: Campaign) -> int:
    """Return how often `undo` can be called."""
    return len(campaign._state.history)


def last_deed(campaign: Campaign) -> str | None:
    """Say what `undo` would take back, None if there is nothing.

    Examples
    --------
    >>> campaign = Campaign([[0.0], [1.0], [2.0]])
    >>> campaign.relabel(1, "cat")
    >>> last_deed(campaign)
    "row 1 was said to be 'cat'"
    """
    state = campaign._state
    if not state.history:
        return None
    deed = state.history[-1]
    if isinstance(deed, Answered):
        row = state.questions[deed.question].row
        return f"row {row} was answered with {campaign.answer(row)!r}"
    if isinstance(deed, Skipped):
        return f"row {state.questions[deed.question].row} was skipped"
    if isinstance(deed, Relabelled):
        before = "" if deed.before == UNKNOWN else f" instead of {state.codes.classes[deed.before]!r}"
        return f"row {deed.row} was said to be {campaign.answer(deed.row)!r}{before}"
    if isinstance(deed, Opined):
        return f"{deed.by} gave an opinion on row {state.questions[deed.question].row}"
    if isinstance(deed, Flagged):
        return f"row {deed.row} was flagged"
    if isinstance(deed, Added):
        return f"the class {deed.label!r} was added"
    if isinstance(deed, Renamed):
        return f"the class {deed.old!r} was renamed to {deed.new!r}"
    return f"the class {deed.old!r} was merged into another, with {len(deed.rows)} known row(s)"
