"""Where a campaign stands, as plain values and in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bela.campaign import StoredCampaign, tally
from bela.cli._campaigns import place_of_data
from bela.cli._progress import bound_word
from bela.cli._showing import name_of, percent_floor
from bela.errors import LabelError
from bela.records import Forecast, StopReason

if TYPE_CHECKING:
    from bela.records import Result

_CLASSES_SHOWN = 20
_FORECAST = ("answers", "low", "high")
_REASONS = {
    StopReason.TARGET: "The target is reached",
    StopReason.BUDGET: "The budget is used up",
    StopReason.EXHAUSTED: "There is nothing left to ask",
}


def overview(stored: StoredCampaign) -> dict[str, Any]:
    """Return all that there is to say about a campaign, ready for JSON."""
    import numpy as np

    campaign, settings = stored.campaign, stored.settings
    certificate, forecast, counts = campaign.certificate, campaign.forecast, tally(campaign)
    rows: dict[Any, int] = {}
    try:
        values, n = np.unique(campaign.result().labels, return_counts=True)
        rows = dict(zip(values.tolist(), n.tolist(), strict=True))
    except LabelError:  # nothing was answered yet
        pass
    reason = campaign.stop_reason
    if reason is StopReason.TARGET:
        forecast = Forecast(answers=0, low=0, high=0)
    return {
        "campaign": str(stored.path),
        "data": place_of_data(stored.path, settings),
        "n_rows": campaign.n_rows,
        "method": settings.method,
        "seed": settings.seed,
        "target": campaign.target,
        "budget": campaign.budget,
        "n_asked": campaign.n_asked,
        "n_training": counts.n_training,
        "n_bounds": counts.n_bounds,
        "n_skipped": counts.n_skipped,
        "n_given": counts.n_given,
        "n_corrected": counts.n_corrected,
        "n_open": counts.n_open,
        "certificate": {
            "lower": float(certificate.lower),
            "confidence": float(certificate.confidence),
            "kind": certificate.kind,
        },
        "forecast": None if forecast is None else {name: int(getattr(forecast, name)) for name in _FORECAST},
        "classes": [
            {"label": label, "known": known, "rows": rows.get(label, 0)} for label, known in counts.known.items()
        ],
        "cost": counts.cost,
        "stop_reason": None if reason is None else str(reason),
    }


def headline(found: dict[str, Any]) -> str:
    """Say what a campaign is about."""
    return (
        f"{found['campaign']}: {count(found['n_rows'], 'row')} of {found['data']}, method {found['method']}, "
        f"seed {found['seed']}."
    )


def answers_line(found: dict[str, Any]) -> str:
    """Say how many answers there are, and what for."""
    parts = [f"{count(found['n_asked'], 'answer')} ({found['n_training']:,} training, {found['n_bounds']:,} bounds)"]
    for key, words in (
        ("n_skipped", "skipped"),
        ("n_given", "given by the data (taken as right)"),
        ("n_corrected", "corrected unasked"),
    ):
        if found[key]:
            parts.append(f"{found[key]:,} {words}")
    if found["cost"]:
        parts.append(f"cost {found['cost']:.6g}")
    return ", ".join(parts) + "."


def bound_line(certificate: dict[str, Any]) -> str:
    """Say what is certified."""
    lower, confidence = percent_floor(certificate["lower"]), f"{100 * certificate['confidence']:.10g} %"
    if bound_word(certificate["kind"]) == "bound":
        return f"The bound of the method says {lower} right; it is no guarantee."
    return f"Certified: at least {lower} of the labels are right (confidence {confidence})."


def aim_line(found: dict[str, Any]) -> str:
    """Say how far it is to the target, or why there is no need to go on."""
    aims = []
    if found["target"] is not None:
        aims.append(f"target {100 * found['target']:.10g} %")
    if found["budget"] is not None:
        aims.append(f"budget {found['budget']:,}")
    aim = f" ({', '.join(aims)})" if aims else ""
    if found["stop_reason"] is not None:
        return f"{_REASONS[StopReason(found['stop_reason'])]}{aim}."
    forecast = found["forecast"]
    if forecast is None:
        return f"There is more to ask{aim}."
    return f"Some {forecast['answers']:,} more answers to go ({forecast['low']:,} to {forecast['high']:,}){aim}."


def class_lines(found: dict[str, Any]) -> Iterator[str]:
    """Say which classes there are, the largest first, with their rows."""
    classes = sorted(found["classes"], key=lambda entry: (-entry["rows"], -entry["known"]))
    if not classes:
        yield "No classes yet."
        return
    yield f"{len(classes):,} class{'' if len(classes) == 1 else 'es'}:"
    for entry in classes[:_CLASSES_SHOWN]:
        yield f"  {name_of(entry['label'], 40)}: {count(entry['rows'], 'row')}, {entry['known']:,} known"
    if len(classes) > _CLASSES_SHOWN:
        yield f"  and {len(classes) - _CLASSES_SHOWN:,} more"


def summary(found: dict[str, Any]) -> Iterator[str]:
    """Say what has come of a campaign, and what to do next."""
    yield f"{headline(found)}"
    yield answers_line(found)
    yield bound_line(found["certificate"])
    yield aim_line(found)
    path = found["campaign"]
    if found["n_asked"] or found["n_given"]:
        yield f"The labels: bela export {path} --to {Path(path).stem}-labelled.csv"


def document_of(stored: StoredCampaign, result: Result) -> dict[str, Any]:
    """Return the certificate of a campaign's labels, with the moment of the journal that it is of."""
    from bela.exports import certificate_document

    document = certificate_document(
        result, stored.records,
        target=stored.campaign.target, given=stored.given, n_skipped=stored.campaign.n_skipped,
    )  # fmt: skip
    document["journal"] = {"events": stored.journal.n_events, "digest": stored.journal.digest}
    return document


def local_time(at: float) -> str:
    """Return a moment as text, in the time of this place."""
    return datetime.fromtimestamp(at).astimezone().isoformat(sep=" ", timespec="seconds")


def count(n: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"
