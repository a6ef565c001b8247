"""The page itself, and the library that draws its charts."""

from __future__ import annotations

import mimetypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def get_page() -> FileResponse:
    """Return the page."""
    return _file("index.html")


@router.get("/static/{name:path}")
def get_static(name: str) -> FileResponse:
    """Return a file of the page."""
    return _file(name)


@router.get("/favicon.ico")
def get_icon() -> FileResponse:
    """Return the sign of the page."""
    return _file("icon.svg")


@router.get("/vendor/plotly.min.js")
def get_plotly() -> FileResponse:
    """Return the bundle that comes with Plotly's Python package."""
    path = _plotly()
    if path is None:
        raise HTTPException(404, "the plotly package has no bundle for browsers")
    return FileResponse(path, media_type="text/javascript", headers={"Cache-Control": "private, max-age=86400"})


def _file(name: str) -> FileResponse:
    """Return one of our own files; names that lead anywhere else are names of nothing."""
    path = _files().get(name)
    if path is None or not path.is_file():
        raise HTTPException(404, "there is no such file")
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind)


def _files() -> dict[str, Path]:
    return {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}


@cache
def _plotly() -> Path | None:
    spec = find_spec("plotly")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path
    return None
