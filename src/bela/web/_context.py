"""How routes find what they work on and for whom, and send what comes of it at once."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic_core import to_json

from bela.web._identity import Visitor
from bela.web._security import VISITOR
from bela.web._service import LabelService


def ready(value: object) -> Response:
    """Return a value as it is, for the routes where every millisecond counts: tests hold it to its schema."""
    return Response(to_json(value), media_type="application/json")


def _service(request: Request) -> LabelService:
    service: LabelService = request.app.state.service
    return service


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.scope[VISITOR]
    return visitor


Service = Annotated[LabelService, Depends(_service)]
Me = Annotated[Visitor, Depends(_visitor)]
