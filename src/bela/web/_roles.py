"""What annotators may do, and what they are shown: all that is not open to them is for owners.

A second opinion must not know the first, so annotators are shown no label of anybody else: no rows with labels, no
exports, no counts of classes that would tell what was just answered.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

from bela.views import CampaignStatus
from bela.web._identity import Visitor
from bela.web._security import VISITOR

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
_OPEN: set[Callable[..., object]] = set()


def open_to_annotators(endpoint: Endpoint) -> Endpoint:
    """Let annotators ask for something, too; it has to keep from them what is not theirs."""
    _OPEN.add(endpoint)
    return endpoint


def check_role(request: Request) -> None:
    """Refuse what is not for whoever asks for it."""
    visitor: Visitor = request.scope[VISITOR]
    if not visitor.is_owner and request.scope["endpoint"] not in _OPEN:
        raise HTTPException(403, "this is for the owner of the campaign: annotators answer, skip, flag and undo")


def shown_to(visitor: Visitor, status: CampaignStatus) -> CampaignStatus:
    """Return the status as somebody may see it."""
    return status if visitor.is_owner else for_annotators(status)


def for_annotators(status: CampaignStatus) -> CampaignStatus:
    """Return the status without what tells how others have answered."""
    classes = [replace(one, n_answers=0, n_labels=0) for one in status.classes]
    return replace(status, classes=classes, people=())
