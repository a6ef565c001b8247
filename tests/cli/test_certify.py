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

from bela.campaign import SETTINGS, open_campaign, read_settings
from bela.cli import app, main
from bela.cli._auditing import read_answers
from bela.data import open_table
from bela.storage import SQLiteJournal

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
    result = certify(data, "--truth", "truth", "--target", "0.95", "--seed", 5)
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
    result = certify(data, "--truth", "truth", "--seed", 4)
    assert result.exit_code == 1
    assert result.stdout.startswith("Refuted: fewer than 95 % of the 400 labels are right (confidence 95 %), after ")
    assert "more: --mistakes FILE.csv writes them all" in result.stdout
    result = certify(data, "--truth", "truth", "--budget", "3")
    assert result.exit_code == 1
    assert result.stdout.startswith("Not decided: ")
    assert "after 3 answers" in result.stdout


def test_json_and_mistakes(data: Path, tmp_path: Path) -> None:
    """The JSON has the fields of the contract; the mistakes are written with their rows and right labels."""
    found = outcome(data, "--truth", "truth", "--seed", 5, "--mistakes", tmp_path / "mistakes.csv")
    assert found["n_mistakes"] > 1
    assert list(found) == [
        "verdict", "target", "n_rows", "n_asked", "n_mistakes", "n_skipped", "certificate", "corrected", "upper",
        "seed", "mistakes",
    ]  # fmt: skip
    assert found["certificate"]["guarantee"] == "anytime"
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
        assert list(open_table(path).iter_records()) == make_rows()


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


def folder_of(data: Path) -> Path:
    return data.with_name(f"{data.stem}.certify.bela")


def said_in(data: Path) -> list[tuple[int | None, Any]]:
    """Return what the journal of an audit says was answered: the row, and the label, or what was done instead."""
    journal = SQLiteJournal(folder_of(data) / "journal.sqlite", read_only=True)
    rows: list[int] = []
    found: list[tuple[int | None, Any]] = []
    for entry in journal.events():
        if entry.kind == "asked":
            rows += [row for row, *_ in entry.data["questions"]]
        elif entry.kind not in ("began", "class added"):
            row = rows[entry.data["question"]] if "question" in entry.data else None
            found.append((row, entry.data.get("label", None if entry.kind == "rejected" else entry.kind)))
    journal.close()
    return found


def test_a_whole_session(data: Path) -> None:
    """Enter, y, n, a label, a label mistyped, skip, undo and quit do what they say, and each answer is on disk."""
    typed = ["", "y", "N", "dog", "dgo", "cat", "s", "u", "", "bird", "bird", "q"]
    result = certify(data, typed="\n".join(typed) + "\n")
    assert result.exit_code == 1
    assert "No label of this file is dgo: type it again" in result.stdout
    assert result.stdout.count("right? ") == len(typed)
    settings = read_settings(folder_of(data) / SETTINGS)
    assert (settings.n_rows, settings.prediction, settings.seed) == (400, "kind", 0)
    assert [answer for _, answer in said_in(data)] == [
        "cat", "cat", None, "dog", "cat", "skipped", "undone", "cat", "bird"
    ]  # fmt: skip
    assert "after 7 answers, 3 mistakes found" in result.stdout
    assert "Of 1 mistake nobody said what would be right." in result.stdout
    assert "run the same command to go on" in result.stdout


def test_the_row_is_shown(data: Path) -> None:
    """The question shows the other columns, the label, and where the audit stands."""
    result = certify(data, typed="\n\n\nq\n")
    row = said_in(data)[1][0]
    assert row is not None
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
    result = certify(data, "--target", "0.2", typed="y\nn\n/n\n/s\n/u\n\n/q\n")
    assert "/n: it is wrong" in result.stdout
    events = said_in(data)
    assert [answer for _, answer in events[:5]] == ["y", "n", None, "skipped", "undone"]
    row, answer = events[5]
    assert row is not None
    assert answer == rows[row]["kind"]


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
    """Answers for one target count for the next; the bound stays what it was, target and budget are remembered."""
    first = outcome(data, "--target", "0.8", typed="\n" * 400)
    assert first["verdict"] == "certified"
    second = outcome(data, "--target", "0.9", "--budget", first["n_asked"], typed="")
    assert (second["verdict"], second["certificate"]) == ("undecided", first["certificate"])
    assert outcome(data, "--budget", 400, typed="\n" * 400)["verdict"] == "certified"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("options", [(), ("--score", "score")], ids=["uniform", "scores"])
