"""Data that change under a campaign: refused, or accepted with every answer that is about a row that is the same."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.campaign import SETTINGS, create_campaign, open_campaign, read_settings
from bela.errors import BelaError, DataError, JournalError, LabelError, ParameterError, ReplayError

STORED = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("test_stored.py"))))
write, answer, lines = STORED.write, STORED.answer, STORED.lines


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as name:
        yield Path(name)


def known(path: Path, **options: Any) -> dict[str, Any]:
    """Return what is known about each line of the data that something is known about."""
    with open_campaign(path, **options) as stored:
        return {
            stored.records.record(row)["name"]: stored.campaign.book.label(row)
            for row in range(stored.records.n_rows)
            if stored.campaign.book.label(row) is not None
        }


def change(path: Path, rows: list[str], **options: Any) -> dict[str, Any]:
    """Change the data, see it refused, accept it; return what is known then."""
    write(path.parent / "pets.csv", rows, **options)
    before = sorted(entry.name for entry in path.iterdir() if entry.suffix != ".json")
    for read_only in (True, False):
        with pytest.raises(DataError, match=r"has changed since .*--accept-changes"):
            open_campaign(path, read_only=read_only)
    with pytest.raises(ParameterError, match="by a writer only"):
        open_campaign(path, read_only=True, accept_changes=True)
    assert [name for name in before if not (path / name).exists()] == []
    found = known(path, accept_changes=True)
    assert known(path) == found
    return found


@settings(max_examples=6 * STORED.FUZZ)
@given(
    order=st.permutations(range(STORED.N_ROWS)),
    gone=st.sets(st.integers(0, STORED.N_ROWS - 1), max_size=30),
    edited=st.sets(st.integers(0, STORED.N_ROWS - 1), max_size=10),
    again=st.booleans(),
)
def test_answers_follow_their_rows(order: list[int], gone: set[int], edited: set[int], again: bool) -> None:
    """Rows moved, removed, edited and added: answers to all others are there, none is anywhere else.

    When the old data come back, so does every answer, those to rows that were gone included.
    """
    with TemporaryDirectory(dir=STORED.LIVES.MEMORY) as name:
        path = STORED.make(Path(name))
        before = known(path)
        assert len(before) == 15
        old = lines()
        rows = [old[i].replace(",", "-edited,", 1) if i in edited else old[i] for i in order if i not in gone]
        rows.append("one more,1.5,2.5,dog")
        stays = {f"pet {i}" for i in range(STORED.N_ROWS) if i not in gone | edited}
        assert change(path, rows) == {pet: label for pet, label in before.items() if pet in stays}
        if again:
            with open_campaign(path) as stored:
                answer(stored, 3)
            more = known(path)
            assert len(more) > len(stays & before.keys())
            write(path.parent / "pets.csv", old)
            found = known(path, accept_changes=True)
            assert found == before | {pet: label for pet, label in more.items() if pet in dict.fromkeys(found)}


def test_rows_with_the_same_content(folder: Path) -> None:
    """Of rows that are alike, as many have an answer afterwards as had one before; those that stayed keep theirs."""
    rows = ["twin,1,1,cat"] * 10 + lines()[:20]
    path = folder / "pets.bela"
    options = {"method": STORED.QUICK, "hidden": ("kind", "name")}
    with create_campaign(write(folder / "pets.csv", rows), path, **options) as stored:
        for row, label in ((2, "cat"), (5, "dog"), (7, "cat"), (12, "emu")):
            stored.campaign.relabel(row, label)
    write(folder / "pets.csv", [*rows, "new,3,3,cat"])
    with open_campaign(path, accept_changes=True) as stored:
        assert {row: stored.campaign.book.label(row) for row in stored.campaign.book.given} == {
            2: "cat", 5: "dog", 7: "cat", 12: "emu",
        }  # fmt: skip
    write(folder / "pets.csv", rows[4:])
    with open_campaign(path, accept_changes=True) as stored:
        found = [stored.campaign.book.label(row) for row in sorted(stored.campaign.book.given)]
    assert sorted(map(str, found)) == ["cat", "cat", "dog", "emu"]


def test_classes_keep_their_names(folder: Path) -> None:
    """Renamed, merged and added classes stay so, for answers, for labels that the data bring, old and new."""
    rows = [f"{line},{'' if i % 4 else line.rsplit(',', 1)[1]}" for i, line in enumerate(lines())]
    head = "name,weight,height,kind,some"
    path = folder / "pets.bela"
    options = {"method": STORED.QUICK, "hidden": ("kind", "name"), "label_column": "some"}
    with create_campaign(write(folder / "pets.csv", rows, head), path, **options) as stored:
        answer(stored, 10)
        stored.campaign.rename_class("cat", "feline")
        stored.campaign.rename_class("dog", "cat")  # a name that another class had
        stored.campaign.rename_class("cat", "hound")
        stored.campaign.add_class("gnu")
        stored.campaign.merge_class("emu", "gnu")
        stored.campaign.rename_class("gnu", "beast")
        stored.campaign.rename_class("beast", "never")
        stored.campaign.undo()
    before = known(path)
    assert set(before.values()) == {"feline", "hound", "beast"}
    rows[1] += "dog"
    found = change(path, [*rows[:30], "new,1,1,cat,cat", *rows[30:]], head=head)
    assert found == before | {"new": "feline", "pet 1": "hound"}
    with open_campaign(path) as stored:
        stored.campaign.merge_class("feline", "beast")
        stored.campaign.relabel(31, "hound")
    before = known(path)
    rows.append("newest,1,1,cat,cat")
    found = change(path, rows[::-1], head=head)
    assert found == {pet: label for pet, label in before.items() if pet != "new"} | {"newest": "beast"}
    assert set(found.values()) == {"hound", "beast"}


def test_declared_classes(folder: Path) -> None:
    """A declared list goes on with the classes as they are; a label outside it stops everything before it begins."""
    path = STORED.make(folder, classes=("cat", "dog", "emu"))
    with open_campaign(path) as stored:
        stored.campaign.add_class("gnu")
        stored.campaign.relabel(3, "gnu")
        stored.campaign.rename_class("emu", "ostrich")
    before = known(path)
    found = change(path, lines()[:55])
    assert found == {pet: label for pet, label in before.items() if int(pet[4:]) < 55}
    with open_campaign(path) as stored:
        assert set(stored.campaign.classes) == {"cat", "dog", "ostrich", "gnu"}
        with pytest.raises(LabelError, match="not one of the declared classes"):
            stored.campaign.relabel(0, "yak")


def test_new_data_that_do_not_fit(folder: Path) -> None:
    """Where the new data cannot be worked with, nothing is changed: with the old data all is as before."""
    rows = [f"{line},{'cat' if i == 0 else ''}" for i, line in enumerate(lines())]
    head = "name,weight,height,kind,some"
    path = folder / "pets.bela"
    options = {"method": STORED.QUICK, "hidden": ("kind", "name"), "label_column": "some", "classes": STORED.KINDS}
    with create_campaign(write(folder / "pets.csv", rows, head), path, id_column="name", **options) as stored:
        answer(stored, 8)
    before, toml = known(path), (path / SETTINGS).read_text()
    for new, other in (
        (lines(), None),  # the column with labels is gone
        ([row.partition(",")[2] for row in rows], "weight,height,kind,some"),  # that with names is
        ([*rows, "new,1,1,cat,yak"], head),  # a label outside the declared ones
        ([*rows, rows[-1]], head),  # two rows of one name
    ):
        write(folder / "pets.csv", new, *([] if other is None else [other]))
        with pytest.raises(BelaError):
            open_campaign(path, accept_changes=True)
        assert (path / SETTINGS).read_text() == toml
    write(folder / "pets.csv", rows, head)
    assert known(path) == before


@pytest.mark.parametrize("step", ["journal", "carried", "rows", "settings"])
def test_killed_while_changes_are_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Killed at any step, the campaign is the old one still: it goes on with the old data, or accepts the new ones."""
    import bela.campaign._carry_over as changes

    class Killed(BaseException):
        """As by a signal."""

    def killed(*arguments: Any, **options: Any) -> None:
        raise Killed

    path = STORED.make(folder)
    before = known(path)
    write(folder / "pets.csv", lines()[:40])
    name = {
        "journal": "SQLiteJournal",
        "carried": "write_durably",
        "rows": "save_digests",
        "settings": "write_settings",
    }
    real = changes.SQLiteJournal
    broken = killed if step != "journal" else (lambda *a, create=False, **k: killed() if create else real(*a, **k))
    monkeypatch.setattr(changes, name[step], broken)
    with pytest.raises(Killed):
        open_campaign(path, accept_changes=True)
    monkeypatch.undo()
    assert read_settings(path / SETTINGS).journal == "journal.sqlite"
    write(folder / "pets.csv", lines())
    assert known(path) == before
    found = change(path, lines()[:40])
    assert found == {pet: label for pet, label in before.items() if int(pet[4:]) < 40}
    settings_now = read_settings(path / SETTINGS)
    assert len({settings_now.journal, settings_now.rows, str(settings_now.carried)}) == 3


