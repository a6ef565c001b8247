"""The web application: routes, errors, and the gate before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI

from bela.web import _routes_answering, _routes_files, _routes_insight, _routes_page, _routes_rows, _routes_state
from bela.web._broadcast import Broadcast
from bela.web._context import Context
from bela.web._errors import ERRORS, add_error_handlers, describe_errors
from bela.web._security import Gate
from bela.web._service import LabelService

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names by which a machine knows itself."""

_ROUTERS = (_routes_state, _routes_answering, _routes_rows, _routes_insight, _routes_files)


def create_app(service: LabelService, *, token: str | None, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """Return the application that serves a campaign.

    Parameters
    ----------
    service
        What answers are given to.
    token
        What whoever comes in must know; None to let everybody in.
    hosts
        The names that the server goes by; "*" for the numbers of all its addresses besides.
    """
    from bela import __version__

    app = FastAPI(
        title="BELA",
        version=__version__,
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
    )
    app.state.context = Context(service=service, broadcast=Broadcast(service))
    for module in _ROUTERS:
        app.include_router(module.router, prefix="/api", responses=ERRORS)
    app.include_router(_routes_page.router)
    add_error_handlers(app)
    describe_errors(app)
    app.add_middleware(Gate, token=token, hosts=tuple(hosts))
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    broadcast: Broadcast = app.state.context.broadcast
    broadcast.start()
    try:
        yield
    finally:
        broadcast.close()
