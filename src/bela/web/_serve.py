"""The web application (routes, errors, and the gate before them), and the server that runs it."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from bela.campaign import StoredCampaign, Team
from bela.errors import ParameterError
from bela.web import _routes_answering, _routes_files, _routes_find, _routes_insight, _routes_team
from bela.web._broadcast import Broadcast
from bela.web._browser import has_screen, lead_to, show_page
from bela.web._connections import limited_protocol
from bela.web._errors import ERRORS, add_error_handlers, describe_errors
from bela.web._identity import Identities, TrustedProxy
from bela.web._roles import check_role
from bela.web._security import Gate
from bela.web._service import LabelService
from bela.web._turns import Turns

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names by which a machine knows itself."""

_FOLDER = Path(__file__).parent / "static"
_ROUTERS = (
    _routes_answering.router, _routes_find.router, _routes_insight.router, _routes_files.router, _routes_team.router,
)  # fmt: skip
_OWN = ("api", "static", "healthz", "favicon.ico")  # what is at the first place of our addresses
DEFAULT_PORT = 8765
_PATIENCE = 2  # seconds for requests that are being answered when the server is told to end
_TRIED = 20  # ports after the usual one
_SWITCH = 0.0005  # seconds after which a fit that computes in Python lets a request go on


def create_app(
    service: LabelService, *, team: Team | None, hosts: Sequence[str] = LOOPBACK, root_path: str = "",
    proxy: TrustedProxy | None = None,
) -> FastAPI:  # fmt: skip
    """Return the application that serves a campaign to its people, to everybody as its owner where there are none.

    `hosts` are the names that the server goes by, "*" for the numbers of all its addresses besides; `root_path` is the
    path that all addresses are below, such as "/pets".
    """
    from bela import __version__

    app = FastAPI(
        title="BELA", version=__version__, openapi_url="/api/openapi.json", lifespan=_lifespan,
        docs_url=None, redoc_url=None,  # the usual pages load scripts from elsewhere
        redirect_slashes=False,  # which know nothing of the root path
    )  # fmt: skip
    app.state.service, app.state.team, app.state.turns = service, team, Turns()
    app.state.broadcast = Broadcast(service, team)
    app.state.identities = Identities(team, alone=not service.team, proxy=proxy)
    for router in _ROUTERS:
        app.include_router(router, prefix="/api", responses=ERRORS, dependencies=[Depends(check_role)])
    app.get("/", include_in_schema=False)(lambda: FileResponse(_FOLDER / "index.html"))
    app.get("/favicon.ico", include_in_schema=False)(lambda: FileResponse(_FOLDER / "icon.svg"))
    app.mount("/static", StaticFiles(directory=_FOLDER))
    add_error_handlers(app)
    describe_errors(app)
    app.add_middleware(Gate, identities=app.state.identities, hosts=tuple(hosts), root=root_path)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.broadcast.start()
    try:
        yield
    finally:
        app.state.broadcast.close()


