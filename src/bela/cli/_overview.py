"""Where a campaign stands, as plain values and in plain words."""

from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import cast

from bela.book import again
from bela.book import count as count_up
from bela.campaign import StoredCampaign, other_ways
from bela.cli._campaigns import place_of_data
from bela.cli._showing import alike_lines, count, first, for_cost, name_of
from bela.errors import LabelError
from bela.exports import certificate_document, parts_document, together
from bela.records import Json, Label, Result, Rung, StopReason
from bela.shares import percent_text, share_text

_CLASSES_SHOWN = 20
_LOWEST_SHOWN = 3
_REASONS = {
    StopReason.TARGET: "The target is reached",
    StopReason.REFUTED: "The target cannot be reached: too many labels are wrong",
    StopReason.BUDGET: "The budget is used up",
    StopReason.EXHAUSTED: "There is nothing left to ask",
}


class Overview:
    """All that there is to say about a campaign."""

    def __init__(self, stored: StoredCampaign) -> None:
        self._name, self._campaign = str(stored.path), stored.campaign
        self._settings, self._data = stored.settings, place_of_data(stored.path, stored.settings)
        self._counts, self.certificate = count_up(stored.campaign.book), stored.campaign.certificate
        self._labels: Counter[Label] = Counter()
        self._result: Result | None = None
        with suppress(LabelError):  # nothing was answered yet
            self._result = stored.campaign.result()
            self._labels = Counter(self._result.labels.tolist())

    def to_json(self) -> dict[str, Json]:
        """Return what programs are told."""
        campaign, forecast = self._campaign, self._campaign.forecast
        counts = asdict(self._counts)
        known = counts.pop("known")
        plain = {
            "campaign": self._name, "data": self._data, "n_rows": campaign.n_rows,
            "method": self._settings.method, "seed": self._settings.seed,
            "target": campaign.target, "class_target": campaign.class_target, "budget": campaign.budget,
            "n_asked": campaign.n_asked,
            "certificate": self.certificate.to_json(), "forecast": None if forecast is None else asdict(forecast),
            "ladder": [asdict(rung) for rung in campaign.ladder],
            "classes": [{"label": label, "known": n, "rows": self._labels[label]} for label, n in known.items()],
            "stop_reason": campaign.stop_reason, **counts,
        }  # fmt: skip
        return cast("dict[str, Json]", plain)

    def answers_line(self) -> str:
        """Say how many answers there are, and what for."""
        counts, said = self._counts, self._campaign.book.help.said
        answers, n_untold = count(self._campaign.n_asked, "answer"), len(said) - counts.n_helped
        untold = f" (it could not tell {n_untold:,} more)" if n_untold else ""
        parts = [
            f"{f'you answered {self._campaign.n_asked:,}' if said else answers} "
            f"({counts.n_training:,} to learn from, {counts.n_bounds:,} drawn at random)",
            f"the helper {counts.n_helped:,}{for_cost(counts.helper_cost)}{untold}" if said else None,
            counts.n_skipped and f"{counts.n_skipped:,} skipped",
            counts.n_given and f"{counts.n_given:,} given by the data (taken as right)",
            counts.n_corrected and f"{counts.n_corrected:,} corrected unasked",
            counts.cost and f"cost {counts.cost:.6g}",
        ]
        line = ", ".join(part for part in parts if isinstance(part, str)) + "."
        return line[0].upper() + line[1:]

    def _aim_line(self) -> str:
        """Say how far it is to the target, or why there is no need to go on."""
        target, budget, forecast = self._campaign.target, self._campaign.budget, self._campaign.forecast
        aims = [] if target is None else [f"target {percent_text(target)}"]
        aims += [] if (each := self._campaign.class_target) is None else [f"for each class {percent_text(each)}"]
        aims += [] if budget is None else [f"budget {budget:,}"]
        aim = f" ({', '.join(aims)})" if aims else ""
        if self._campaign.stop_reason is not None:
            return f"{_REASONS[self._campaign.stop_reason]}{aim}."
        if forecast is None:
            return f"There is more to ask{aim}."
        some = f"{forecast.answers:,} more answers"
        if budget is not None and forecast.answers > self._campaign.book.n_left:
            return f"The target would take some {some}, more than the budget leaves: it certifies what it can{aim}."
        return f"Some {some} to go ({forecast.low:,} to {forecast.high:,}){aim}."

    def ladder_lines(self) -> list[str]:
        """Say what each of some shares is expected to take."""
        rungs = self._campaign.ladder
        runs = groupby(rungs, key=rung_text)  # five times the same would be read as five things
        lines = [f"To certify {', '.join(percent_text(rung.share) for rung in run)}: {text}." for text, run in runs]
        expected = [rung.share for rung in rungs if rung.forecast is not None and rung.share != self._campaign.target]
        if expected:
            lines.append(f"To aim at one of these: bela label {quote(self._name)} --target {expected[0]:g}")
        advice = other_ways(rungs, self._campaign.n_rows, predicted=bool(self._campaign.predictions))
        return lines if advice is None else [*lines, advice]

    def class_lines(self) -> list[str]:
        """Say which classes there are, the largest first, with their rows."""
        known = self._counts.known
        classes = sorted(known, key=lambda label: (-self._labels[label], -known[label]))
        title = f"{len(classes):,} class{'' if len(classes) == 1 else 'es'}:" if classes else "No classes yet."
        rows = [f"{name_of(of, 40)}: {count(self._labels[of], 'row')}, {known[of]:,} known" for of in classes]
        return [title, *first(rows, _CLASSES_SHOWN)]

    def parts(self) -> tuple[dict[str, Json], list[str]]:
        """Return what is certified by class and which rows are sure, for programs and in words; it may take a while."""
        return ({}, []) if self._result is None else (parts_document(self._result), _part_lines(self._result))

    def lines(self) -> list[str]:
        """Say where the campaign stands, in a few lines."""
        rows = count(self._campaign.n_rows, "row")
        about = f"{self._name}: {rows} of {self._data}, method {self._settings.method}, seed {self._settings.seed}."
        alike = alike_lines(self._campaign.classes)
        return [about, self.answers_line(), self.certificate.claim, self._aim_line(), *alike]

    def summary(self, go_on: str) -> list[str]:
        """Say what has come of the campaign, and what to do next; `go_on` is the command to go on with, if any."""
        lines = self.lines()
        if self._campaign.n_asked or self._counts.n_given:
            to = quote(f"{Path(self._name).stem}-labelled.csv")
            note = None if self._result is None else one_label_note(self._result)
            lines += [] if note is None else [f"Note: {note}."]
            lines.append(f"The labels: bela export {quote(self._name)} --to {to}")
        return [*lines, f"To go on: {go_on} {quote(self._name)}"] if go_on else lines


