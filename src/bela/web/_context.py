"""How routes find what they work on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response

from bela.web._broadcast import Broadcast
from bela.web._service import LabelService


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The service, and the news about it."""

    service: LabelService
    broadcast: Broadcast


def ready(content: Any) -> Response:
    """Return an answer as it is, for the routes where every millisecond counts: tests hold it to its schema."""
    return Response(json.dumps(content, allow_nan=False), media_type="application/json")


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def _service(request: Request) -> LabelService:
    return _context(request).service


Here = Annotated[Context, Depends(_context)]
Service = Annotated[LabelService, Depends(_service)]
