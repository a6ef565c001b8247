"""What the page keeps in a campaign's folder, and takes away from there: guidelines, exports, the report."""

from __future__ import annotations

import os
import re
import shutil
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bela.campaign import StoredCampaign
from bela.errors import ExportError, QuestionError
from bela.exports import certificate_document, export
from bela.records import Result
from bela.web._service import LabelService

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

GUIDELINES = "guidelines.md"
EXPORTS = "exports"
_ENDINGS = {"label-studio": ".label-studio.json", "snorkel": ".npz", "hf": ".hf"}
_ONE_AT_A_TIME = threading.Lock()


def read_guidelines(folder: Path) -> str:
    """Return the guidelines of a campaign, "" where there are none."""
    try:
        return (folder / GUIDELINES).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def write_guidelines(folder: Path, markdown: str) -> None:
    """Keep guidelines, whole or not at all."""
    new = folder / f".{GUIDELINES}.{threading.get_ident()}.part"
    try:
        with new.open("w", encoding="utf-8", newline="\n") as file:
            file.write(markdown)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, folder / GUIDELINES)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ExportError(f"the guidelines cannot be written: {error.strerror or error}") from None


def guidelines_html(markdown: str) -> str:
    """Return guidelines as HTML in which nothing of the text is HTML.

    Examples
    --------
    >>> guidelines_html("**cat** <script>alert(1)</script>")
    '<p><strong>cat</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    html: str = _markdown().render(markdown)
    return html


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Addresses of scripts are refused by markdown-it itself; pictures would have to come from elsewhere.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def make_export(service: LabelService, form: str) -> str:
    """Write the labelled data into the campaign's folder, and return the name of the file."""
    stored = service.stored
    with _ONE_AT_A_TIME:
        result, document = _result(service)
        folder = stored.path / EXPORTS
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ExportError(f"{folder} cannot be made: {error.strerror or error}") from None
        name = f"{_stem(stored)}-labelled{_ENDINGS.get(form, f'.{form}')}"
        to = export(
            stored.records, result, folder / name,
            format=form, ids=stored.ids(), given=stored.given, label_column=stored.settings.label_column,
            certificate=document, overwrite=True,
        )  # fmt: skip
        return _packed(to).name if to.is_dir() else to.name


def make_report(service: LabelService) -> tuple[str, str]:
    """Return the report of a campaign as it stands, and the name of the file to keep it in."""
    from bela.reports import write_report
    from bela.web._report import Reporter

    stored = service.stored
    reporter = Reporter(stored, view=service.view, pictures=service.pictures)
    with service.lock:
        reporter.look(service.notes)
    return write_report(reporter.facts()), f"{_stem(stored)}-report.html"


def find_export(stored: StoredCampaign, name: str) -> Path:
    """Return an export by its name, which names a file there and nothing else."""
    folder = stored.path / EXPORTS
    names = os.listdir(folder) if folder.is_dir() else []
    path = folder / name
    if name not in names or name.startswith(".") or path.is_symlink() or not path.is_file():
        raise QuestionError("there is no such export: make it first")
    return path


def _result(service: LabelService) -> tuple[Result, dict[str, Any]]:
    """Return the labels of this moment, with what certifies them."""
    stored = service.stored
    with service.lock:
        result = stored.campaign.result()
        at = {"events": stored.journal.n_events, "digest": stored.journal.digest}
        target, n_skipped, given = stored.campaign.target, stored.campaign.n_skipped, stored.given
    document = certificate_document(result, stored.records, target=target, given=given, n_skipped=n_skipped)
    return result, {**document, "journal": at}


def _stem(stored: StoredCampaign) -> str:
    return re.sub(r"[^\w.-]+", "-", stored.path.name.removesuffix(".bela")).strip(".-") or "data"


def _packed(folder: Path) -> Path:
    """Return a folder as one file that a browser can take away."""
    new = folder.with_name(f".{folder.name}.part")
    made = shutil.make_archive(str(new), "zip", folder.parent, folder.name)
    target = folder.with_name(f"{folder.name}.zip")
    os.replace(made, target)
    return target
