"""`bela undo`: take back what was done last."""

from typing import Annotated

import typer

from bela.book import describe_undo
from bela.campaign import open_campaign
from bela.cli._campaigns import find_campaign
from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._overview import Overview
from bela.errors import ParameterError, QuestionError


def undo(
    campaign: FolderArgument,
    *,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many answers, skips or changes to take back.")] = 1,
    allow_code: AllowCode = False,
    json_: JsonFlag = False,
) -> None:
    """Take back the last answer, skip or change of classes, or the last few; they are asked again."""
    if n < 1:
        raise ParameterError(f"-n is a number from 1 on, not {n}")
    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    with output.apart(), output.bars() as bars:
        stored = open_campaign(path, progress=bars, allow_code=allow_code)
    undone: list[tuple[str, int | None]] = []
    with stored:
        book = stored.campaign.book
        possible = len(book.steps)
        if possible < n:
            what = "nothing" if not possible else f"no more than {possible}"
            raise QuestionError(f"there is {what} to undo in {path}")
        for _ in range(n):
            what = describe_undo(book) or ""
            question = stored.campaign.undo()
            undone.append((what, None if question is None else question.row))
        found = Overview(stored)
    words = [f"Taken back: {what}." for what, _ in undone]
    output.finish(
        {"undone": [{"what": what, "row": row} for what, row in undone], **found.to_json()},
        [*words, found.answers_line(), found.certificate.claim],
    )
