"""Campaigns on disk from the first answer to the export, by the commands that people type."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.campaign import groups_now, open_campaign
from bela.data import column_labels, given_labels, open_table
from bela.storage import SQLiteJournal

QUICK = ("--budget", "12", "--method", "bela-paper")  # where the method does not matter
PAPER = QUICK[2:]
RUN = ("run", "pets.csv", "--truth", "kind")


# ------------------------------------------------------------------------------------------------ from start to end


def test_from_the_first_answer_to_a_verified_export(call: Any, table: Path) -> None:
    """A run reaches its target, says so, and its export is read back, verified, and as right as was certified."""
    said = call(*RUN, "--target", "0.8")
    assert "Certified: at least 8" in said.out
    assert "The target is reached (target 80 %)." in said.out
    assert "bela export pets.bela" in said.out
    assert said.err == ""
    found = call("status", "pets.bela", "--json").json
    assert found["stop_reason"] == "target"
    assert found["certificate"]["lower"] >= 0.8
    assert found["n_asked"] == found["n_training"] + found["n_bounds"]
    assert sum(entry["rows"] for entry in found["classes"]) == found["n_rows"] == 80
    assert sum(entry["known"] for entry in found["classes"]) == found["n_asked"]
    truth = column_labels(open_table(table), "kind")
    for name in ("out.csv", "out.parquet", "out.jsonl", "out.json", "out"):
        written = call("export", "pets.bela", "--to", name, "--json").json
        assert written["certificate"] == found["certificate"]
        assert Path(written["certificate_file"]).is_file()
        records = open_table(name)
        assert records.columns == (
            "name", "weight", "height", "label", "label_source", "leaf", "confidence", "answered_by", "answered_at",
            "opinions", "flags",
        )  # fmt: skip
        labels = [record["label"] for record in records.iter_records()]
        right = np.mean([labels[row] == truth[row] for row in range(80)])
        assert right >= found["certificate"]["lower"]
        assert "Yes." in call("verify", "pets.bela", "--export", name, *([] if name == "out" else ["--quick"])).out


def test_what_cannot_be_reached_by_asking_is_said_with_another_way(call: Any, table: Path) -> None:
    """Labels that nothing in the rows tells of: the share is out of reach, and what else there is to try is said."""
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'cdefg'[rng.integers(5)]}" for a, b in rng.random((300, 2))]
    Path("noise.csv").write_text("\n".join(["a,b,kind", *lines]), encoding="utf-8")
    call("run", "noise.csv", "--truth", "kind", "--stop-after", "120")
    said = call("status", "noise.bela").out
    assert "99 %: not reachable by asking this way." in said
    assert said.count("(--embed)") == said.count("(--prediction)") == 1
    assert "(--embed)" not in call(*RUN, "--target", "0.8").out + call("status", "pets.bela").out


def test_a_budget_that_is_too_small_for_the_target_is_said_to_be(call: Any, table: Path) -> None:
    """Nobody is told that more answers are to go than they have."""
    call(*RUN, "--target", "0.99", "--budget", "30")
    with open_campaign("pets.bela") as stored:
        stored.set_target(target=0.99, budget=32)
    said = call("status", "pets.bela").out
    assert "more than the budget leaves" in said
    assert 1 <= said.count("To certify ") <= 5
    assert said.count("too early to say") <= 1  # what is said of several shares is said once
    with open_campaign("pets.bela") as stored:
        stored.set_target(target=0.99, budget=None)
    assert " more answers to go (" in call("status", "pets.bela").out


def test_a_rung_of_the_ladder_becomes_the_target_by_a_command_that_is_shown(call: Any, table: Path) -> None:
    """`bela status` says how to aim at a share that it gives a forecast of; the command does that."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(3, size=1500)
    points = rng.normal(size=(1500, 2)) + 2.2 * np.array([(0, 0), (1, 0), (0, 1)])[kinds]
    lines = [f"{a:.3f},{b:.3f},{'cde'[kind]}" for kind, (a, b) in zip(kinds, points, strict=True)]
    Path("near.csv").write_text("\n".join(["a,b,kind", *lines]), encoding="utf-8")
    call("run", "near.csv", "--truth", "kind", "--target", "0.7", "--stop-after", "100")
    with open_campaign("near.bela") as stored:
        shares = {rung.share for rung in stored.campaign.ladder if rung.forecast is not None} - {stored.campaign.target}
    [command] = re.findall(r"To aim at one of these: bela (.+)", call("status", "near.bela").out)
    call(*command.split(), "--terminal", typed="q\n")
    with open_campaign("near.bela") as stored:
        assert stored.campaign.target == min(shares)


