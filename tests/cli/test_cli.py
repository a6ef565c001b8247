"""The command line: its contract with other programs, and one line for whatever is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bela.cli import app, main
from bela.methods import METHODS

RUN = CliRunner()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two clusters of 60 rows in every kind of file."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = (rng.normal(size=(120, 2)) + 8 * y[:, None]).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "both.npz", X=X, label=y)
    names = np.array(["cat", "dog"])[y]
    rows = [{"a": float(a), "b": float(b), "kind": str(kind)} for (a, b), kind in zip(X, names, strict=True)]
    (tmp_path / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for ending, mark in (("csv", ","), ("tsv", "\t")):
        lines = [mark.join(["a", "b", "kind"]), *(mark.join(map(str, row.values())) for row in rows)]
        (tmp_path / f"table.{ending}").write_text("\n".join(lines) + "\n")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "table.parquet")
    (tmp_path / "parts").mkdir()
    for i, part in enumerate((rows[:50], rows[50:])):
        pq.write_table(pa.Table.from_pylist(part), tmp_path / "parts" / f"{i}.parquet")
    vectors = [{"vector": [row["a"], row["b"]], "kind": row["kind"]} for row in rows]
    (tmp_path / "vectors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in vectors))
    return tmp_path


def simulate(*arguments: object) -> dict[str, Any]:
    """Run `bela simulate` and return its JSON."""
    result = RUN.invoke(app, ["simulate", *map(str, arguments), "--json", "-"])
    assert result.exit_code == 0, result.output
    outcome: dict[str, Any] = json.loads(result.stdout)
    return outcome


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must end with status 2 and one line on stderr; return the line."""
    assert main([*map(str, arguments)]) == 2
    captured = capsys.readouterr()
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("bela: ")
    assert "Traceback" not in captured.err
    return lines[0]


# ------------------------------------------------------------------------------------------------ the contract


@pytest.mark.parametrize("method", [name for name in METHODS.names if name != "audit"])  # which labels nothing
def test_the_json_of_simulate(method: str, files: Path) -> None:
    """OUT has the fields of the contract, plain numbers, and a trajectory that agrees with its end."""
    out = simulate(files / "X.npy", "--truth", files / "y.npy", "--method", method, "--budget", 80, "--seed", 1)
    assert list(out) == [
        "method", "n_rows", "n_classes", "n_asked", "stop_reason", "accuracy", "certificate", "seconds", "peak_rss_mb",
        "trajectory",
    ]  # fmt: skip
    assert (out["method"], out["n_rows"], out["n_classes"]) == (method, 120, 2)
    assert out["n_asked"] == 80
    assert out["stop_reason"] == "budget"
    assert set(out["certificate"]) == {"lower", "confidence", "guarantee"}
    assert 0 <= out["certificate"]["lower"] <= 1
    assert out["seconds"] > 0
    assert sys.platform == "win32" or 20 < out["peak_rss_mb"] < 20_000
    last = out["trajectory"][-1]
    assert set(last) == {"asked", "lower", "accuracy", "leaves"}
    assert last["asked"] == out["n_asked"]
    assert last["accuracy"] == out["accuracy"]
    assert last["lower"] == out["certificate"]["lower"]
    assert [p["asked"] for p in out["trajectory"]] == sorted({p["asked"] for p in out["trajectory"]})


def test_simulate_stops_at_the_target(files: Path) -> None:
    """With a target it stops as soon as the bound is there, and says so."""
    arguments = files / "X.npy", "--truth", files / "y.npy", "--method", "bela-paper", "--target", 0.7
    out = simulate(*arguments)
    assert out["stop_reason"] == "target"
    assert out["certificate"]["lower"] >= 0.7
    assert all(point["lower"] < 0.7 for point in out["trajectory"][:-1])


def test_simulate_stops_without_telling(files: Path) -> None:
    """--stop-after ends a simulation there; its points are those that a longer one has."""
    arguments = files / "X.npy", "--truth", files / "y.npy", "--method", "bela-paper"
    out = simulate(*arguments, "--stop-after", 30)
    assert (out["n_asked"], out["stop_reason"]) == (30, "stopped")
    assert out["trajectory"] == simulate(*arguments, "--budget", 60)["trajectory"][: len(out["trajectory"])]


