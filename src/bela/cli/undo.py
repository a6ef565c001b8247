"""`bela undo`: take back what was done last."""

from __future__ import annotations

from typing import Annotated

import typer

from bela.cli._campaign_options import FolderArgument, JsonFlag


def undo(
    campaign: FolderArgument,
    *,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many answers, skips or changes to take back.")] = 1,
    json_: JsonFlag = False,
) -> None:
    """Take back the last answer, skip or change of classes, or the last few; they are asked again."""
    from bela.campaign import last_deed, n_deeds, open_campaign
    from bela.cli._campaigns import find_campaign
    from bela.cli._output import Output
    from bela.cli._overview import answers_line, bound_line, overview
    from bela.errors import ParameterError, QuestionError

    if n < 1:
        raise ParameterError(f"-n is a number from 1 on, not {n}")
    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    with output.apart(), output.bars() as bars:
        stored = open_campaign(path, progress=bars)
    undone = []
    with stored:
        possible = n_deeds(stored.campaign)
        if possible < n:
            what = "nothing" if not possible else f"no more than {possible}"
            raise QuestionError(f"there is {what} to undo in {path}")
        for _ in range(n):
            deed = last_deed(stored.campaign)
            question = stored.campaign.undo()
            undone.append({"what": deed, "row": None if question is None else question.row})
        outcome = {"undone": undone, **overview(stored)}
    words = [f"Taken back: {deed['what']}." for deed in undone]
    output.finish(outcome, [*words, answers_line(outcome), bound_line(outcome["certificate"])])