def test_labels_that_are_all_alike_are_said_to_be(call: Any, table: Path) -> None:
    """Stopped before anything was learnt, the commonest answer is everybody's label: that is told, not passed over."""
    typed = "+cat\n+dog\n1\nq\n"
    says = "rows that were not answered have the same label, cat: more answers are needed"
    assert f"all 77 {says}" in call("label", "--terminal", table, "--hide", "kind", typed=typed).out
    assert f"Note: all 77 {says}" in call("export", "pets.bela", "--to", "early.csv").out
    assert any(says in note for note in call("export", "pets.bela", "--to", "early.json", "--json").json["notes"])
    call(*RUN, "--target", "0.8", "--campaign", "learnt.bela")
    assert says not in call("export", "learnt.bela", "--to", "late.csv").out


def test_formats_for_other_tools(call: Any, table: Path) -> None:
    """What is no table is written and verified too; an unknown format is told."""
    call(*RUN, *QUICK)
    for form, name in (("label-studio", "tasks.json"), ("snorkel", "matrix.npz")):
        call("export", "pets.bela", "--to", name, "--format", form)
        assert call("verify", "pets.bela", "--export", name, "--quick", "--json").json["verified"] is True
    assert "csv" in call("export", "pets.bela", "--to", "x", "--format", "word", status=2).err


def test_an_export_of_the_sure_rows(call: Any, make_table: Callable[..., Path]) -> None:
    """Labels that are not sure are left blank in every format, the certificate says so, and it can be verified."""
    table = make_table(n_rows=500)
    call(*RUN, "--budget", "220", "--target", "0.999")
    truth, words = column_labels(open_table(table), "kind"), call("status", "pets.bela").out
    assert "By class, right are at least " in words
    assert "Sure: at least 90 % of " in words
    assert "all three hold with 85 %" in words
    for name in ("out.csv", "out.json", "out", "out.npz", "out.label-studio.json"):
        kept = call("export", "pets.bela", "--to", name, "--sure", "0.99", "--json").json["kept"]
        assert kept["share"] == 0.99
        assert kept["rows"] + kept["blank"] == 500
        assert call("verify", "pets.bela", "--export", name, "--quick", "--json").json["verified"] is True
    rows = list(open_table("out.csv").iter_records())
    blank = [record["label"] in (None, "") for record in rows]
    assert sum(blank) == kept["blank"] > 0
    assert all((record["label_source"] == "withheld") == one for record, one in zip(rows, blank, strict=True))
    right = [record["label"] == truth[row] for row, record in enumerate(rows) if not blank[row]]
    assert np.mean(right) >= 0.99
    document = json.loads(Path("out.csv.certificate.json").read_text())
    assert "left blank" in document["kept"]["statement"]
    assert [part["share"] for part in document["sure"]["parts"]] == [0.9, 0.95, 0.99]
    assert document["sure"]["parts"][0]["rows"] > document["counts"]["asked"]
    assert {entry["label"] for entry in document["by_class"]["classes"]} == {"cat", "dog"}
    assert all(0.0 < entry["lower"] <= 1.0 for entry in document["by_class"]["classes"])
    call("report", "pets.bela", "--to", "report.html")
    assert "The rows that are sure" in Path("report.html").read_text()


def test_a_share_that_nobody_can_be_sure_to(call: Any, table: Path) -> None:
    """Only three shares are tested; of few answers nothing is sure, which is no error; other methods do not say."""
    call(*RUN, "--budget", "30")
    said = call("export", "pets.bela", "--to", "x.csv", "--sure", "0.97", status=2).err
    assert "0.9, 0.95 or 0.99" in said
    assert not Path("x.csv").exists()
    assert "Nothing is 99 % sure yet" in call("export", "pets.bela", "--to", "x.csv", "--sure", "0.99").out
    call(*RUN, *QUICK, "--campaign", "other.bela")
    assert "does not say" in call("export", "other.bela", "--to", "y.csv", "--sure", "0.9", status=2).err


def test_an_export_is_data_again(call: Any, table: Path) -> None:
    """The answers in an export are the given labels of another campaign; what was inferred is not."""
    call(*RUN, *QUICK)
    call("export", "pets.bela", "--to", "done.csv", "--with-hidden")
    said = call(
        "run", "done.csv", "--label", "label", "--truth", "kind", "--hide", "label_source", "--hide", "leaf",
        "--json", "-",
    ).json  # fmt: skip
    assert said["n_given"] == 12
    assert said["n_asked"] > 0
    again = call("export", "done.bela", "--to", "again.csv", "--json").json
    assert again["n_rows"] == 80
    assert len(given_labels(open_table("again.csv"), "label")) == 12 + said["n_asked"]