@pytest.mark.parametrize(
    ("data", "truth"),
    [
        ("X.npy", "y.npy"),
        ("both.npz", "label"),
        ("table.csv", "kind"),
        ("table.tsv", "kind"),
        ("table.jsonl", "kind"),
        ("table.parquet", "kind"),
        ("vectors.jsonl", "kind"),
        ("parts", "kind"),
    ],
)
def test_every_kind_of_file_is_the_same_data(files: Path, data: str, truth: str) -> None:
    """The same rows give the same outcome, whatever file they come from and whatever their labels are called."""
    options = ("--budget", 60, "--seed", 3, "--method", "bela-paper", "--features", "raw")
    expected = simulate(files / "X.npy", "--truth", files / "y.npy", *options)
    given = files / truth if truth.endswith(".npy") else truth
    found = simulate(files / data, "--truth", given, *options)
    for outcome in (expected, found):
        del outcome["seconds"], outcome["peak_rss_mb"]
    assert found == expected


def test_a_folder_of_images_is_labelled_by_its_folders(tmp_path: Path) -> None:
    """Images in folders are rows, and with --truth folder their folders are their labels."""
    image = pytest.importorskip("PIL.Image")
    for label, shade in (("dark", 10), ("light", 240)):
        (tmp_path / label).mkdir()
        for i in range(30):
            image.new("L", (4, 4), shade + i // 4).save(tmp_path / label / f"{i}.png")
    out = simulate(tmp_path, "--truth", "folder", "--budget", 40, "--method", "bela-paper")
    assert (out["n_rows"], out["n_classes"]) == (60, 2)


def test_a_named_dataset_brings_its_labels(tmp_path: Path) -> None:
    """A dataset by name needs no --truth; --json and --chart write files; the rest is said in words."""
    out, chart = tmp_path / "out.json", tmp_path / "chart.svg"
    arguments = ["simulate", "digits", "--budget", "100", "--method", "bela-paper"]
    result = RUN.invoke(app, [*arguments, "--json", str(out), "--chart", str(chart)])
    assert result.exit_code == 0
    assert json.loads(out.read_text())["n_rows"] == 1797
    assert "100 of 1,797 rows were asked" in result.stdout
    assert chart.read_text().startswith("<?xml")


def test_the_demo_ends_with_a_chart_and_a_summary(tmp_path: Path) -> None:
    """`bela demo` needs nothing, says in plain words what came of it, and leaves a chart."""
    result = RUN.invoke(app, ["demo", "--out", str(tmp_path), "--target", "0.5", "--seed", "1"])
    assert result.exit_code == 0, result.output
    for words in ("1,797", "answers", "In truth", "digits.png"):
        assert words in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.png", "digits.svg"]


@pytest.mark.parametrize("start", ["bela", "bela.cli"])
def test_the_program_itself(start: str, files: Path) -> None:
    """Run as a process: JSON on stdout and nothing else, one line and status 2 where something is wrong."""
    command = [sys.executable, "-m", start, "simulate", str(files / "table.csv"), "--budget", "20"]
    good = subprocess.run([*command, "--truth", "kind", "--json", "-"], capture_output=True, text=True, check=False)
    # How far it has come is told where it takes long.
    said = [line for line in good.stderr.splitlines() if " certified (budget 20)" not in line]
    assert (good.returncode, said) == (0, [])
    assert json.loads(good.stdout)["n_asked"] == 20
    bad = subprocess.run([*command, "--truth", "nothing"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.count("\n") == 1
    assert "has no column 'nothing'" in bad.stderr


def test_help_and_version() -> None:
    """Every command has its help; without a command the program says what it can do."""
    for arguments in ([], ["--help"], ["demo", "--help"], ["simulate", "--help"], ["reproduce", "--help"]):
        result = RUN.invoke(app, arguments)
        assert result.exit_code == 0
        assert "Usage: bela" in result.stdout
    assert RUN.invoke(app, ["--version"]).stdout.startswith("bela ")


def test_reproduce_writes_its_page(tmp_path: Path) -> None:
    """`bela reproduce` writes a table, a figure in two forms and a page that shows it."""
    assert main(["reproduce", "synthetic", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "README.md", "synthetic.csv", "synthetic.png", "synthetic.svg"
    }  # fmt: skip
    page = (tmp_path / "README.md").read_text()
    assert "HSAL" in page
    assert "](synthetic.svg)" in page
    curves = {line.split(",")[0] for line in (tmp_path / "synthetic.csv").read_text().splitlines()[1:]}
    assert {"BELA", "HSAL", "PLAL"} <= curves


# ------------------------------------------------------------------------------------------------- bad input


def _save(path: Path, array: Any) -> None:
    np.save(path, np.asarray(array))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--budget", "-1"], "budget"),
        (["--budget", "121"], "budget"),
        (["--budget", "many"], "--budget"),
        (["--target", "0"], "target"),
        (["--target", "1.5"], "target"),
        (["--confidence", "1"], "confidence"),
        (["--seed", "-3"], "seed"),
        (["--method", "oracle-of-delphi"], "bela-paper"),
        (["--method", "bela-paper", "--splitter", "axe"], "axe"),
        (["--features", "psychic"], "auto, raw"),
        (["--json", "no/such/folder/out.json"], "folder"),
        (["--chart", "chart.gif"], "gif"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_a_bad_option(capsys: pytest.CaptureFixture[str], files: Path, options: list[str], says: str) -> None:
    """An option outside its range is named in one line."""
    assert says in fails(capsys, "simulate", files / "X.npy", "--truth", files / "y.npy", *options)


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([[1.0], [np.nan], [2.0]], [0, 1, 0], "NaN"),
        ([[1.0], [np.inf], [2.0]], [0, 1, 0], "infinity"),
        (np.empty((0, 3)), [], "no rows"),
        ([[1.0], [2.0]], [0, 1, 0], "2 rows"),
        ([[1.0], [2.0]], [[0], [1]], "shape"),
        ([[1.0], [2.0]], [0.0, np.nan], "no label"),
        ([[1.0], [2.0]], [0.5, 0.7], "label"),
        ([1.0, 2.0], [0, 1], "rows and columns"),
        ([["a"], ["b"]], [0, 1], "numbers"),
    ],
)
def test_bad_arrays(capsys: pytest.CaptureFixture[str], tmp_path: Path, X: Any, y: Any, says: str) -> None:
    """Rows that cannot be worked with are an error in one line, before any question."""
    _save(tmp_path / "X.npy", X)
    _save(tmp_path / "y.npy", y)
    assert says in fails(capsys, "simulate", tmp_path / "X.npy", "--truth", tmp_path / "y.npy")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", "", "empty"),
        ("head.csv", "a,kind\n", "no rows"),
        ("short.csv", "a,b,kind\n1,2,x\n3\n", "line 3"),
        ("hole.csv", "a,kind\n1,x\n2,\n", "no label"),
        ("twice.csv", "a,a,kind\n1,2,x\n", "twice"),
        ("alone.csv", "kind\nx\n", "nothing tells the rows apart"),
        ("other.csv", "a,b\n1,2\n", "it has a, b"),
        ("cut.jsonl", '{"a": 1, "kind": "x"}\n{"a": 2, "ki', "line 2"),
        ("list.jsonl", "[1, 2]\n", "line 1"),
        ("mixed.jsonl", '{"a": 1, "kind": "x"}\n{"a": 2, "kind": 7}\n', "mixed types"),
        ("cut.npy", "\x93NUMPY", "cut short"),
        ("cut.npz", "PK\x03\x04", "cut short"),
        ("notes.docx", "Dear reader", "ends in none of"),
        ("latin.csv", b"a,kind\n1,\xe9\n", "UTF-8"),
    ],
)
def test_bad_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    """A file that is cut short, mixed or not understood is an error in one line that names it."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    truth = tmp_path / "y.npy" if path.suffix == ".npy" else "kind"
    _save(tmp_path / "y.npy", [0, 1])
    assert says in fails(capsys, "simulate", path, "--truth", truth)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("words.csv", "a,kind\n1,x\nlots,y\nlots,x\n", "column 'a' is of kind"),
        ("fields.jsonl", '{"a": 1, "kind": "x"}\n{"b": 1, "kind": "x"}\n', "NaN"),
        ("null.jsonl", '{"a": null, "kind": "x"}\n{"a": 2, "kind": "y"}\n', "NaN"),
    ],
)
def test_raw_features_are_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str, says: str
) -> None:
    """What is no number, or missing, can be compared otherwise, but not raw."""
    (tmp_path / name).write_text(content)
    assert says in fails(capsys, "simulate", tmp_path / name, "--truth", "kind", "--features", "raw")
    assert simulate(tmp_path / name, "--truth", "kind")["accuracy"] == 1
    assert "no features 'rw'" in fails(capsys, "simulate", tmp_path / name, "--truth", "kind", "--features", "rw")


def test_texts_are_simulated(tmp_path: Path) -> None:
    """A table of texts with an index and semicolons needs nothing but the name of its column; that is no feature."""
    lines = [f"{i};{'good fine' if i % 2 else 'bad poor'} film {i % 7}; {'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join([";text;label", *lines]))
    result = RUN.invoke(app, ["simulate", str(tmp_path / "t.csv"), "--truth", "label", "--stop-after", "30"])
    assert result.exit_code == 0, result.output
    assert "Note: the columns of t.csv are separated by semicolons." in result.stderr
    assert "'Unnamed: 0' is an index" in result.stderr
    assert "spaces around 60 labels" in result.stderr
    np.save(tmp_path / "x.npy", np.arange(120.0).reshape(60, 2))
    raw = simulate(tmp_path / "t.csv", "--truth", "label", "--features", tmp_path / "x.npy", "--stop-after", 20)
    y = tmp_path / "y.npy"
    np.save(y, ["yes" if i % 2 else "no" for i in range(60)])
    assert raw["trajectory"] == simulate(tmp_path / "x.npy", "--truth", y, "--stop-after", 20)["trajectory"]


def test_missing_things(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    """A file, a truth or a package that is not there is named, with what to do."""
    assert "no file or folder" in fails(capsys, "simulate", files / "nothing.csv", "--truth", "kind")
    assert "--truth is missing" in fails(capsys, "simulate", files / "X.npy")
    assert "no .npy file" in fails(capsys, "simulate", files / "X.npy", "--truth", "kind")
    assert "no file" in fails(capsys, "simulate", files / "X.npy", "--truth", files / "z.npy")
    assert "no array 'kind'" in fails(capsys, "simulate", files / "both.npz", "--truth", "kind")
    (files / "pictures").mkdir()
    assert "no images" in fails(capsys, "simulate", files / "pictures", "--truth", "folder")
    assert "no experiment" in fails(capsys, "reproduce", "imagenet")
    assert "--jobs" in fails(capsys, "reproduce", "synthetic", "--jobs", "0")
    assert "DATA" in fails(capsys, "simulate")


def test_one_class_and_one_row_are_data_too(tmp_path: Path) -> None:
    """One class, or one row, is labelled like anything else."""
    _save(tmp_path / "X.npy", np.arange(40.0).reshape(20, 2))
    _save(tmp_path / "y.npy", np.zeros(20, dtype=int))
    out = simulate(tmp_path / "X.npy", "--truth", tmp_path / "y.npy", "--budget", 10)
    assert (out["n_classes"], out["accuracy"]) == (1, 1.0)
    _save(tmp_path / "X.npy", [[1.0, 2.0]])
    _save(tmp_path / "y.npy", ["only"])
    out = simulate(tmp_path / "X.npy", "--truth", tmp_path / "y.npy")
    assert (out["n_rows"], out["n_asked"], out["accuracy"]) == (1, 1, 1.0)
