"""`bela backup` and `bela restore`: a campaign in one file, and back."""

from pathlib import Path
from typing import Annotated

import typer

from bela.campaign import back_up
from bela.campaign import restore as put_back
from bela.cli._campaigns import find_campaign
from bela.cli._options import FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._showing import count

_TO = typer.Option("--to", metavar="FILE", help="The file, such as cats-backup.zip.")
_PLACE = typer.Option("--to", metavar="DIR", help="The new folder of the campaign, such as cats.bela.")
_FILE = typer.Argument(metavar="FILE", help="What `bela backup` wrote.")
_DATA = typer.Option("--data", metavar="DATA", help="Where the data are now, if they were moved.")


def backup(
    campaign: FolderArgument,
    *,
    to: Annotated[Path, _TO],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Write a campaign to one file: answers, revisions, settings, guidelines; not the data. Others may go on answering.

    What is in it is as it was at one moment, and was checked; the file is there whole or not at all.
    """
    output = Output("-" if json_ else None)
    done = back_up(find_campaign(campaign), to, overwrite=overwrite)
    output.finish(
        {"to": str(done.path), "n_events": done.n_events, "n_files": done.n_files, "n_bytes": done.n_bytes},
        [f"{count(done.n_events, 'event')} and what belongs to them: {to} ({max(1, done.n_bytes // 1000):,} kB)"],
    )


def restore(
    file: Annotated[Path, _FILE],
    *,
    to: Annotated[Path, _PLACE],
    data: Annotated[str | None, _DATA] = None,
    json_: JsonFlag = False,
) -> None:
    """Put a campaign back from a file into a new folder; nothing is put there if anything in the file is damaged."""
    output = Output("-" if json_ else None)
    done = put_back(file, to, data=data)
    words = [f"{count(done.n_events, 'event')} are back in {to}."]
    if done.data is not None:
        words.append(
            f"The data are not at {done.data}: put them there, or say where they are in {to / 'campaign.toml'}."
        )
    output.finish({"campaign": str(to), "n_events": done.n_events, "missing_data": done.data}, words)
