"""`bela status`: where a campaign stands, also while somebody is answering."""

from datetime import UTC, datetime

from bela.campaign import is_open
from bela.cli._campaigns import find_campaign, open_to_look
from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._overview import Overview


def status(campaign: FolderArgument, *, allow_code: AllowCode = False, json_: JsonFlag = False) -> None:
    """Say where a campaign stands: answers, certificate, forecast, classes. Nothing is changed."""
    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    with open_to_look(path, output, allow_code=allow_code) as stored:
        found = Overview(stored)
        parts, part_words = found.parts()
        times = [entry.at for entry in stored.journal.events() if entry.kind == "answered"]
    elsewhere = is_open(path)
    words = [*found.lines(), *found.ladder_lines(), *part_words, *found.class_lines()]
    last = None
    if times:
        at = datetime.fromtimestamp(times[-1], UTC)
        last = at.isoformat(timespec="seconds")
        words.append(f"The last answer was given at {at.astimezone().isoformat(sep=' ', timespec='seconds')}.")
    if elsewhere:
        words.append("Somebody has it open to answer just now.")
    output.finish({**found.to_json(), **parts, "open_elsewhere": elsewhere, "last_answer": last}, words)