def test_what_to_do_next_can_be_copied(call: Any, table: Path) -> None:
    """Spaces and signs that mean something to a shell are in quotes."""
    table.rename("cats & dogs.csv")
    said = call("label", "--terminal", "cats & dogs.csv", "--hide", "kind", *PAPER, typed="+cat\n+dog\nq\n").out
    assert "To go on: bela label 'cats & dogs.bela'" in said
    assert "bela export 'cats & dogs.bela' --to 'cats & dogs-labelled.csv'" in said


def test_a_person_begins_and_goes_on(call: Any, table: Path) -> None:
    """`bela label` says how columns are taken, keeps every answer, and goes on where it stopped."""
    said = call("label", "--terminal", "pets.csv", "--hide", "kind", *PAPER, typed="+cat\n+dog\n1\nq\n")
    assert "This is how the columns of pets.csv are taken" in said.out
    assert "'weight': number" in said.out
    assert "'name': ignored" in said.out
    assert "kind:" not in said.out
    assert "To go on: bela label pets.bela" in said.out
    assert call("status", "pets.bela", "--json").json["n_asked"] == 3
    said = call("label", "--terminal", "pets.csv", typed="2\n \nu\nu\n1\n")
    assert "how the columns" not in said.out
    assert "3 answers" in said.out
    found = call("status", "pets.csv", "--json").json
    assert (found["n_asked"], found["n_skipped"], found["target"]) == (4, 0, 0.95)
    ended = call("label", "--terminal", "pets.bela", "--json", "-", typed="q\n")
    assert ended.json["n_asked"] == 4
    assert "answers" in ended.err


