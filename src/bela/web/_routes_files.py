"""What people take away from the page: guidelines, exports and the report."""

import os
import re
import shutil
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse

from bela.campaign import StoredCampaign
from bela.errors import ExportError, QuestionError
from bela.exports import EXPORTS, export, keep_sure, loaded_formats
from bela.reports import write_report
from bela.views import Reporter, guidelines_html, read_guidelines, result_of, write_guidelines
from bela.web._context import Me, Service
from bela.web._identity import Visitor
from bela.web._models import ExportIn, ExportOut, FormatOut, GuidelinesIn, GuidelinesOut
from bela.web._roles import open_to_annotators
from bela.web._turns import Turns

router = APIRouter(tags=["files"])
_FOLDER = "exports"
_ONE_AT_A_TIME = threading.Lock()  # exports, as they are written to the same files


@router.get("/guidelines")
@open_to_annotators
def get_guidelines(service: Service) -> GuidelinesOut:
    """Return the guidelines, as they were written and as HTML."""
    markdown = read_guidelines(service.stored.path)
    return GuidelinesOut(markdown=markdown, html=guidelines_html(markdown))


@router.put("/guidelines")
def put_guidelines(body: GuidelinesIn, service: Service) -> GuidelinesOut:
    """Keep other guidelines."""
    write_guidelines(service.stored.path, body.markdown)
    return GuidelinesOut(markdown=body.markdown, html=guidelines_html(body.markdown))


@router.get("/exports")
def get_formats() -> list[FormatOut]:
    """Return the formats that labels can be taken away in."""
    formats = loaded_formats().items()
    return [FormatOut(name=name, title=kind.title, description=kind.description) for name, kind in formats]


@router.post("/exports")
def post_export(body: ExportIn, service: Service, me: Me, request: Request) -> ExportOut:
    """Write the labelled data, to be fetched from the address that comes back."""
    stored, notes = service.stored, list[str]()
    with _turn(request, me), _ONE_AT_A_TIME:
        with service.lock:
            result, describe = result_of(stored)
        if body.sure is not None:
            result = keep_sure(result, body.sure)
        folder = stored.path / _FOLDER
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ExportError(f"{folder} cannot be made: {error.strerror or error}") from None
        ending = next(iter(EXPORTS[body.format].endings), f".{body.format}")
        kept = "" if body.sure is None else f"-sure-{100 * body.sure:g}"
        to = export(
            stored.records, result, folder / f"{_stem(stored)}-labelled{kept}{ending}", format=body.format,
            ids=stored.ids(), given=stored.given, label_column=stored.settings.label_column,
            certificate=describe(result), overwrite=True, note=notes.append,
        )  # fmt: skip
        name = _packed(to).name if to.is_dir() else to.name
    return ExportOut(name=name, url=f"/api/exports/{quote(name)}", notes=notes)


@router.get("/exports/{name}", response_class=FileResponse)
def get_export(name: str, service: Service) -> FileResponse:
    """Return an export as a download."""
    path = _find_export(service.stored, name)
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


@router.get("/report", response_class=HTMLResponse)
def get_report(service: Service, me: Me, request: Request) -> HTMLResponse:
    """Return the report as one HTML file to be kept; it is not opened here, where it could pass for the page."""
    with _turn(request, me):
        reporter = Reporter(service.stored, view=service.view, pictures=service.pictures)
        with service.lock:
            gather = reporter.look(service.monitor.notes)
        report = write_report(gather())
    name = quote(f"{_stem(service.stored)}-report.html")
    return HTMLResponse(report, headers={"Content-Disposition": f"attachment; filename*=utf-8''{name}"})


def _turn(request: Request, me: Visitor) -> AbstractContextManager[None]:
    """Let somebody have one thing made at a time."""
    turns: Turns = request.app.state.turns
    return turns.of(me.id)


def _find_export(stored: StoredCampaign, name: str) -> Path:
    """Return an export by its name, which names a file there and nothing else."""
    folder = stored.path / _FOLDER
    names = os.listdir(folder) if folder.is_dir() else []
    path = folder / name
    if name not in names or name.startswith(".") or path.is_symlink() or not path.is_file():
        raise QuestionError("there is no such export: make it first")
    return path


def _stem(stored: StoredCampaign) -> str:
    return re.sub(r"[^\w.-]+", "-", stored.path.name.removesuffix(".bela")).strip(".-") or "data"


def _packed(folder: Path) -> Path:
    """Return a folder as one file that a browser can take away."""
    new = folder.with_name(f".{folder.name}.part")
    made = shutil.make_archive(str(new), "zip", folder.parent, folder.name)
    target = folder.with_name(f"{folder.name}.zip")
    os.replace(made, target)
    return target
