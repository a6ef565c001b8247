"""`bela certify`: its words and statuses, a person in the terminal, and answers that survive everything."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from bela.cli import app, main
from bela.cli._rows import Rows

RUN = CliRunner()


def make_rows(n_rows: int = 400, every: int = 80) -> list[dict[str, str]]:
    """Rows of which one in so many is wrong, with text that is hard on parsers."""
    return [
        {
            "text": f'row {i}, "quoted"\r\nand a second line é' if i % 3 else "",
            "kind": "dog" if i % every == 0 else "cat",
            "score": str((i % every) / every),
            "truth": "cat",
        }
        for i in range(n_rows)
    ]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write rows as the ending says."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "pets.csv", make_rows())


def certify(data: Path, *arguments: object, typed: str | None = None) -> Result:
    return RUN.invoke(app, ["certify", str(data), "--label", "kind", *map(str, arguments)], input=typed)


def outcome(data: Path, *arguments: object, typed: str | None = None) -> dict[str, Any]:
    """Run it and return its JSON."""
    result = certify(data, *arguments, "--json", "-", typed=typed)
    assert result.exit_code in (0, 1), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert (found["verdict"] == "certified") == (result.exit_code == 0)
    return found


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must end with status 2 and one line on stderr; return the line."""
    assert main([*map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("bela: ")
    return captured.err


# ------------------------------------------------------------------------------------------- truth from a column


def test_certified_in_plain_words(data: Path) -> None:
    """Status 0, one sentence that says it all, the file as it is and corrected, the mistakes, and no other files."""
    result = certify(data, "--truth", "truth", "--target", "0.95", "--seed", 3)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Certified: at least 95 % of the 400 labels are right (confidence 95 %), after ")
    n_mistakes = int(re.search(r"(\d+) mistakes found", lines[0])[1])
    assert n_mistakes > 1
    assert lines[1].startswith("pets.csv as it is: at least 95.")
    assert lines[2].startswith(f"With the {n_mistakes} mistakes found corrected: at least 9")
    wrong = [f"  row {row}: dog should be cat" for row in range(0, 400, 80)]
    assert len(lines[3:]) == n_mistakes
    assert set(lines[3:]) <= set(wrong)
    assert [path.name for path in data.parent.iterdir()] == ["pets.csv"]


def test_refuted_and_undecided(tmp_path: Path) -> None:
    """Status 1 for labels that miss the target, and for a budget that was too small to tell."""
    data = write(tmp_path / "bad.csv", make_rows(every=10))
    result = certify(data, "--truth", "truth", "--seed", 2)
    assert result.exit_code == 1
    assert result.stdout.startswith("Refuted: fewer than 95 % of the 400 labels are right (confidence 95 %), after ")
    assert "more: --mistakes FILE.csv writes them all" in result.stdout
    result = certify(data, "--truth", "truth", "--budget", "3")
    assert result.exit_code == 1
    assert result.stdout.startswith("Not decided: ")
    assert "after 3 answers" in result.stdout


def test_json_and_mistakes(data: Path, tmp_path: Path) -> None:
    """The JSON has the fields of the contract; the mistakes are written with their rows and right labels."""
    found = outcome(data, "--truth", "truth", "--seed", 3, "--mistakes", tmp_path / "mistakes.csv")
    assert found["n_mistakes"] > 1
    assert list(found) == [
        "verdict", "target", "n_rows", "n_asked", "n_mistakes", "n_skipped", "certificate", "corrected", "upper",
        "seed", "mistakes",
    ]  # fmt: skip
    assert found["certificate"]["kind"] == "anytime"
    assert 0.95 <= found["certificate"]["lower"] <= 1 - 5 / 400 <= found["upper"]
    assert found["corrected"]["lower"] == pytest.approx(found["certificate"]["lower"] + found["n_mistakes"] / 400)
    with (tmp_path / "mistakes.csv").open(newline="", encoding="utf-8") as file:
        mistakes = list(csv.DictReader(file))
    assert [(int(m["row"]), m["label"], m["right_label"]) for m in mistakes] == [
        (m["row"], m["label"], m["answer"]) for m in found["mistakes"]
    ]
    assert all(mistake["text"] == make_rows()[int(mistake["row"])]["text"] for mistake in mistakes)


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "json", "parquet"])
def test_every_kind_of_file_is_the_same_data(data: Path, tmp_path: Path, ending: str) -> None:
    """The same rows give the same outcome, whatever file they come from; each row reads back as it was written."""
    other = write(tmp_path / f"pets.{ending}", make_rows())
    assert outcome(other, "--truth", "truth") == outcome(data, "--truth", "truth")
    for path in (data, other):
        rows = Rows(path, ["kind"])
        assert [rows[i] for i in range(rows.n_rows)] == make_rows()
        assert rows.values["kind"] == [row["kind"] for row in make_rows()]


