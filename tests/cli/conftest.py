"""Campaigns on disk, and a way to call the command line as a program would."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.cli import main

N_ROWS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command said, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Call = Callable[..., Said]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line; `typed` is what is on standard input."""

    def call(*arguments: object, typed: str = "", status: int | None = 0) -> Said:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), "utf-8"))
        ended = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        said = Said(status=ended, out=captured.out, err=captured.err)
        assert "Traceback" not in said.err
        assert status is None or ended == status, said
        if ended == 2 and not said.out.startswith("{"):
            lines = said.err.strip().splitlines()
            assert len(lines) == 1, said.err
            assert lines[0].startswith("bela: ")
        return said

    return call


def pets(classes: tuple[str, str] = ("cat", "dog"), n_rows: int = N_ROWS) -> list[dict[str, Any]]:
    """Return two clusters of pets."""
    rng = np.random.default_rng(0)
    side = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 2)) + 8 * side[:, None]
    return [
        {"name": f"pet{i}", "weight": round(float(a), 4), "height": round(float(b), 4), "kind": classes[k]}
        for i, ((a, b), k) in enumerate(zip(X, side, strict=True))
    ]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as people do."""
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="session")
def pets_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of pets, to be copied."""
    return write_csv(tmp_path_factory.mktemp("pets") / "pets.csv", pets())


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of pets in the current folder: `pets.csv`, whose kinds are in its last column."""
    monkeypatch.chdir(tmp_path)
    return write_csv(tmp_path / "pets.csv", pets())


@pytest.fixture
def make_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes a table of pets into the current folder."""
    monkeypatch.chdir(tmp_path)

    def make(classes: tuple[str, str] = ("cat", "dog"), *, name: str = "pets.csv", **options: Any) -> Path:
        return write_csv(tmp_path / name, pets(classes, **options))

    return make
