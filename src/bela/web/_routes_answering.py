"""Questions out, answers in."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from bela.errors import QuestionError
from bela.web._context import Service, ready
from bela.web._errors import Conflict
from bela.web._intake import Said
from bela.web._models import (
    AnswersIn,
    AnswersOut,
    ByIn,
    FlagIn,
    FlagOut,
    LeaseIn,
    LeaseOut,
    RelabelIn,
    ReleaseIn,
    StateOut,
    UndoOut,
)
from bela.web._service import Asked

router = APIRouter(tags=["answering"])


def question_json(asked: Asked) -> dict[str, Any]:
    """Return a question as it goes over the wire."""
    return {
        "id": asked.id,
        "row": asked.shown.row,
        "name": asked.shown.name,
        "record": asked.shown.record,
        "images": asked.shown.images,
        "presumed": asked.presumed,
        "probability": asked.probability,
        "second": asked.second,
    }


@router.post("/lease", response_model=LeaseOut)
def post_lease(body: LeaseIn, service: Service) -> Response:
    """Hand out questions that nobody else gets for a while."""
    questions = service.lease(body.by, body.n, grid=body.grid)
    return ready({"questions": [question_json(asked) for asked in questions], "lease_seconds": service.lease_seconds})


@router.post("/answers", response_model=AnswersOut)
def post_answers(body: AnswersIn, service: Service) -> Response:
    """Take in answers; those that are accepted are on disk."""
    said = [Said(question=answer.question, label=answer.label, second=answer.second) for answer in body.answers]
    ticket = service.answer(body.by, said)
    return ready(
        {
            "accepted": ticket.accepted,
            "refused": [{"question": question, "message": message} for question, message in ticket.refused],
            "state": ticket.state,
        }
    )


@router.post("/release", status_code=204)
def post_release(body: ReleaseIn, service: Service) -> None:
    """Take questions back that somebody will not answer now."""
    service.release(body.by, body.questions)


@router.post("/undo", response_model=UndoOut)
def post_undo(body: ByIn, service: Service) -> dict[str, Any]:
    """Take back what somebody did last."""
    try:
        undone, question = service.undo(body.by)
    except QuestionError as error:
        raise Conflict(str(error)) from None
    return {
        "undone": {"kind": undone.kind, "question": undone.question, "row": undone.row},
        "question": None if question is None else question_json(question),
        "state": service.state(),
    }


@router.post("/relabel", response_model=StateOut)
def post_relabel(body: RelabelIn, service: Service) -> dict[str, Any]:
    """Say what a row is, whether it was asked or not."""
    service.relabel(body.by, body.row, body.label)
    return service.state()


@router.post("/flags", response_model=StateOut)
def post_flag(body: FlagIn, service: Service) -> dict[str, Any]:
    """Mark a row for later."""
    service.flag(body.by, body.row, body.comment)
    return service.state()


@router.get("/flags", response_model=list[FlagOut])
def get_flags(service: Service) -> list[dict[str, Any]]:
    """Return what was marked for later."""
    return [
        {"row": flag.row, "name": service.view.show(flag.row).name, "comment": flag.comment, "by": flag.by}
        for flag in service.flags()
    ]
