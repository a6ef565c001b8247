"""The layout holds what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bela

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "bela"


def run(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_imports_go_one_way():
    """The import contract of pyproject.toml holds, with nothing ignored."""
    run(str(Path(sys.executable).with_name("lint-imports")))


def test_types_are_right():
    """mypy --strict has nothing to say."""
    run(sys.executable, "-m", "mypy")


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_the_style_is_kept(command):
    """ruff has nothing to say."""
    run(sys.executable, "-m", "ruff", *command, ".")


def test_heavy_packages_are_imported_where_they_are_used():
    """`import bela` loads neither scikit-learn nor matplotlib nor anything of the command line."""
    loaded = run(sys.executable, "-c", "import bela, sys; print(*sys.modules)").split()
    assert not {"sklearn", "matplotlib", "typer", "rich", "pandas", "scipy.stats"} & set(loaded)


def test_benchmarks_find_what_they_import():
    """Each of them; studio.py runs where Label Studio is installed."""
    code = """
import importlib, pathlib, sys
sys.path.insert(0, "benchmarks")
for file in sorted(pathlib.Path("benchmarks").glob("*.py")):
    if file.stem != "studio":
        importlib.import_module(file.stem)
"""
    run(sys.executable, "-c", code)


def test_one_module_imports_dask():
    """Where the rows lie is the business of one file; it is loaded when somebody brings such rows."""
    found = {
        file.relative_to(SOURCES).as_posix()
        for file in SOURCES.rglob("*.py")
        if re.search(r"^\s*(import|from) (dask|distributed)\b", file.read_text(), re.M)
    }
    assert found == {"data/_cluster.py"}
    loaded = run(sys.executable, "-c", "import bela, bela.cli, sys; print(*sys.modules)").split()
    assert not {"dask", "distributed", "fsspec"} & set(loaded)


def test_the_public_names():
    """What is exported is pinned, sorted and there."""
    assert bela.__all__ == sorted(bela.__all__)
    assert bela.__all__ == [
        "BelaError",
        "BelaLabeler",
        "Campaign",
        "Certificate",
        "Question",
        "Result",
        "Role",
        "Simulation",
        "StopReason",
        "certify",
        "label",
        "simulate",
    ]
    assert all(hasattr(bela, name) for name in bela.__all__)


def test_no_class_has_the_name_of_another():
    """A name means one thing: no two classes of the project are called the same."""
    names = [name for file in SOURCES.rglob("*.py") for name in re.findall(r"^ *class (\w+)", file.read_text(), re.M)]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_no_file_is_long():
    """Past 400 lines a file holds more than one thing."""
    assert [file.name for file in SOURCES.rglob("*.py") if len(file.read_text().splitlines()) > 400] == []
