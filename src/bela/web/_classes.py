"""The classes of a campaign: how many rows each has, what is mistaken for what, and changes to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bela.campaign import role_and_answer, tally
from bela.errors import ParameterError
from bela.records import Label
from bela.web._service import LabelService

_RARE = 0.01  # a class with a smaller share of the rows is called rare
_FEW = 5  # or one with fewer answers


def class_overview(service: LabelService) -> dict[str, Any]:
    """Return the classes, what was foretold against what was answered, and which classes are rare."""
    with service.lock:
        campaign, labels = service.stored.campaign, service.labels
        known = tally(campaign).known
        foretold = service.foretold
        pairs: Counter[tuple[str, Label, Label]] = Counter()
        for question, guess in foretold.items():
            found = role_and_answer(campaign, question)
            if found is not None:
                pairs[str(found[0]), guess, found[1]] += 1
    counts = {} if labels is None else labels.counts
    n_rows = service.view.n_rows
    return {
        "classes": [{"label": label, "n_answers": n, "n_labels": counts.get(label, 0)} for label, n in known.items()],
        "confusions": [
            {"role": role, "foretold": guess, "answered": answer, "n": n}
            for (role, guess, answer), n in sorted(pairs.items(), key=lambda item: -item[1])
        ],
        "rare": [
            label
            for label, n in known.items()
            if n < _FEW or (labels is not None and counts.get(label, 0) < _RARE * n_rows)
        ],
    }


def change_classes(service: LabelService, by: str, action: str, label: Label, to: Label | None) -> None:
    """Add a class, give it another name, or take it for the same as another."""
    if (to is None) != (action == "add"):
        raise ParameterError("a class that is renamed or merged needs the name `to`, one that is added has none")
    service.change_classes(by, action, label, to)