def test_the_page_begins_a_campaign(call: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bela serve DATA` and `bela label DATA` begin a campaign, or go on, and give the page what was chosen."""
    served: list[tuple[str, Any]] = []
    monkeypatch.setattr(
        "bela.cli._by_hand.answer_on_page", lambda stored, _, page, __: served.append((stored.path.name, page))
    )
    said = call("serve", "pets.csv", "--hide", "kind", "--overlap", 0.2, "--port", 8700, "--json", "-", *PAPER)
    assert said.json["campaign"] == "pets.bela"
    assert "This is how the columns of pets.csv are taken" in said.err
    assert "To go on: bela serve pets.bela" in call("serve", "pets.bela").out
    assert "To go on: bela label pets.bela" in call("label", "pets.csv", "--no-token").out
    assert [name for name, _ in served] == ["pets.bela"] * 3
    pages = [page for _, page in served]
    assert [(page.port, page.token) for page in pages] == [(8700, True), (None, True), (None, False)]
    assert (pages[0].overlap, pages[1].overlap) == (0.2, 0.0)


def test_undo_says_what_it_took_back(call: Any, table: Path) -> None:
    """Undone answers are asked again, in the same order; there is no undoing more than was done."""
    call("label", "--terminal", "pets.csv", "--hide", "kind", *PAPER, typed="+cat\n+dog\n \n1\n")
    said = call("undo", "pets.bela", "--json").json
    [deed] = said["undone"]
    assert deed["what"] == f"row {deed['row']} was answered with 'cat'"
    assert said["n_asked"] == 2
    said = call("undo", "pets.csv", "-n", 2)
    assert said.out.count("Taken back: row") == 2
    assert "was skipped" in said.out
    assert "was answered with 'dog'" in said.out
    assert "no more than 1" in call("undo", "pets.bela", "-n", 2, status=2).err
    assert call("status", "pets.bela", "--json").json["n_asked"] == 1
    call("undo", "pets.bela")
    assert "nothing to undo" in call("undo", "pets.bela", status=2).err
    assert "from 1 on" in call("undo", "pets.bela", "-n", 0, status=2).err


def test_classes_are_undone_too(call: Any, table: Path) -> None:
    """A class that was added later is a deed like any other."""
    call("label", "--terminal", "pets.csv", "--hide", "kind", "--classes", "cat,dog", *PAPER, typed="1\n")
    said = call("label", "--terminal", "pets.csv", "--classes", "cat,hamster", typed="q\n")
    assert "'hamster' is a class from now on." in said.out
    found = call("status", "pets.bela", "--json").json
    assert [entry["label"] for entry in found["classes"]] == ["cat", "dog", "hamster"]
    assert "the class 'hamster' was added" in call("undo", "pets.bela").out


# ------------------------------------------------------------------------------------------------------ where it is


def test_where_campaigns_are(call: Any, table: Path, tmp_path: Path) -> None:
    """The folder is the data's name with .bela, beside it, unless --campaign names another; both can be moved."""
    (tmp_path / "deep").mkdir()
    shutil.copy(table, tmp_path / "deep" / "a.b.csv")
    call("run", "deep/a.b.csv", "--truth", "kind", *QUICK)
    assert (tmp_path / "deep" / "a.b.bela" / "campaign.toml").is_file()
    call(*RUN, *QUICK, "--campaign", "elsewhere")
    assert (tmp_path / "elsewhere" / "journal.sqlite").is_file()
    assert not (tmp_path / "pets.bela").exists()
    shutil.move(tmp_path / "deep", tmp_path / "moved")
    assert call("status", "moved/a.b.csv", "--json").json["n_asked"] == 12
    assert call("run", "moved/a.b.bela", "--truth", "kind", "--json", "-").json["n_asked"] == 12


def test_data_of_the_same_name(call: Any, table: Path) -> None:
    """A campaign is about its own data: others of the same name want a folder of their own."""
    call(*RUN, *QUICK)
    Path("pets.jsonl").write_text("".join(json.dumps(open_table(table).record(row)) + "\n" for row in range(80)))
    line = call("run", "pets.jsonl", "--truth", "kind", status=2).err
    assert "pets.bela is about pets.csv, not pets.jsonl" in line
    call("run", "pets.jsonl", "--truth", "kind", *QUICK, "--campaign", "other.bela")
    assert "already" in call("label", "--terminal", "pets.bela", "--campaign", "other.bela", status=2).err


def test_what_contradicts_a_campaign(call: Any, table: Path) -> None:
    """What a campaign began with cannot change, and saying it again is no contradiction."""
    begun = ("--seed", 3, "--confidence", 0.9, "--id", "name", "--kind", "weight=number")
    call(*RUN, *QUICK, *begun, "--hide", "height")
    call(*RUN, *begun, "--hide", "height")
    for option, value in (
        ("--seed", "4"),
        ("--confidence", "0.95"),
        ("--method", "random"),
        ("--id", "weight"),
        ("--label", "kind"),
        ("--hide", "weight"),
        ("--kind", "weight=text"),
        ("--kind", "nothing=text"),
        ("--features", "m:f"),
        ("--embed", "m"),
        ("--encoding", "latin-1"),
    ):
        line = call("label", "--terminal", "pets.csv", option, value, status=2).err
        assert f"{option} {value} contradicts pets.bela" in line
        assert "--campaign" in line
    assert "may have learned from that column" in call("run", "pets.csv", "--truth", "weight", status=2).err
    assert call("status", "pets.bela", "--json").json["n_asked"] == 12


def test_a_share_of_each_class(call: Any, table: Path) -> None:
    """A class target is in the status and the certificate, and the run goes on until it is reached."""
    found = call(*RUN, "--target", 0.6, "--class-target", 0.7, "--json", "-").json
    assert found["stop_reason"] == "target"
    status = call("status", "pets.bela", "--json").json
    assert (status["target"], status["class_target"]) == (0.6, 0.7)
    assert "for each class 70 %" in call("status", "pets.bela").out
    call("export", "pets.bela", "--to", "out.csv")
    document = json.loads(Path("out.csv.certificate.json").read_text())
    assert document["class_target"] == 0.7
    assert all(one["lower"] >= 0.7 for one in document["by_class"]["classes"])
    call("verify", "pets.bela")
    assert "share above 0" in call(*RUN, "--class-target", 7, status=2).err


def test_what_may_change(call: Any, table: Path) -> None:
    """Target and budget may be changed at any time, by whoever goes on."""
    call(*RUN, *QUICK)
    found = call(*RUN, "--budget", 20, "--target", 0.7, "--json", "-").json
    assert (found["n_asked"], found["budget"], found["target"]) == (20, 20, 0.7)
    assert "target = 0.7" in Path("pets.bela/campaign.toml").read_text()
    assert call(*RUN, "--json", "-").json["n_asked"] == 20


def test_stopping_without_telling(call: Any, table: Path) -> None:
    """--stop-after ends a run without a budget on record, and the same command without it goes on."""
    found = call(*RUN, *PAPER, "--stop-after", 9, "--json", "-").json
    assert (found["n_asked"], found["budget"], found["stop_reason"]) == (9, None, None)
    assert "budget" not in Path("pets.bela/campaign.toml").read_text().replace("target and budget may", "")
    assert call(*RUN, "--stop-after", 9, "--json", "-").json["n_asked"] == 9
    assert call(*RUN, "--budget", 12, "--json", "-").json["n_asked"] == 12
    assert "--stop-after" in call(*RUN, "--stop-after", -1, status=2).err


def test_settings_are_for_people(call: Any, table: Path) -> None:
    """A budget that somebody writes into the settings holds from then on."""
    call(*RUN, *QUICK)
    settings = Path("pets.bela/campaign.toml")
    settings.write_text(settings.read_text().replace("budget = 12", "budget = 15"))
    assert call(*RUN, "--json", "-").json["n_asked"] == 15


def test_a_folder_that_cannot_be_written(call: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the data's folder cannot be written, the campaign goes to the working directory, which is said."""
    Path("archive").mkdir()
    shutil.move(table, "archive/pets.csv")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != "archive" and access(path, mode))
    command = ("run", "archive/pets.csv", "--truth", "kind", *QUICK)
    said = call(*command)
    assert "The folder of archive/pets.csv cannot be written to" in said.out
    assert "Everything is kept in pets.bela." in said.out
    assert call("status", "archive/pets.csv", "--json").json["campaign"] == "pets.bela"
    assert "cannot be written" not in call(*command, "--budget", 13).out
    said = call("certify", "archive/pets.csv", "--label", "kind", typed="\nq\n", status=1)
    assert "Everything is kept in pets.certify.bela." in said.out


def test_what_was_made_of_the_data_is_said(call: Any, table: Path) -> None:
    """Semicolons, an index without a name and spaces around labels are noticed, in a new campaign."""
    lines = table.read_text().splitlines()
    rows = [";".join([str(number), *line.split(",")]) for number, line in enumerate(lines[1:])]
    head = ";" + lines[0].replace(",", ";") + ";some"
    Path("odd.csv").write_text("\n".join([head, *(f"{row}; cat" for row in rows)]))
    said = call("run", "odd.csv", "--truth", "kind", "--label", "some", "--budget", 0)
    assert "Note: the columns of odd.csv are separated by semicolons." in said.out
    assert "'Unnamed: 0' is an index" in said.out
    assert "spaces around 80 labels" in said.out


# ---------------------------------------------------------------------------------------------- every kind of data


@pytest.mark.parametrize(
    "classes", [("chat 🐈", "犬"), ("nan", "None"), ("-1", "0"), ("=1+1", '"quoted", with\ncomma'), ("True", "False")]
)
def test_odd_classes(call: Any, make_table: Callable[..., Path], classes: tuple[str, str]) -> None:
    """A label is a label, whatever it looks like, from the data to the export and back."""
    make_table(classes)
    found = call(*RUN, *QUICK, "--json", "-").json
    assert sorted(str(entry["label"]) for entry in found["classes"]) == sorted(classes)
    assert found["accuracy"] >= 0.5
    call("status", "pets.bela")
    call("export", "pets.bela", "--to", "out.csv")
    labels = column_labels(open_table("out.csv"), "label")
    assert {str(label) for label in labels.values()} == set(classes)
    assert call("verify", "pets.bela", "--export", "out.csv", "--quick", "--json").json["verified"] is True


def test_declared_classes_are_of_the_type_of_given_labels(call: Any, make_table: Callable[..., Path]) -> None:
    """Classes on the command line are texts, and numbers where the labels of the data are numbers."""
    table = make_table(("0", "1"))
    lines = table.read_text().splitlines()
    lines = [lines[0] + ",some", *(line + ("," if i % 4 else f",{line[-1]}") for i, line in enumerate(lines[1:]))]
    table.write_text("\n".join(lines) + "\n")
    found = call(*RUN, *QUICK, "--label", "some", "--classes", "0,1,2", "--json", "-").json
    assert [entry["label"] for entry in found["classes"]] == [0, 1, 2]
    assert found["n_given"] == 20
    assert call(*RUN, "--classes", "3", "--json", "-").json["classes"][3]["label"] == 3
    assert "not a whole number" in call(*RUN, "--classes", "three", status=2).err
    other = ("--hide", "some", "--classes", "0,1", "--campaign", "other.bela")
    found = call(*RUN, *QUICK, *other, "--json", "-").json
    assert [entry["label"] for entry in found["classes"]] == ["0", "1"]
    assert found["n_asked"] == 12


def test_every_kind_of_file(call: Any, table: Path) -> None:
    """The same pets have the same features, classes and truth, whatever file they come from."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = open_table(table)
    rows = [records.record(row) for row in range(80)]
    rows = [{**row, "weight": float(row["weight"]), "height": float(row["height"])} for row in rows]
    pq.write_table(pa.Table.from_pylist(rows), "p.parquet")
    Path("j.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("parts").mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:30]), "parts/0.parquet")
    pq.write_table(pa.Table.from_pylist(rows[30:]), "parts/1.parquet")
    seen = []
    for name in ("pets.csv", "p.parquet", "j.jsonl", "parts"):
        found = call("run", name, "--truth", "kind", "--hide", "name", *QUICK, "--json", "-").json
        assert (found["n_rows"], found["n_asked"], len(found["classes"])) == (80, 12, 2)
        with open_campaign(Path(found["campaign"]), read_only=True) as stored:
            seen.append(stored.campaign.source.take(np.arange(80)))
    assert all(np.array_equal(features, seen[0]) for features in seen)


def test_arrays_with_their_truth_in_another_file(call: Any, table: Path) -> None:
    """An array has no columns to name: its truth is an array, too."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    np.save("X.npy", rng.normal(size=(60, 2)) + 8 * y[:, None])
    np.save("y.npy", y)
    found = call("run", "X.npy", "--truth", "y.npy", *QUICK, "--json", "-").json
    assert found["n_asked"] == 12
    assert found["accuracy"] > 0.5
    assert call("run", "X.bela", "--truth", "y.npy", "--budget", 14, "--json", "-").json["n_asked"] == 14
    np.save("short.npy", y[:-1])
    assert "60 rows" in call("run", "X.npy", "--truth", "short.npy", status=2).err
    call("export", "X.bela", "--to", "labels.csv")
    assert open_table("labels.csv").n_rows == 60
    assert "Yes" in call("verify", "X.npy", "--export", "labels.csv").out


def test_a_folder_of_images(call: Any, table: Path) -> None:
    """Images are rows; the folder that they lie in can be the truth; the labels may be written among them."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for label, shade in (("dark", 20), ("light", 200)):
        Path("photos", label).mkdir(parents=True)
        for i in range(20):
            pixels = np.clip(rng.normal(shade, 10, (8, 8)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(Path("photos", label, f"{i}.png"))
    found = call("run", "photos/", "--truth", "folder", *QUICK, "--json", "-").json
    assert (found["campaign"], found["n_rows"], found["n_asked"]) == ("photos.bela", 40, 12)
    assert "'path': image" in call("label", "--terminal", "photos", "--campaign", "again.bela", typed="q\n").out
    call("export", "photos.bela", "--to", "photos/labels.csv")
    assert "Yes" in call("verify", "photos.bela", "--export", "photos/labels.csv").out


def test_a_dataset_by_name(call: Any, table: Path) -> None:
    """A dataset by name needs no truth, and its campaign is in the current folder, whatever else is there."""
    found = call("run", "digits", "--budget", 15, "--method", "bela-paper", "--json", "-").json
    assert (found["campaign"], found["data"], found["n_rows"]) == ("digits.bela", "digits", 1797)
    Path("digits").mkdir()
    assert call("run", "digits.bela", "--budget", 16, "--json", "-").json["n_asked"] == 16
    assert call("status", "digits.bela", "--json").json["certificate"]["guarantee"] == "paper"


# ------------------------------------------------------------------------------------------------- others at work


def test_one_writer_and_readers(call: Any, table: Path) -> None:
    """While somebody answers, nobody else can, and everybody can look, export and verify."""
    call(*RUN, *QUICK)
    with open_campaign(Path("pets.bela")) as stored:
        for command in (("undo", "pets.bela"), RUN, ("label", "--terminal", "pets.csv")):
            assert "open elsewhere" in call(*command, status=2).err
        stored.set_target(target=0.95, budget=14)
        [question] = stored.campaign.ask()
        stored.campaign.tell(question.id, "cat")
        found = call("status", "pets.bela", "--json").json
        assert (found["n_asked"], found["open_elsewhere"], found["n_open"]) == (13, True, 0)
        assert "just now" in call("status", "pets.bela").out
        call("export", "pets.bela", "--to", "out.csv")
        assert "Yes" in call("verify", "pets.bela", "--export", "out.csv").out
    found = call("status", "pets.bela", "--json").json
    assert found["open_elsewhere"] is False
    assert found["last_answer"].startswith("20")


def test_data_that_have_changed(call: Any, table: Path) -> None:
    """Changed data are refused, or taken with the answers to rows that are the same, as given labels."""
    call(*RUN, *QUICK)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *reversed(lines[3:]), "new pet,0.1,0.2,cat"]) + "\n")
    for command in (
        RUN,
        ("label", "--terminal", "pets.csv"),
        ("status", "pets.bela"),
        ("export", "pets.bela", "--to", "x.csv"),
    ):
        line = call(*command, status=2).err
        assert "has changed" in line
        assert "--accept-changes" in line
    said = call(*RUN, "--accept-changes", "--budget", 5)
    assert "answers to rows that are the same are kept" in said.out
    found = call("status", "pets.bela", "--json").json
    assert 10 <= found["n_given"] <= 12
    assert (found["n_rows"], found["n_asked"]) == (79, 5)
    call("export", "pets.bela", "--to", "x.csv")
    assert "Yes" in call("verify", "pets.bela", "--export", "x.csv").out


def test_features_outlive_a_change_of_the_data(call: Any, table: Path) -> None:
    """What rows were compared by stays as it was chosen."""
    call(*RUN, *QUICK, "--features", "raw")
    table.write_text(table.read_text() + "new pet,0.1,0.2,cat\n")
    call(*RUN, "--accept-changes", "--budget", 5)
    assert 'features = "raw"' in Path("pets.bela/campaign.toml").read_text()
    assert "--features auto contradicts pets.bela" in call(*RUN, "--features", "auto", status=2).err


def test_an_audit_outlives_a_change_of_the_data(call: Any, table: Path) -> None:
    """The answers about rows that are the same are known labels of the audit that goes on."""
    call("certify", "pets.csv", "--label", "kind", typed="\n\nhamster\nhamster\n\nq\n", status=1)
    table.write_text(table.read_text() + "new pet,0.1,0.2,cat\n")
    command = ("certify", "pets.csv", "--label", "kind")
    assert "has changed" in call(*command, status=2).err
    found = call(*command, "--accept-changes", "--json", "-", typed="\nq\n", status=1).json
    assert (found["n_rows"], found["n_asked"], found["n_mistakes"]) == (81, 1, 1)


def test_classes_outlive_a_change_of_the_data(call: Any, table: Path) -> None:
    """Classes that were added or renamed since are those of the answers that are kept."""
    call(
        "label", "--terminal", "pets.csv", "--hide", "kind", "--classes", "cat,dog", *PAPER, typed="1\n2\n+hamster\n1\n"
    )
    with open_campaign(Path("pets.bela")) as stored:
        stored.campaign.rename_class("cat", "chat")
    table.write_text(table.read_text() + "new pet,0.1,0.2,cat\n")
    call("label", "--terminal", "pets.csv", "--accept-changes", typed="q\n")
    found = call("status", "pets.bela", "--json").json
    assert [entry["label"] for entry in found["classes"]] == ["chat", "dog", "hamster"]
    assert sum(entry["known"] for entry in found["classes"]) == found["n_given"] == 4


def test_classes_of_a_file_and_their_groups(call: Any, table: Path) -> None:
    """Names and groups come from a table; a class that is renamed, or kept when the data change, stays in its group."""
    Path("classes.csv").write_text('name,group\ncat,"furry, small"\ndog,\neel,wet\n')
    call("label", "--terminal", "pets.csv", "--hide", "kind", "--class-file", "classes.csv", *PAPER, typed="1\n2\nq\n")
    with open_campaign(Path("pets.bela")) as stored:
        assert stored.campaign.classes == ("cat", "dog", "eel")
        stored.campaign.rename_class("cat", "chat")
        assert groups_now(stored.settings, stored.campaign.book.codes) == {"chat": "furry, small", "eel": "wet"}
    table.write_text(table.read_text() + "new pet,0.1,0.2,cat\n")
    call("label", "--terminal", "pets.csv", "--accept-changes", typed="q\n")
    with open_campaign(Path("pets.bela")) as stored:
        assert groups_now(stored.settings, stored.campaign.book.codes) == {"chat": "furry, small", "eel": "wet"}
    other = ("label", "--terminal", "pets.csv", "--campaign", "other.bela", "--class-file", "classes.csv")
    assert "exclude each other" in call(*other, "--classes", "a,b", status=2).err
    Path("classes.csv").write_text("name\ncat\ncat\n")
    assert "class 2 has no name, or one that was there" in call(*other, status=2).err
    Path("classes.csv").write_text("name\n")
    assert call(*other, status=2).err


def test_a_program_that_decides_otherwise(call: Any, table: Path) -> None:
    """Where a journal cannot be made again, as by another version, its answers go on as given labels."""
    call(*RUN, *QUICK)
    with open_campaign(Path("pets.bela"), read_only=True) as stored:
        events = [(event.kind, event.data) for event in stored.journal.events()]
    asked = [question for kind, data in events if kind == "asked" for question in data["questions"]]
    asked[0][0] = min(set(range(80)) - {row for row, _, _ in asked})
    for path in Path("pets.bela").glob("journal*"):
        path.unlink()
    journal = SQLiteJournal(Path("pets.bela/journal.sqlite"), create=True)
    journal.append(events)
    journal.close()
    for command in (RUN, ("status", "pets.bela")):
        line = call(*command, status=2).err
        assert "cannot be made again" in line
        assert "--accept-changes" in line
    said = call(*RUN, "--accept-changes", "--budget", 3)
    assert "12 answers to rows that are the same are kept" in said.out
    found = call("status", "pets.bela", "--json").json
    assert (found["n_given"], found["n_asked"]) == (12, 3)


# -------------------------------------------------------------------------------------------------- what is printed


def test_nothing_but_json_on_stdout(call: Any, table: Path) -> None:
    """With --json there is one object on stdout; words go elsewhere, bars to terminals only."""
    said = call(*RUN, *QUICK, "--json", "-")
    assert said.json["accuracy"] > 0.5
    assert said.json["seconds"] > 0
    assert "This is how the columns" in said.err
    for command in (("status",), ("verify",), ("verify", "--quick"), ("undo",), ("export", "--to", "x.jsonl")):
        said = call(command[0], "pets.bela", *command[1:], "--json")
        assert isinstance(said.json, dict)
        assert said.err == ""
    said = call(*RUN, "--json", "out.json")
    assert json.loads(Path("out.json").read_text())["n_asked"] == 12
    assert "12 answers" in said.out
    assert "no such folder" in call(*RUN, "--json", "no/out.json", status=2).err


def test_names_do_not_steer_the_terminal(call: Any, make_table: Callable[..., Path]) -> None:
    """Classes and columns are shown without what would steer a terminal."""
    make_table(("cat\x1b[31m", "dog"))
    for command in ((*RUN, *QUICK), ("status", "pets.bela"), ("undo", "pets.bela")):
        assert "\x1b" not in call(*command).out
    assert "\x1b" not in call("run", "pets.csv", "--truth", "\x1b[31m", status=2).err


def test_many_columns_are_not_all_told(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a wide table some columns are told, and where to look for the others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    header = ",".join(f"c{i}" for i in range(50))
    Path("wide.csv").write_text(header + "\n" + "\n".join(",".join(map(str, row)) for row in rng.normal(size=(20, 50))))
    said = call("label", "--terminal", "wide.csv", typed="q\n")
    assert "and 30 more: see wide.bela/campaign.toml" in said.out


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")
def test_keys_on_a_terminal(call: Any, table: Path) -> None:
    """In a real terminal the bars go before the first question comes, each key is an answer, and Ctrl-C keeps them."""
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "bela",
        "label",
        "--terminal",
        "pets.csv",
        "--hide",
        "kind",
        "--classes",
        "cat,dog",
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - it calls nothing that locks
    ) as process:  # fmt: skip
        os.close(slave)
        shown = b""
        try:
            for answers, key in enumerate((b"1", b"2", b"u", b"1", b"\x03")):
                mark = (b"0 answers", b"1 answer ", b"2 answers", b"1 answer ", b"2 answers")[answers]
                start = len(shown)
                while not (mark in shown[start:] and shown.endswith(b"> ")):
                    assert select.select([master], [], [], 60)[0], (answers, shown[-500:])
                    shown += os.read(master, 4096)
                os.write(master, key)
            with contextlib.suppress(OSError):  # the terminal is gone when the program is
                while True:
                    if not select.select([master], [], [], 10)[0]:  # whoever sees nothing happen presses it again
                        os.write(master, b"\x03")
                    shown += os.read(master, 4096)
            process.wait(60)
        finally:
            process.kill()
            os.close(master)
    assert process.returncode == 0, shown[-500:]
    assert b"To go on: bela label pets.bela" in shown
    assert b"computing features" in shown
    assert call("status", "pets.bela", "--json").json["n_asked"] == 2
