"""A package that is not bela's adds one of each kind by its entry points, and all of them work as bela's own do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import bela

PROJECT = Path(__file__).parent / "outside"
POINTS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip would install it; by hand, as building one takes tools that may not be there."""
    folder = tmp_path_factory.mktemp("site-packages")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copy(PROJECT / "bela_outside.py", folder)
    info = folder / f"bela_outside-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in POINTS.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    return folder


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Any:
    """Run Python, or a command of bela, in a process that finds the package, in a folder with some data."""
    texts = ["x" * (1 + row % 9) + f" {row}" for row in range(60)]
    (tmp_path / "texts.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    path = os.pathsep.join([str(installed), str(Path(bela.__file__).parents[1])])

    def call(*arguments: object, status: int = 0) -> str:
        found = subprocess.run(
            [sys.executable, *(["-m", "bela"] if arguments[0] != "-c" else []), *map(str, arguments)],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert found.returncode == status, found.stderr
        return found.stdout if status == 0 else found.stderr

    return call


def test_a_campaign_from_the_oracle_to_the_export(run: Any, tmp_path: Path) -> None:
    """An oracle answers at its price, and the labels are written in a format of the same package."""
    found = json.loads(run("run", "texts.csv", "--oracle", "longer=7", "--budget", 20, "--json", "-"))
    assert (found["n_asked"], found["cost"]) == (20, 5.0)
    written = json.loads(run("export", "texts.bela", "--to", "texts.counts", "--json"))
    lines = (tmp_path / "texts.counts").read_text().splitlines()
    assert [line.split(": ")[0] for line in lines] == ["long", "short"]
    assert sum(int(line.split(": ")[1]) for line in lines) == written["n_rows"] == 60
    assert json.loads(Path(written["certificate_file"]).read_text())["export"]["format"] == "counts"
    run("verify", "texts.bela")


def test_a_door_of_its_own_reads_texts(run: Any) -> None:
    """A model of the package is named with its door, and said aloud."""
    told = run("run", "texts.csv", "--oracle", "longer=7", "--budget", 5, "--embed", "plain@lengths")
    assert "text (plain and TF-IDF)" in told


def test_what_it_adds_is_listed(run: Any) -> None:
    """The help has the names, after bela's own."""
    assert "longer" in run("run", "--help")
    assert "counts" in run("export", "--help")
    assert "lengths" in run("run", "--help")


def test_what_it_refuses_is_told(run: Any, tmp_path: Path) -> None:
    """An error of the package's own is one line and status 2, before a campaign is begun."""
    told = run("run", "texts.csv", "--oracle", "longer=a lot", status=2)
    assert "longer=N takes a number of characters" in told
    assert not (tmp_path / "texts.bela").exists()


@pytest.mark.parametrize(
    "name",
    [
        "bela.bounds:BOUNDS",
        "bela.data:READERS",
        "bela.exports:EXPORTS",
        "bela.features:EMBEDDINGS",
        "bela.methods:METHODS",
        "bela.oracles:ORACLES",
    ],
)
def test_each_registry_has_one_more(run: Any, name: str) -> None:
    """Each registry lists what the package added after bela's own, and loads it by its name."""
    module, registry = name.split(":")
    found = run("-c", f"from {module} import {registry} as r; print(r.names[-1], r[r.names[-1]] is not None)")
    [group] = [key for key in POINTS if registry.lower() in key]
    assert found.split() == [*POINTS[group], "True"]


USE = """
import numpy as np
import bela
from bela.bounds import BOUNDS
from bela.data import open_table

table = open_table("poem.paragraphs")
assert [table.record(row)["text"] for row in range(table.n_rows)] == ["one two", "three"]

bound = BOUNDS["hoeffding"]
assert bound([100, 1000], [1, 10], population=10_000, alpha=0.05).tolist() == [1323, 487]

truth = np.where(np.arange(200) % 10 == 0, "rare", "common")
result = bela.label(np.random.default_rng(0).normal(size=(200, 2)), truth, budget=40, method="majority")
assert (result.n_asked, result.method, str(result.certificate.guarantee)) == (40, "majority", "none")
assert set(result.labels[~result.known]) == {"common"}
assert 0 < result.certificate.lower < (result.labels == truth).mean()
print("fine")
"""


def test_a_reader_a_bound_and_a_method(run: Any, tmp_path: Path) -> None:
    """A file of its own kind is read, counts are bounded, and a campaign is run by its method."""
    (tmp_path / "poem.paragraphs").write_text("one\ntwo\n\nthree\n")
    assert run("-c", USE).strip() == "fine"
