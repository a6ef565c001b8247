"""Who may come in, and who somebody is."""

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException

from bela.campaign import Member, Team
from bela.web._context import Me, Service
from bela.web._models import MemberIn, MemberOut, MeOut, NewMemberIn
from bela.web._roles import open_to_annotators
from bela.web._security import cookie_name
from bela.web._service import LabelService

router = APIRouter(tags=["team"])


@router.get("/me")
@open_to_annotators
def get_me(me: Me, request: Request) -> MeOut:
    """Return who somebody is."""
    team: Team | None = request.app.state.team
    campaign = cookie_name("" if team is None else team.number)
    return MeOut(id=me.id, name=me.name, role="owner" if me.is_owner else "annotator", campaign=campaign)


@router.get("/team")
def get_team(service: Service, request: Request) -> list[MemberOut]:
    """Return who may come in, and who may not any more."""
    return _members(service, _team(service, request))


@router.post("/team")
def post_team(body: NewMemberIn, service: Service, request: Request) -> list[MemberOut]:
    """Let somebody come in, by a link of their own."""
    team = _team(service, request)
    team.add(body.name, is_owner=body.role == "owner")
    return _members(service, team)


@router.post("/team/change")
def post_team_change(body: MemberIn, service: Service, me: Me, request: Request) -> list[MemberOut]:
    """Give somebody another link or role, or let them in no longer, from this moment on."""
    team = _team(service, request)
    if body.action == "renew":
        team.renew(body.name)
    elif body.action == "revoke":
        team.revoke(body.name)
    else:
        team.set_role(body.name, is_owner=body.action == "owner")
    request.app.state.broadcast.wake()  # so that lines end that are not theirs any more
    return _members(service, team)


def _team(service: LabelService, request: Request) -> Team:
    team: Team | None = request.app.state.team
    if team is None or not service.team:
        raise HTTPException(409, "this page is for one person: `bela serve` is for a team, with its tokens")
    return team


def _members(service: LabelService, team: Team) -> list[MemberOut]:
    counts = {person.name: person for person in service.status().people}

    def show(member: Member) -> MemberOut:
        person = counts.get(member.name)
        return MemberOut(
            name=member.name, role="owner" if member.is_owner else "annotator", token=member.token,
            revoked=member.revoked, at_machine=member.at_machine, answers=0 if person is None else person.answers,
            skipped=0 if person is None else person.skipped,
        )  # fmt: skip

    return [show(member) for member in team.members]
