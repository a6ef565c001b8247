"""Questions out, answers in."""

from dataclasses import replace

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from bela.errors import QuestionError
from bela.views import CampaignStatus, ClassSource, class_sources
from bela.web import _models as models
from bela.web._context import Me, Service, ready
from bela.web._roles import open_to_annotators, shown_to

router = APIRouter(tags=["answering"])


@router.post("/lease", response_model=models.LeaseOut)
@open_to_annotators
def post_lease(body: models.LeaseIn, service: Service, me: Me) -> Response:
    """Hand out questions that nobody else gets for a while."""
    questions = service.lease(me.name, body.n, tab=body.tab, was=body.was, grid=body.grid, browser=me.browser)
    return ready(models.LeaseOut(questions=questions, lease_seconds=service.lease_seconds))


@router.post("/answers", response_model=models.AnswersOut)
@open_to_annotators
def post_answers(body: models.AnswersIn, service: Service, me: Me) -> Response:
    """Take in answers; those that are accepted are on disk."""
    done = service.answer(me.name, body.answers, may_add_classes=me.is_owner)
    return ready(replace(done, state=shown_to(me, done.state, service)))


@router.post("/release", status_code=204)
@open_to_annotators
def post_release(body: models.ReleaseIn, service: Service, me: Me) -> None:
    """Take questions back that somebody will not answer now."""
    service.release(me.name, body.questions, tab=body.tab, browser=me.browser)


@router.post("/undo")
@open_to_annotators
def post_undo(body: models.UndoIn, service: Service, me: Me) -> models.UndoOut:
    """Take back what somebody did last."""
    try:
        undone, question = service.undo(me.name, tab=body.tab, grid=body.grid, browser=me.browser)
    except QuestionError as error:
        raise HTTPException(409, str(error)) from None
    return models.UndoOut(undone=undone, question=question, state=shown_to(me, service.status(), service))


@router.post("/relabel")
@open_to_annotators
def post_relabel(body: models.RelabelIn, service: Service, me: Me) -> CampaignStatus:
    """Say what a row is, whether it was asked or not; annotators of rows that wait, or that they have answered."""
    if not me.is_owner and not service.is_theirs(me.name, body.row):
        raise HTTPException(403, "annotators change the labels of rows that they have answered themselves")
    status = service.relabel(me.name, body.row, body.label, may_add_classes=me.is_owner)
    return shown_to(me, status, service)


@router.post("/settle")
def post_settle(body: models.RelabelIn, service: Service, me: Me) -> CampaignStatus:
    """Say what a row is that people see differently: labels and certificate rest on that from then on."""
    service.view.check(body.row)
    try:
        return service.settle(me.name, body.row, body.label)
    except QuestionError as error:
        raise HTTPException(409, str(error)) from None


@router.post("/flags")
@open_to_annotators
def post_flag(body: models.FlagIn, service: Service, me: Me) -> CampaignStatus:
    """Mark a row for later."""
    return shown_to(me, service.flag(me.name, body.row, body.comment), service)


@router.post("/classes")
def post_classes(body: models.ClassesIn, service: Service, me: Me) -> CampaignStatus:
    """Rename a class, merge it into another, delete it, or take that back."""
    return service.change_classes(me.name, body.action, body.label, body.to)


@router.post("/classes/new")
def post_new_classes(body: models.NewClassesIn, service: Service, me: Me) -> CampaignStatus:
    """Add classes; those that there are already stay as they are."""
    return service.add_classes(me.name, body.labels)


@router.get("/classes/sources")
def get_class_sources(service: Service) -> list[ClassSource]:
    """Return the columns whose values may be what the classes are called."""
    return class_sources(service.stored, service.view.offered)


@router.post("/aim")
def post_aim(body: models.AimIn, service: Service) -> CampaignStatus:
    """Change when to stop."""
    return service.aim(**body.model_dump(exclude_unset=True))