def one_label_note(result: Result) -> str | None:
    """Return the sentence for labels that are all alike where nobody answered; None where they differ."""
    inferred = result.labels[~result.known]
    if len(inferred) < 2 or (inferred != inferred[0]).any():
        return None
    advice = "more answers are needed before rows are told apart"
    return f"all {len(inferred):,} rows that were not answered have the same label, {name_of(inferred[0])}: {advice}"


def _part_lines(result: Result) -> list[str]:
    """Say in two lines which classes are the least certain, and how many rows are sure; nothing where nobody says."""
    if result.parts is None:
        return []
    lowest = sorted(result.parts.by_class, key=lambda one: one.lower)
    named = ", ".join(f"{share_text(one.lower)} ({name_of(one.label)})" for one in lowest[:_LOWEST_SHOWN])
    more = f": the lowest of {len(lowest):,} classes" if len(lowest) > _LOWEST_SHOWN else ""
    sure = [
        f"{percent_text(share)} of {count(part.n_rows, 'row')} ({share_text(part.n_rows / len(part.rows))})"
        for share, part in result.parts.sure.items()
        if part.n_inferred
    ]
    found = f"Sure: at least {', '.join(sure)}." if sure else "No rows are sure yet beyond those that were answered."
    alone, all_three = (percent_text(together(result.parts.confidence, n)) for n in (1, 3))
    return [
        f"By class, right are at least {named} of the rows labelled so{more}; rows of a class that have another label "
        "are not counted there.",
        f"{found} These two lines are statements of their own (confidence {alone} each; with the certificate, "
        f"all three hold with {all_three}).",
    ]


def rung_text(rung: Rung) -> str:
    """Say in a few words what a share is expected to take."""
    forecast = rung.forecast
    if forecast is None:
        return str(rung.prospect)
    return f"about {forecast.answers:,} more answers ({forecast.low:,} to {forecast.high:,})"


def document_of(stored: StoredCampaign, result: Result) -> dict[str, Json]:
    """Return the certificate of a campaign's labels, with the moment of the journal that it is of."""
    document = certificate_document(
        result, stored.records,
        target=stored.campaign.target, class_target=stored.campaign.class_target, given=stored.given,
        n_skipped=stored.campaign.book.n_skipped,
        n_suggested=stored.campaign.book.n_suggested, again=again(stored.campaign.book),
        cost=stored.campaign.book.cost, language_model=stored.language_model,
        helper=stored.campaign.book.help,
    )  # fmt: skip
    document["journal"] = {"events": stored.journal.n_events, "digest": stored.journal.digest}
    return document
