"""Where the campaign stands: once, and as it changes."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from bela.web._context import Here, Service, ready
from bela.web._models import StateOut

router = APIRouter(tags=["state"])


@router.get("/state", response_model=StateOut)
def get_state(service: Service) -> Response:
    """Say where the campaign stands."""
    return ready(service.state())


@router.get("/events", response_class=StreamingResponse)
async def get_events(here: Here) -> StreamingResponse:
    """Send the state whenever it changes, as server-sent events."""
    return StreamingResponse(here.broadcast.lines(), media_type="text/event-stream")