def test_no_answer_is_lost_to_a_kill(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Killed as soon as the next question is there, the command has every answer before it; the next run goes on."""
    data, whole = (write(tmp_path / name, make_rows()) for name in ("pets.csv", "whole.csv"))
    options = ("--target", "0.5", *options)
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
    assert [answer for _, answer in said_in(data)][1:3] == ["dog", None]
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


# ---------------------------------------------------------------------------------- a campaign like any other


def test_an_audit_is_a_campaign(call: Any, data: Path) -> None:
    """Its folder is found by the data, and has status, undo, report, export and verify; the labels are corrected."""
    certify(data, typed="\nbird\nbird\nn\nq\n")
    rows = [row for row, _ in said_in(data)]
    found = call("status", data, "--json").json
    assert (found["campaign"], found["method"], found["n_asked"]) == (str(folder_of(data)), "audit", 3)
    assert "was said to be wrong" in call("undo", data).out
    out = data.with_name("out.csv")
    call("export", data, "--to", out)
    assert open_table(out).record(rows[1])["label"] == "bird"
    assert "Yes." in call("verify", data, "--export", out).out
    certify(data, typed="\nq\n")
    assert said_in(data)[3:] == [(None, "undone"), (rows[2], make_rows()[rows[2]]["kind"])]
    said = call("label", "--terminal", folder_of(data), typed="\nq\n")
    assert "right? " in said.out
    assert "4 answers" in said.out
    assert call("certify", folder_of(data), "--json", "-", typed="q\n", status=1).json["n_asked"] == 4


def test_beside_a_campaign_that_labels(call: Any, data: Path) -> None:
    """Labels are audited whether or not their data are being labelled, each in a folder of its own."""
    call("run", data, "--truth", "truth", "--hide", "kind", "--method", "random", "--budget", 3)
    certify(data, typed="\nq\n")
    assert call("status", data, "--json").json["method"] == "random"
    assert call("status", folder_of(data), "--json").json["n_asked"] == 1


def test_a_column_answers_in_a_folder(call: Any, data: Path) -> None:
    """With --campaign the answers of a column are kept as well, and the outcome is on record."""
    folder = data.with_name("kept.bela")
    found = outcome(data, "--truth", "truth", "--campaign", folder)
    assert found["verdict"] == "certified"
    assert outcome(data, "--truth", "truth", "--campaign", folder) == found
    assert call("status", folder, "--json").json["stop_reason"] == "target"


# ------------------------------------------------------------------------------------------------ known answers


def test_known_answers_are_not_asked(data: Path, tmp_path: Path) -> None:
    """Rows of a file of answers are answered by it when they are drawn, the others by whoever sits there."""
    file = tmp_path / "known.jsonl"
    answers = [{"row": row, "is": None if row % 7 == 0 else "cat"} for row in range(400) if row % 4]
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    result = certify(data, "--answers", file, "--target", "0.5", "--json", tmp_path / "out.json", typed="\n" * 400)
    found = json.loads((tmp_path / "out.json").read_text())
    n_asked = result.stdout.count("right? ")
    assert 0 < n_asked < found["n_asked"] / 2
    said = said_in(data)
    assert sum(row % 4 == 0 for row, _ in said if row is not None) == n_asked
    assert all(answer is None for row, answer in said if row is not None and row % 4 and row % 7 == 0)


def test_known_answers_are_for_the_terminal(capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path) -> None:
    """The page would ask for them all the same, so they are refused there rather than left out in silence."""
    file = tmp_path / "known.jsonl"
    file.write_text('{"row": 3, "is": "cat"}\n')
    assert "for the terminal" in fails(capsys, "certify", data, "--label", "kind", "--answers", file, "--page")


@pytest.mark.parametrize("row", [-1, 99_999])
def test_known_answers_about_other_rows(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path, row: int
) -> None:
    """Answers to rows that are not there are those of other data: they are refused, not left out in silence."""
    file = tmp_path / "known.jsonl"
    file.write_text(f'{{"row": {row}, "is": "cat"}}\n')
    said = fails(capsys, "certify", data, "--label", "kind", "--answers", file)
    assert f"row {row} of {file} is not in the data" in said


def test_a_file_of_answers_of_an_earlier_version(data: Path, tmp_path: Path) -> None:
    """The answers of such a file are known; what was taken back or skipped in it is not."""
    lines = [
        {"bela": "certify", "version": 1, "file": "pets.csv", "seed": 0},
        {"draw": 0, "row": 3, "weights": [1.0]}, {"answer": 0, "row": 3, "is": "cat"},
        {"answer": 1, "row": 4, "is": "dog"}, {"undo": 1}, {"answer": 1, "row": 4, "is": None},
        {"answer": 2, "row": 5, "is": "cat"}, {"undo": 2}, {"skip": 3, "row": 6},
    ]  # fmt: skip
    file = tmp_path / "pets.csv.certify.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_answers(file) == {3: "cat", 4: None}
    certify(data, "--answers", file, typed="q\n")
    assert file.read_text().count("\n") == len(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Dear diary\n", "no answer in line 1"),
        ('{"a": 1}\n', "not a file of answers"),
        ('{"row": 1, "is": "cat"}\n[]\n', "no answer in line 2"),
        ('{"row": 1, "is": "cat"}\n{"is": "cat"}\n', "line 2"),
        ('{"row": "1", "is": "cat"}\n', "line 1"),
        ('{"row": 1, "is": [2]}\n', "line 1"),
        ('{"row": 1, "iss": "cat"}\n', 'as {"row": 7, "is": "cat"} does'),
    ],
)
def test_a_file_that_has_no_answers(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path, text: str, says: str
) -> None:
    """A file or a line that is none is named, and nothing is begun."""
    notes = tmp_path / "notes.txt"
    notes.write_text(text)
    assert says in fails(capsys, "certify", data, "--label", "kind", "--answers", notes)
    assert not folder_of(data).exists()


# -------------------------------------------------------------------------------------------------- bad input


def test_an_audit_of_something_else(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    """A changed file or other options are refused in one sentence, and nothing is lost."""
    certify(data, typed="\n\nq\n")
    before = said_in(data)
    command = ("certify", data, "--label", "kind")
    for option, value, was in (
        ("--seed", 1, "with 0"),
        ("--confidence", 0.9, "with 0.95"),
        ("--score", "score", "without it"),
        ("--label", "truth", "with kind"),
    ):
        line = fails(capsys, *command, option, value)
        assert f"{option} {value} contradicts" in line
        assert f"begun {was}" in line
    write(data, make_rows(401))
    assert "has changed since" in fails(capsys, *command)
    assert said_in(data) == before


def test_what_labels_is_not_an_audit(call: Any, data: Path) -> None:
    """The folder of a campaign that labels is refused, and so are known answers where nobody is asked."""
    call("run", data, "--truth", "truth", "--hide", "kind", "--method", "random", "--budget", 3)
    assert "audits nothing" in call("certify", data.with_name("pets.bela"), status=2).err
    command = ("certify", data, "--label", "kind", "--answers", data)
    assert "--answers is for" in call(*command, "--truth", "truth", status=2).err
    assert "--answers is for" in call(*command, "--page", status=2).err


def test_two_at_once(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    """One person answers at a time."""
    certify(data, typed="q\n")
    with open_campaign(folder_of(data)):
        assert "open elsewhere" in fails(capsys, "certify", data, "--label", "kind")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--label", "colour"], "no column 'colour': there are text, kind, score, truth"),
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
        (["--answers", "no/such/folder/out.jsonl"], "No such file"),
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
