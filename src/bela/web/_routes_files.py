"""Guidelines, exports and the report; and when to stop."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse

from bela.web._context import Service
from bela.web._files import find_export, guidelines_html, make_export, make_report, read_guidelines, write_guidelines
from bela.web._models import AimIn, ExportIn, ExportOut, GuidelinesIn, GuidelinesOut, StateAfter

router = APIRouter(tags=["files"])


@router.get("/guidelines", response_model=GuidelinesOut)
def get_guidelines(service: Service) -> dict[str, str]:
    """Return the guidelines, as they were written and as HTML."""
    markdown = read_guidelines(service.stored.path)
    return {"markdown": markdown, "html": guidelines_html(markdown)}


@router.put("/guidelines", response_model=GuidelinesOut)
def put_guidelines(body: GuidelinesIn, service: Service) -> dict[str, str]:
    """Keep other guidelines."""
    write_guidelines(service.stored.path, body.markdown)
    return {"markdown": body.markdown, "html": guidelines_html(body.markdown)}


@router.post("/aim", response_model=StateAfter)
def post_aim(body: AimIn, service: Service) -> dict[str, Any]:
    """Change when to stop."""
    service.aim(body.target, body.budget)
    return {"state": service.state()}


@router.post("/exports", response_model=ExportOut)
def post_export(body: ExportIn, service: Service) -> dict[str, str]:
    """Write the labelled data, to be fetched from the address that comes back."""
    name = make_export(service, body.format)
    return {"name": name, "url": f"/api/exports/{quote(name)}"}


@router.get("/exports/{name}", response_class=FileResponse)
def get_export(name: str, service: Service) -> FileResponse:
    """Return an export as a download."""
    path = find_export(service.stored, name)
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


@router.get("/report", response_class=HTMLResponse)
def get_report(service: Service) -> HTMLResponse:
    """Return the report as one HTML file to be kept; it is not opened here, where it could pass for the page."""
    text, name = make_report(service)
    return HTMLResponse(text, headers={"Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"})
