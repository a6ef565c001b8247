"""What people take away from the page: guidelines, exports and the report."""

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse

from bela.campaign import StoredCampaign
from bela.errors import ExportError, QuestionError
from bela.exports import (
    EXPORTS,
    campaign_rows,
    certificate_path,
    export,
    keep_sure,
    loaded_formats,
    read_certificate,
)
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
    """Write the labelled data and their certificate, to be fetched as one file from the address that comes back."""
    stored, notes = service.stored, list[str]()
    with _turn(request, me), _ONE_AT_A_TIME:
        with service.lock:
            result, describe = result_of(stored)
            rows = campaign_rows(stored, with_hidden=body.with_hidden)
        if body.sure is not None:
            result = keep_sure(result, body.sure)
        kind = EXPORTS[body.format]
        ending = next(iter(kind.endings), f".{body.format}")
        kept = "" if body.sure is None else f"-sure-{100 * body.sure:g}"
        with _made_in(stored.path / _FOLDER) as new:
            to = export(
                stored.records, result, new / f"{_stem(stored)}-labelled{kept}{ending}", format=body.format,
                certificate=describe(result), note=notes.append,
                excel_safe=body.excel_safe and kind.for_spreadsheets, **rows,
            )  # fmt: skip
            (new / "README.txt").write_text(_readme(to, stored, notes), encoding="utf-8")
            packed = _pack(new, stored.path / _FOLDER / f"{to.name}.zip")
    return ExportOut(name=packed.name, url=f"/api/exports/{quote(packed.name)}", notes=notes)


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


@contextmanager
def _made_in(folder: Path) -> Iterator[Path]:
    """Make a folder for what is being written, which is gone afterwards."""
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as new:
            (content := Path(new, "content")).mkdir()
            yield content
    except OSError as error:
        raise ExportError(f"nothing can be written to {folder}: {error.strerror or error}") from None


def _readme(to: Path, stored: StoredCampaign, notes: Sequence[str]) -> str:
    """Say what is in an export, and what its certificate is worth."""
    document = read_certificate(to)
    beside = certificate_path(to)
    kept = document["kept"]
    return "\n".join((
        f"{to.name}: {document['counts']['rows']:,} rows with their labels, from the campaign {stored.path.name}.",
        str(document["statement"] if kept is None else kept["statement"]),
        f"{beside.relative_to(to.parent)}: their certificate. To check both: bela verify {stored.path.name} --export "
        f"{to.name}",
        *(f"Note: {note}." for note in notes), "",
    ))  # fmt: skip


def _pack(folder: Path, target: Path) -> Path:
    """Put all that is in a folder into one file that a browser can take away."""
    made = shutil.make_archive(str(folder.with_name("all")), "zip", folder)
    os.replace(made, target)
    return target
