"""Questions out, answers in."""

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from bela.errors import QuestionError
from bela.views import CampaignStatus, ClassSource, class_sources
from bela.web import _models as models
from bela.web._context import Service, ready

router = APIRouter(tags=["answering"])


@router.post("/lease", response_model=models.LeaseOut)
def post_lease(body: models.LeaseIn, service: Service) -> Response:
    """Hand out questions that nobody else gets for a while."""
    questions = service.lease(body.by, body.n, tab=body.tab, was=body.was, grid=body.grid)
    return ready(models.LeaseOut(questions=questions, lease_seconds=service.lease_seconds))


@router.post("/answers", response_model=models.AnswersOut)
def post_answers(body: models.AnswersIn, service: Service) -> Response:
    """Take in answers; those that are accepted are on disk."""
    return ready(service.answer(body.by, body.answers))


@router.post("/release", status_code=204)
def post_release(body: models.ReleaseIn, service: Service) -> None:
    """Take questions back that somebody will not answer now."""
    service.release(body.by, body.questions, tab=body.tab)


@router.post("/undo")
def post_undo(body: models.UndoIn, service: Service) -> models.UndoOut:
    """Take back what somebody did last."""
    try:
        undone, question = service.undo(body.by, tab=body.tab, grid=body.grid)
    except QuestionError as error:
        raise HTTPException(409, str(error)) from None
    return models.UndoOut(undone=undone, question=question, state=service.status())


@router.post("/relabel")
def post_relabel(body: models.RelabelIn, service: Service) -> CampaignStatus:
    """Say what a row is, whether it was asked or not."""
    return service.relabel(body.by, body.row, body.label)


@router.post("/settle")
def post_settle(body: models.RelabelIn, service: Service) -> CampaignStatus:
    """Say what a row is that people see differently: labels and certificate rest on that from then on."""
    service.view.check(body.row)
    try:
        return service.settle(body.by, body.row, body.label)
    except QuestionError as error:
        raise HTTPException(409, str(error)) from None


@router.post("/flags")
def post_flag(body: models.FlagIn, service: Service) -> CampaignStatus:
    """Mark a row for later."""
    return service.flag(body.by, body.row, body.comment)


@router.post("/classes")
def post_classes(body: models.ClassesIn, service: Service) -> CampaignStatus:
    """Rename a class, merge it into another, delete it, or take that back."""
    return service.change_classes(body.by, body.action, body.label, body.to)


@router.post("/classes/new")
def post_new_classes(body: models.NewClassesIn, service: Service) -> CampaignStatus:
    """Add classes; those that there are already stay as they are."""
    return service.add_classes(body.by, body.labels)


@router.get("/classes/sources")
def get_class_sources(service: Service) -> list[ClassSource]:
    """Return the columns whose values may be what the classes are called."""
    return class_sources(service.stored, service.view.offered)


@router.post("/aim")
def post_aim(body: models.AimIn, service: Service) -> CampaignStatus:
    """Change when to stop."""
    return service.aim(**body.model_dump(exclude_unset=True))
