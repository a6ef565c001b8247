"""`bela people`: who may come in to a campaign that is served, each by a link of their own."""

from typing import Annotated, Literal

import typer

from bela.campaign import Member, Team
from bela.cli._campaigns import find_campaign
from bela.cli._options import FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.errors import ParameterError

Action = Literal["list", "add", "renew", "revoke", "role"]
_ACTION = typer.Argument(
    help="list, or for NAME: add (gives a link), renew (gives another, and ends the one that there is), revoke (ends "
    "it), role (makes an annotator, or an owner with --owner).",
)
_NAME = typer.Argument(metavar="NAME", help="Who; others see it beside the answers.", show_default=False)
_OWNER = typer.Option("--owner", help="An owner, who decides about target, classes, people and export.")
_AT = typer.Option("--at", metavar="URL", help="The address of the page.", show_default="where it was served last")


def people(
    campaign: FolderArgument,
    action: Annotated[Action, _ACTION] = "list",
    name: Annotated[str | None, _NAME] = None,
    *,
    owner: Annotated[bool, _OWNER] = False,
    at: Annotated[str | None, _AT] = None,
    json_: JsonFlag = False,
) -> None:
    """Show who may come in to a campaign, give somebody a link of their own, or end it; at once, also amid answers.

    Links are kept for you alone, in a file outside the campaign: a copy or a backup of it hands over none.
    """
    output = Output("-" if json_ else None)
    team = Team.of(find_campaign(campaign))
    team.owner()
    if action == "list":
        if name is not None:
            raise ParameterError(f"a list is of everybody: leave out {name}, or say what to do with them")
        changed = team.members
    elif name is None:
        raise ParameterError(f"who? Say it as in `bela people {campaign} {action} Ann`")
    else:
        changed = (_change(team, action, name, is_owner=owner),)
    page = (at or team.address).rstrip("/")
    links = {member.id: _link(page, member) for member in changed}
    output.finish(
        {"people": [
            {"name": one.name, "role": _role(one), "revoked": one.revoked, "link": links[one.id]} for one in changed
        ]},
        [_line(one, links[one.id]) for one in changed],
    )  # fmt: skip


def _change(team: Team, action: Action, name: str, *, is_owner: bool) -> Member:
    if action == "add":
        return team.add(name, is_owner=is_owner)
    if action == "renew":
        return team.renew(name)
    return team.revoke(name) if action == "revoke" else team.set_role(name, is_owner=is_owner)


def _role(member: Member) -> str:
    return "owner" if member.is_owner else "annotator"


def _link(page: str, member: Member) -> str | None:
    return None if member.revoked else f"{page}/?token={member.token}"


def _line(member: Member, link: str | None) -> str:
    """Say who somebody is and how they come in; where nobody knows where the page is, the link has no address."""
    if link is None:
        return f"{member.name}: may not come in any more"
    return f"{member.name}, {_role(member)}: {link if '://' in link else f'the address of the page, and then {link}'}"