def test_damaged_files_of_a_change(folder: Path) -> None:
    """Without the digests of the rows nobody can tell what changed; without what was carried over nothing goes on."""
    path = STORED.make(folder)
    digests = (path / "rows.npy").read_bytes()
    write(folder / "pets.csv", lines()[:40])
    for content in (None, b"", digests[:-9], digests[:100], np.zeros(3).tobytes()):
        if content is None:
            (path / "rows.npy").unlink()
        else:
            (path / "rows.npy").write_bytes(content)
        with pytest.raises(JournalError, match="nobody can tell what changed"):
            open_campaign(path, accept_changes=True)
    (path / "rows.npy").write_bytes(digests)
    found = known(path, accept_changes=True)
    carried = path / str(read_settings(path / SETTINGS).carried)
    whole = carried.read_text()
    lines_of_it = ("[]", '[99,"cat",1]', "[1,null,1]", '["1","cat",1]', "[" * 10**5, "3", '{"names": 3}')
    for text in ("", whole[:-5], whole[1:], *(whole + line for line in lines_of_it), '{"names": [[1]]}\n'):
        carried.write_text(text)
        with pytest.raises(JournalError, match=carried.name):
            open_campaign(path)
    carried.write_text(whole)
    assert known(path) == found


def test_another_way_to_choose_questions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program chooses otherwise than before, what was asked stays asked: opening decides nothing anew."""
    path = STORED.make(folder, method="bela")
    before = STORED.view(path)
    monkeypatch.setattr("bela.methods.bela.Bela.propose", lambda self, book, n: ())
    assert STORED.view(path) == before


def test_a_campaign_that_cannot_be_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what was chosen is needed and comes out otherwise, that is said; answers can be kept as given labels."""
    path = STORED.make(folder, method="hsal")
    before = known(path)
    monkeypatch.setattr("bela.methods.trees.HSAL.propose", lambda self, book, n: ())
    monkeypatch.setattr("bela.methods.trees.HSAL._choose", lambda self, book, n: ())
    with pytest.raises(ReplayError, match="--accept-changes"):
        open_campaign(path)
    with pytest.raises(ReplayError, match="--accept-changes"):
        open_campaign(path, read_only=True, accept_changes=True)
    assert known(path, accept_changes=True) == before
    monkeypatch.undo()
    assert known(path) == before
    assert json.loads((path / "carried-2.jsonl").read_text().splitlines()[1])[2] > 0


