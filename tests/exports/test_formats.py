"""Formats come from a registry: what is added in one place is found everywhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from bela.exports import EXPORTS, check_export, read_certificate
from bela.web._routes_files import router

ROOT = Path(__file__).parents[2]

WIKI = """
from bela.exports import ExportFormat


def write(rows, path):
    with path.open("x", encoding="utf-8") as file:
        for _, batch in rows.labelled():
            for record in batch.to_pylist():
                file.write("|" + "|".join(str(value) for value in record.values()) + "|\\n")
    return {".about": "a companion"}


WIKI = ExportFormat(title="Wiki", description="A table for the wiki", write=write, endings=(".wiki",))
GONE = ExportFormat(title="Gone", description="Takes what is not there", write=write, needs=("no_such_package",))
"""


def install(folder: Path) -> None:
    """Install a small outside package: one module, and what a wheel says about it."""
    (folder / "wiki_export.py").write_text(WIKI)
    info = folder / "wiki_export-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wiki-export\nVersion: 1.0\n")
    points = ("wiki = wiki_export:WIKI", "gone = wiki_export:GONE", "broken = wiki_export:NOTHING")
    (info / "entry_points.txt").write_text("[bela.exports]\n" + "".join(f"{point}\n" for point in points))


WITH_IT = """
import contextlib, io, json, sys
sys.path.insert(0, ".")
from fastapi import FastAPI
from fastapi.testclient import TestClient
from bela.cli import main
from bela.web._routes_files import router
app = FastAPI()
app.include_router(router)
said = [[0, TestClient(app).get("/exports").text]]
for arguments in json.loads(sys.argv[1]):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        status = main(arguments)
    said.append([status, text.getvalue()])
print(json.dumps(said))
"""


def run_with_it(folder: Path, *commands: str) -> list[tuple[int, str]]:
    """Say what the page lists and how commands end, in a process that has the package installed."""
    arguments = json.dumps([command.split() for command in commands])
    run = subprocess.run(
        [sys.executable, "-c", WITH_IT, arguments], capture_output=True, text=True, cwd=folder, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_another_package_adds_a_format_in_one_place(tmp_path):
    """It is in the help and in the page's list, is chosen by its name or its ending, and is written whole."""
    install(tmp_path)
    rows = "".join(f"{i % 2 + i / 100},{'odd' if i % 2 else 'even'}\n" for i in range(20))
    (tmp_path / "data.csv").write_text("size,kind\n" + rows)
    page, helped, *written, gone, broken, ours = run_with_it(
        tmp_path,
        "export --help",
        "run data.csv --truth kind --method random --budget 6 --target 1",
        "export data.csv --to out.wiki",
        "export data.csv --to out.txt --format wiki",
        "verify data.csv --export out.wiki",
        "export data.csv --to x --format gone",
        "export data.csv --to x --format broken",
        "export data.csv --to out.csv",
    )
    assert '"title":"Wiki","description":"A table for the wiki"' in page[1]
    assert "broken" not in page[1]
    assert "wiki" in helped[1]
    assert [status for status, _ in written] == [0, 0, 0, 0], written
    assert (tmp_path / "out.wiki").read_text() == (tmp_path / "out.txt").read_text()
    assert len((tmp_path / "out.wiki").read_text().splitlines()) == 20
    assert (tmp_path / "out.wiki.about").read_text() == "a companion"
    assert read_certificate(tmp_path / "out.wiki")["export"]["format"] == "wiki"
    assert "there is no export format 'wiki'" in check_export(tmp_path / "out.wiki")[0]  # where it is not installed
    assert gone[0] == broken[0] == 2
    assert "needs the package 'no_such_package'" in gone[1]
    assert "'wiki-export' cannot be loaded" in broken[1]
    assert ours[0] == 0  # one that cannot be loaded disturbs no other


def test_the_page_lists_what_the_registry_holds():
    """Each format with its title and what it is good for."""
    app = FastAPI()
    app.include_router(router)
    listed = TestClient(app).get("/exports").json()
    assert [(one["name"], one["title"]) for one in listed] == [(name, EXPORTS[name].title) for name in EXPORTS]
    assert all(one["description"] for one in listed)


@pytest.mark.parametrize("name", EXPORTS.names)
def test_the_documentation_lists_what_the_registry_holds(name):
    """Name, endings and purpose of each format are in the table of docs/campaigns.md."""
    text = (ROOT / "docs" / "campaigns.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `{name}` \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert row == (", ".join(f"`{ending}`" for ending in EXPORTS[name].endings), EXPORTS[name].description)
