"""How routes find what they work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from bela.web._broadcast import Broadcast
from bela.web._service import LabelService


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The service, and the news about it."""

    service: LabelService
    broadcast: Broadcast


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def _service(request: Request) -> LabelService:
    return _context(request).service


Here = Annotated[Context, Depends(_context)]
Service = Annotated[LabelService, Depends(_service)]