def test_features_stay_what_they_were(folder: Path) -> None:
    """Columns that somebody chose a kind for, and features that are not the usual ones, are so for changed data too."""
    path = STORED.make(folder, kinds={"height": "ignored"}, features="raw", method="random")
    before = read_settings(path / SETTINGS).features
    assert (before["features"], before["columns"]["height"]) == ("raw", "ignored")
    change(path, lines()[:50])
    after = read_settings(path / SETTINGS).features
    assert (after["features"], after["columns"]) == ("raw", before["columns"])


def _with_features(folder: Path, name: str, column: int) -> tuple[Path, str]:
    """Begin a campaign with features of a file of their own; return the key that its draws follow from."""
    numbers = np.random.default_rng(0).normal(size=(STORED.N_ROWS, 3))
    numbers[:, column] += np.arange(STORED.N_ROWS)  # as it would be if it had learnt something
    np.save(folder / "numbers.npy", numbers)
    table = write(folder / "pets.csv", lines())
    with create_campaign(table, folder / name, features=str(folder / "numbers.npy"), hidden=("kind", "name")) as stored:
        answer(stored, 14)
        return folder / name, stored.campaign.book.began.key


@pytest.mark.parametrize("broken", [False, True])
def test_features_that_have_learnt_meet_other_draws(folder: Path, broken: bool, monkeypatch: Any) -> None:
    """A file of features that is made anew, by what a first campaign has drawn, begins with draws of its own.

    The twin: where the key does not know what is in the file, both campaigns have one.
    """
    if broken:
        monkeypatch.setattr("bela.campaign._folder.pin_plan", lambda plan, *_: plan)
    (_, first), (_, second) = _with_features(folder, "a.bela", 0), _with_features(folder, "b.bela", 1)
    assert (first == second) == broken


def test_features_cannot_learn_while_a_campaign_goes_on(folder: Path) -> None:
    """A file of features that has changed is refused, or everything known is brought to a new beginning."""
    path, _ = _with_features(folder, "a.bela", 0)
    before, kept = known(path), (folder / "numbers.npy").read_bytes()
    np.save(folder / "numbers.npy", np.zeros((STORED.N_ROWS, 3)) + np.arange(STORED.N_ROWS)[:, None])
    for options in ({}, {"read_only": True}, {"read_only": True, "accept_changes": True}):
        with pytest.raises(DataError, match=r"numbers\.npy have changed since .*--accept-changes"):
            open_campaign(path, **options)
    (folder / "numbers.npy").write_bytes(kept)
    with open_campaign(path) as stored:
        assert stored.campaign.book.n_asked
    np.save(folder / "numbers.npy", np.zeros((STORED.N_ROWS, 3)) + np.arange(STORED.N_ROWS)[:, None])
    assert known(path, accept_changes=True) == before
    with open_campaign(path) as stored:
        assert (stored.campaign.book.n_asked, len(stored.campaign.book.given)) == (0, len(before))


def test_a_function_that_has_changed_is_other_features(folder: Path, monkeypatch: Any) -> None:
    """The same of a function that computes features: by its code."""
    monkeypatch.chdir(folder)
    code = "def numbers(records):\n    return [[len(record['name']), {}] for record in records]\n"
    (folder / "made_of_names.py").write_text(code.format(1))
    path = STORED.make(folder, features="made_of_names:numbers", hidden=("kind",))
    (folder / "made_of_names.py").write_text(code.format(22))
    with pytest.raises(DataError, match="made_of_names:numbers have changed since"):
        open_campaign(path, allow_code=True)
    assert known(path, allow_code=True, accept_changes=True)
