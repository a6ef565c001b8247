"""What several people say: how far they agree, where they differ, and the last word on it."""

from __future__ import annotations

from typing import Any

from bela.campaign import Opinions, opinions
from bela.records import Label
from bela.web._agreement import agreement_of
from bela.web._errors import Conflict
from bela.web._people import NOBODY
from bela.web._service import LabelService


def agreement(service: LabelService) -> dict[str, Any]:
    """Return how far people agree, each pair and all together, on what they said at first."""
    with service.lock:
        shared = opinions(service.stored.campaign, at_least=2)
    return agreement_of(shared)


def disagreements(service: LabelService, *, settled: bool, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return rows that people differ about, the latest first: those that somebody has settled, or the others."""
    with service.lock:
        found = [one for one in opinions(service.stored.campaign, at_least=2) if one.differ and one.settled == settled]
    found.sort(key=lambda one: -one.question)
    return [_shown(service, one) for one in found[offset : offset + limit]]


def settle(service: LabelService, by: str, row: int, label: Label) -> None:
    """Say what a row is that people differ about: labels and certificate rest on that from then on."""
    service.view.check(row)
    with service.lock:
        if not any(found.row == row and found.differ for found in opinions(service.stored.campaign, at_least=2)):
            raise Conflict(f"nobody differs about row {row}: relabel it if its label is wrong")
        service.relabel(by, row, label)


def _shown(service: LabelService, found: Opinions) -> dict[str, Any]:
    shown = service.view.show(found.row)
    return {
        "question": found.question,
        "row": found.row,
        "name": shown.name,
        "record": dict(shown.record),
        "images": list(shown.images),
        "opinions": [{"by": by or NOBODY, "label": label} for by, label in found.said.items()],
        "label": found.label,
        "settled": found.settled,
        "settled_by": found.settled_by,
    }
