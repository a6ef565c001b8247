"""What annotators may do, and what they are shown: all that is not open to them is for owners.

A second opinion must not know the first, so annotators are shown no label of anybody else: no rows with labels, no
exports, no counts of classes that would tell what was just answered, and where there are second opinions no bounds.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

from bela.campaign import Verdict
from bela.views import CampaignStatus
from bela.web._identity import Visitor
from bela.web._security import VISITOR
from bela.web._service import LabelService

_WITHHELD = "How good the labels are is for owners to see, so that second opinions are given without knowing it."
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


def shown_to(visitor: Visitor, status: CampaignStatus, service: LabelService) -> CampaignStatus:
    """Return the status as somebody may see it."""
    return status if visitor.is_owner else for_annotators(status, blind=service.second_opinions)


def for_annotators(status: CampaignStatus, *, blind: bool) -> CampaignStatus:
    """Return the status without what tells how others have answered; `blind`, also without what follows from that.

    Where there are second opinions, a bound that moves would tell whether the first answer was the expected one, and so
    would a release that is made because of it: revisions are neither counted nor among the events, but for the first.
    """
    classes = [replace(one, n_answers=0, n_labels=0) for one in status.classes]
    status = replace(status, classes=classes, people=())
    if not blind:
        return status
    audit = None if status.audit is None else replace(
        status.audit, verdict=Verdict.UNDECIDED, upper=1.0, corrected=0.0, n_mistakes=0, claim=_WITHHELD, details=()
    )  # fmt: skip
    return replace(
        status, lower=0.0, expected=None, claim=_WITHHELD, forecast=None, ladder=(), advice=None, corrected=0,
        audit=audit, n_revisions=min(status.n_revisions, 1), seq=status.seq - status.n_revisions, withheld=True,
    )  # fmt: skip
