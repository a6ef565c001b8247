"""`bela status`: where a campaign stands, also while somebody is answering."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bela.cli._campaign_options import FolderArgument, JsonFlag


def status(campaign: FolderArgument, *, json_: JsonFlag = False) -> None:
    """Say where a campaign stands: answers, certificate, forecast, classes. Nothing is changed."""
    from bela.campaign import is_open
    from bela.cli._campaigns import find_campaign, open_to_look
    from bela.cli._output import Output
    from bela.cli._overview import overview

    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    with open_to_look(path, output) as stored:
        outcome = overview(stored)
        times = [event.at for event in stored.journal.events() if event.kind == "answered"]
    outcome["open_elsewhere"] = is_open(path)
    last = times[-1] if times else None
    outcome["last_answer"] = None if last is None else datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds")
    output.finish(outcome, _words(outcome, last))


def _words(outcome: dict[str, Any], last: float | None) -> Iterator[str]:
    from bela.cli._overview import aim_line, answers_line, bound_line, class_lines, headline, local_time

    yield headline(outcome)
    yield answers_line(outcome)
    yield bound_line(outcome["certificate"])
    yield aim_line(outcome)
    yield from class_lines(outcome)
    if last is not None:
        yield f"The last answer was given at {local_time(last)}."
    if outcome["open_elsewhere"]:
        yield "Somebody has it open to answer just now."