def test_labels_are_compared_as_text(tmp_path: Path) -> None:
    """3, "3" and 3.0 are one label; a row without a truth counts as wrong."""
    rows = [{"kind": 3, "truth": ["3", 3.0, 3, None][i % 4]} for i in range(40)]
    data = tmp_path / "numbers.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = outcome(data, "--truth", "truth", "--target", "0.9")
    assert (found["verdict"], found["n_mistakes"], found["n_skipped"]) == ("undecided", 0, 10)
    assert (found["certificate"]["lower"], found["upper"]) == (0.75, 1.0)
    assert "10 rows without an answer counted as wrong" in certify(data, "--truth", "truth").stdout


def test_scores_change_the_draws_only(data: Path) -> None:
    """With --score other rows are drawn, and the verdict is of the same kind."""
    plain, scored = outcome(data, "--truth", "truth"), outcome(data, "--truth", "truth", "--score", "score")
    assert plain["verdict"] == scored["verdict"] == "certified"
    assert plain["n_asked"] != scored["n_asked"]


# --------------------------------------------------------------------------------------------- a person answers


def log_of(data: Path) -> list[dict[str, Any]]:
    path = data.with_name(f"{data.name}.certify.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_whole_session(data: Path) -> None:
    """Enter, y, n, a label, a label mistyped, skip, undo and quit do what they say, and each answer is on disk."""
    typed = ["", "y", "N", "dog", "dgo", "cat", "s", "u", "", "bird", "bird", "q"]
    result = certify(data, typed="\n".join(typed) + "\n")
    assert result.exit_code == 1
    assert "No label of this file is dgo: type it again" in result.stdout
    assert result.stdout.count("right? ") == len(typed)
    about, *events = log_of(data)
    assert (about["n_rows"], about["label"], about["seed"]) == (400, "kind", 0)
    assert [event.get("is", next(iter(event))) for event in events] == [
        "cat", "cat", None, "dog", "cat", "skip", "undo", "cat", "bird"
    ]  # fmt: skip
    assert "after 7 answers, 3 mistakes found" in result.stdout
    assert "Of 1 mistake nobody said what would be right." in result.stdout
    assert "run the same command to go on" in result.stdout


def test_the_row_is_shown(data: Path) -> None:
    """The question shows the other columns, the label, and where the audit stands."""
    result = certify(data, typed="\n\n\nq\n")
    row = log_of(data)[2]["row"]
    shown = result.stdout.split("right? ")[1]
    assert "1 answer, 0 mistakes, at least " in shown
    assert f" % right, target 95 % (row {row})" in shown
    assert f"  kind: {make_rows()[row]['kind']}" in shown
    assert f"score: {make_rows()[row]['score']}" in shown


def test_nothing_in_a_row_steers_the_terminal(tmp_path: Path) -> None:
    """Escape sequences in the data are not passed on, and markup is text."""
    rows = [{"text": "\x1b[2J[bold]x[/]" + "y" * 3000, "kind": "cat"} for _ in range(5)]
    result = certify(write(tmp_path / "evil.csv", rows), typed="q\n")
    assert "\x1b" not in result.stdout
    assert "[bold]x[/]" in result.stdout
    assert "y" * 2001 not in result.stdout


def test_classes_named_like_keys(tmp_path: Path) -> None:
    """Where y and n are classes, they are answers, and the keys need a slash."""
    rows = [{"kind": "yn"[i % 2]} for i in range(50)]
    data = write(tmp_path / "binary.csv", rows)
    result = certify(data, typed="y\nn\n/n\n/s\n/u\n\n/q\n")
    assert "/n: it is wrong" in result.stdout
    events = log_of(data)[1:]
    assert [event.get("is", next(iter(event))) for event in events[:5]] == ["y", "n", None, "skip", "undo"]
    assert events[5]["is"] == rows[events[5]["row"]]["kind"]


SCRIPT = ["", "", "dog", "", "s", "", "n", "", "", "u", "", "", "cat", "", ""]


@pytest.mark.parametrize("options", [(), ("--score", "score")], ids=["uniform", "scores"])
def test_going_on_is_as_if_never_interrupted(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Wherever a session is quit, the next one goes on to the same outcome; skipped rows are asked again first."""
    expected = None
    for cut in (len(SCRIPT), 3, 9):
        data = write(tmp_path / f"pets{cut}.csv", make_rows())
        first = "".join(line + "\n" for line in SCRIPT[:cut])
        if cut < 5:  # quit before the skip
            outcome(data, *options, typed=first + "q\n")
            rest = "".join(line + "\n" for line in SCRIPT[cut:])
        else:  # the skipped row comes first, and is skipped again
            outcome(data, *options, typed=first)
            rest = "s\n" + "".join(line + "\n" for line in SCRIPT[cut:])
        found = outcome(data, *options, typed=rest)
        expected = expected or found
        assert found == expected
    assert expected is not None
    assert (expected["n_asked"], expected["n_skipped"]) == (12, 1)


def test_skipped_rows_can_be_answered_later(tmp_path: Path) -> None:
    """When all rows were drawn and some skipped, another run asks for those, and an undo leaves them skipped."""
    data = write(tmp_path / "few.csv", [{"kind": "cat"}] * 6)
    first = outcome(data, "--target", "1", typed="\n\ns\ns\n\n\n")
    assert (first["verdict"], first["n_skipped"]) == ("undecided", 2)
    assert outcome(data, "--target", "1", typed="s\ns\n") == first
    last = outcome(data, "--target", "1", typed="\nu\n\n\n")
    assert (last["verdict"], last["n_asked"], last["n_skipped"]) == ("certified", 6, 0)
    assert outcome(data, "--target", "1", typed="") == last  # nothing is asked any more


def test_a_higher_target_goes_on_with_the_same_answers(data: Path) -> None:
    """Answers for one target count for the next; the bound stays what it was."""
    first = outcome(data, "--target", "0.8", typed="\n" * 400)
    assert first["verdict"] == "certified"
    second = outcome(data, "--target", "0.9", "--budget", first["n_asked"], typed="")
    assert (second["verdict"], second["certificate"]) == ("undecided", first["certificate"])
    assert outcome(data, "--target", "0.9", typed="\n" * 400)["verdict"] == "certified"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("options", [(), ("--score", "score")], ids=["uniform", "scores"])
def test_no_answer_is_lost_to_a_kill(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Killed as soon as the next question is there, the command has every answer before it; the next run goes on."""
    data, whole = (write(tmp_path / name, make_rows()) for name in ("pets.csv", "whole.csv"))
    command = [sys.executable, "-m", "bela", "certify", str(data), "--label", "kind", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    wait_for(process.stdout, 1)
    answers = ["", "dog", "n", "", ""]
    for answer in answers:
        process.stdin.write(f"{answer}\n".encode())
        wait_for(process.stdout, 1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert [event["is"] for event in log_of(data)[1:] if "answer" in event][1:3] == ["dog", None]
    rest = "\n" * 60 + "q\n"
    uninterrupted = outcome(whole, *options, typed="".join(f"{answer}\n" for answer in answers) + rest)
    assert outcome(data, *options, typed=rest) == uninterrupted


def wait_for(stream: Any, n_prompts: int) -> None:
    """Read until so many questions were asked."""
    seen = b""
    while seen.count(b"right? ") < n_prompts:
        byte = stream.read(1)
        assert byte, seen
        seen += byte


@pytest.mark.parametrize("options", [(), ("--score", "score")], ids=["uniform", "scores"])
def test_a_file_of_answers_cut_anywhere(tmp_path: Path, options: tuple[str, ...]) -> None:
    """However much of its last lines a crash has eaten, the file is taken up from the last answer that is whole."""
    data = write(tmp_path / "pets.csv", make_rows())
    outcome(data, *options, typed="\n\n\nq\n")
    path = data.with_name("pets.csv.certify.jsonl")
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for end in [*range(start, len(whole), 17), len(whole) - 1, len(whole)]:
        path.write_bytes(whole[:end])
        found = outcome(data, *options, typed="")
        n_whole = (
            whole[:end].count(b'"is"')
            if whole[:end].endswith(b"}")
            else whole[:end].rpartition(b"\n")[0].count(b'"is"')
        )
        assert found["n_asked"] == n_whole
        assert path.read_bytes().startswith(whole[: whole[:end].rfind(b"\n") + 1])
        assert path.read_bytes().endswith(b"\n")


# -------------------------------------------------------------------------------------------------- bad input


def test_answers_about_something_else(capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path) -> None:
    """A changed file, other options or no file of answers: refused in one sentence, and nothing is overwritten."""
    certify(data, typed="\n\nq\n")
    path = data.with_name("pets.csv.certify.jsonl")
    before = path.read_bytes()
    command = ("certify", data, "--label", "kind")
    assert "begun with the seed 0" in fails(capsys, *command, "--seed", 1)
    assert "begun at confidence 0.95" in fails(capsys, *command, "--confidence", 0.9)
    assert "begun for the score column None" in fails(capsys, *command, "--score", "score")
    assert "begun for the label column 'kind'" in fails(capsys, "certify", data, "--label", "truth")
    write(data, make_rows(401))
    assert "the file was changed since" in fails(capsys, *command)
    assert path.read_bytes() == before
    notes = tmp_path / "notes.txt"
    for text, says in (
        ("Dear diary\n", "no answer in line 1"),
        ('{"a": 1}\n', "no file of answers"),
        ('{"bela": "certify", "version": 99}\n', "newer version"),
    ):
        notes.write_text(text)
        assert says in fails(capsys, *command, "--answers", notes)
        assert notes.read_text() == text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"answer": 7, "row": 3, "is": "cat"}', "question 7 is not about row 3"),
        ('{"answer": 0, "row": -1, "is": "cat"}', "is row"),
        ('{"answer": 0}', "line 2"),
        ('{"undo": 0}', "nothing to undo"),
        ('{"draw": 5, "row": 0, "weights": []}', "draw 5"),
        ("[]", "no answer in line 2"),
    ],
)
def test_answers_that_were_changed(capsys: pytest.CaptureFixture[str], data: Path, line: str, says: str) -> None:
    """A line that does not fit is named."""
    certify(data, typed="q\n")
    path = data.with_name("pets.csv.certify.jsonl")
    path.write_text(path.read_text() + line + "\n")
    assert says in fails(capsys, "certify", data, "--label", "kind")


def test_two_at_once(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    """The file of answers belongs to one audit at a time."""
    fcntl = pytest.importorskip("fcntl")
    certify(data, typed="q\n")
    with data.with_name("pets.csv.certify.jsonl").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "in use" in fails(capsys, "certify", data, "--label", "kind")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--label", "colour"], "no column 'colour': it has text, kind, score, truth"),
        (["--truth", "colour"], "no column 'colour'"),
        (["--truth", "kind"], "different columns"),
        (["--score", "text"], "where a number is needed"),
        (["--target", "0"], "target"),
        (["--target", "1.5"], "target"),
        (["--confidence", "1"], "confidence"),
        (["--budget", "-1"], "budget"),
        (["--budget", "401"], "budget"),
        (["--seed", "-3"], "seed"),
        (["--json", "no/such/folder/out.json"], "folder"),
        (["--mistakes", "no/such/folder/out.csv"], "folder"),
        (["--answers", "no/such/folder/out.jsonl"], "folder"),
    ],
)
def test_a_bad_option(capsys: pytest.CaptureFixture[str], data: Path, options: list[str], says: str) -> None:
    """An option outside its range is named in one line, and no file of answers is begun."""
    assert says in fails(capsys, "certify", data, "--label", "kind", *options)
    assert [path.name for path in data.parent.iterdir()] == ["pets.csv"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", "", "empty"),
        ("head.csv", "a,kind\n", "no rows"),
        ("short.csv", "a,b,kind\n1,2,x\n3\n", "line 3"),
        ("hole.csv", "a,kind\n1,x\n2,\n", "no label"),
        ("twice.csv", "a,a,kind\n1,2,x\n", "twice"),
        ("cut.jsonl", '{"a": 1, "kind": "x"}\n{"a": 2, "ki', "line 2"),
        ("list.jsonl", "[1, 2]\n", "line 1"),
        ("hole.jsonl", '{"a": 1, "kind": "x"}\n{"a": 2}\n', "no label"),
        ("void.jsonl", "", "no rows"),
        ("notes.docx", "Dear reader", "ends in none of"),
        ("latin.csv", b"a,kind\n1,\xe9\n", "UTF-8"),
        ("open.csv", 'a,kind\n1,x\n"2,y\n', "never closed"),
        ("quote.csv", 'a,kind\n1,"x"y\n', "line 2"),
        ("cut.parquet", "PAR1", "cut short"),
    ],
)
def test_bad_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    """A file that is cut short or not understood is an error in one line that names it."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = fails(capsys, "certify", path, "--label", "kind")
    assert says in line
    assert name in line


def test_missing_things(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    """A file or a label that is not there is named."""
    assert "no file" in fails(capsys, "certify", data.with_name("nothing.csv"), "--label", "kind")
    assert "--label" in fails(capsys, "certify", data)
    assert RUN.invoke(app, ["certify", "--help"]).exit_code == 0