class _Server(uvicorn.Server):
    """A server that does not wait for pages to close their line to it."""

    def __init__(self, config: uvicorn.Config, broadcast: Broadcast, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._broadcast, self._when_started = broadcast, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._when_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._broadcast.end_lines()
        await super().shutdown(sockets)


def make_server(app: FastAPI, started: Callable[[], object] = lambda: None) -> uvicorn.Server:
    """Return a server for an application, with all its limits; `started` is called when it can be reached."""
    config = uvicorn.Config(
        app, http=limited_protocol(), log_level="error", access_log=False, server_header=False,
        timeout_graceful_shutdown=_PATIENCE, lifespan="on",
        proxy_headers=False,  # or whoever is on this machine could say that they come from elsewhere
    )  # fmt: skip
    return _Server(config, app.state.broadcast, started)


def serve(
    stored: StoredCampaign, *, host: str = "127.0.0.1", port: int | None = None, open_browser: bool = True,
    token: bool = True, team: bool = False, overlap: float = 0.0, lease_seconds: float = 120.0,
    again: float = 0.0, suggest_draws: bool = False, hosts: Sequence[str] = (), root_path: str = "",
    proxy: TrustedProxy | None = None, owner: str | None = None, say: Callable[[str], object] = print,
) -> None:  # fmt: skip
    """Serve the labelling page of a campaign until the process is told to stop.

    Parameters
    ----------
    stored
        The campaign, opened for writing, with revisions in the background.
    host, port
        Where to listen; without a port, the first free one from 8765 on.
    open_browser
        Open the page in a browser, if there is one on this machine.
    token
        Whether people need tokens; without them whoever comes in is the owner, which is for this machine alone.
    team, overlap, lease_seconds, again, suggest_draws
        As in `LabelService`.
    hosts, root_path, proxy
        Further names that the server goes by, and the rest as in `create_app`.
    owner
        What the owner is called beside their answers, in a team.
    say
        Called with the lines that tell where the page is.
    """
    is_local, root = host in LOOPBACK, _check_root(root_path)
    if not token and not is_local:
        raise ParameterError(f"a server that others can reach needs a token: serve on 127.0.0.1 instead of {host}")
    if not token and (hosts or root or proxy):
        raise ParameterError("without a token whoever comes in is the owner: behind a proxy that would be everybody")
    people = _people(stored, say) if token else None
    opener = None if people is None else people.owner(owner)
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    service = LabelService(
        stored, lease_seconds=lease_seconds, overlap=overlap, team=team, again=again, suggest_draws=suggest_draws
    )
    names = [*LOOPBACK, *hosts, *(() if is_local else _names(host))]
    app = create_app(service, team=people, hosts=names, root_path=root, proxy=proxy)
    shown = "localhost" if is_local else socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{root}/"
    if people is not None:
        people.serve_at(address)

    def started() -> None:
        say(f"The labelling page is at {address}" + ("" if opener is None else f"?token={opener.token}"))
        say("Every answer is kept at once. Ctrl-C stops the server.")
        if opened is not None:
            show_page(opened)

    switch = sys.getswitchinterval()
    with ExitStack() as ending:
        ending.callback(listener.close)
        ending.callback(sys.setswitchinterval, switch)
        sys.setswitchinterval(_SWITCH)
        opened = None
        if open_browser and has_screen():
            opened = address
            if opener is not None:  # the file may be found later, where somebody has copied the campaign
                ticket = app.state.identities.ticket(opener.token)
                opened = ending.enter_context(lead_to(stored.path, f"{address}?token={ticket}"))
        make_server(app, started).run(sockets=[listener])


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket at the port that is wanted, or at the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last: OSError | None = None
    for wanted in [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + _TRIED), 0]:
        # With the protocol named, asyncio sends small answers at once; else they may wait for 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, wanted))
            listener.listen(128)
            return listener
        except (OSError, OverflowError) as error:
            listener.close()
            last = error if isinstance(error, OSError) else OSError(str(error))
    what = f"port {port} of {host}" if port is not None else host
    raise ParameterError(f"cannot serve on {what}: {(last and last.strerror) or last}; choose another --port or --host")


def _people(stored: StoredCampaign, say: Callable[[str], object]) -> Team:
    """Return who may come in; where links cannot be kept, for as long as the server runs."""
    if Team.can_be_kept():
        return Team.of(stored.path)
    say("Note: links end with this server, as they cannot be kept: BELA_CONFIG names a folder for them.")
    return Team()


def _check_root(root_path: str) -> str:
    """Return the path that all is below, without a slash at its end."""
    root = root_path.rstrip("/")
    if root and not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+", root):
        raise ParameterError(f"--root-path {root_path!r} is not a path such as /pets or /labelling/pets")
    if root and root.split("/")[1] in _OWN:
        raise ParameterError(f"--root-path cannot begin with /{root.split('/')[1]}, as the page's own addresses do")
    return root


def _names(host: str) -> list[str]:
    """Return the names and numbers by which others may call a server."""
    if host not in ("0.0.0.0", "::"):  # noqa: S104
        return [host]
    return ["*", socket.gethostname(), socket.getfqdn()]
