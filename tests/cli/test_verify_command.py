"""`bela verify` says yes to what is true, no to what was tampered with, and that it cannot tell where it cannot."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.cli import main
from bela.methods.bela._revision import VERSION
from bela.storage import FolderStore

RUN = ("run", "pets.csv", "--truth", "kind", "--budget", "12")
JOURNAL = Path("pets.bela/journal.sqlite")
CERTIFICATE = Path("out.csv.certificate.json")


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory, pets_table: Path) -> Path:
    """A folder with data, campaign and export, to be copied."""
    folder = tmp_path_factory.mktemp("verify")
    shutil.copy(pets_table, folder / "pets.csv")
    assert main(["run", str(folder / "pets.csv"), *RUN[2:]]) == 0
    assert main(["export", str(folder / "pets.bela"), "--to", str(folder / "out.csv")]) == 0
    return folder


@pytest.fixture
def exported(campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder with the data, a campaign, and its export `out.csv`."""
    shutil.copytree(campaign, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out.csv"


def verdict(call: Any, *options: object) -> tuple[int, str]:
    """Verify the export and return the exit status and the reasons."""
    said = call("verify", "pets.bela", "--export", "out.csv", *options, "--json", status=None)
    found = said.json
    assert found["verified"] == {0: True, 1: False, 2: None}[said.status]
    assert bool(found["reasons"]) == (said.status != 0)
    return said.status, " ".join(found["reasons"])


def change(statement: str, *values: object) -> None:
    """Change the journal behind everybody's back."""
    with sqlite3.connect(JOURNAL) as db:
        db.execute(statement, values)
    db.close()


def forge(events: list[tuple[Any, ...]]) -> None:
    """Write a journal whose chain of digests is in order."""
    digest = b""
    Path(f"{JOURNAL}-head").unlink(missing_ok=True)  # a forger knows all files
    with sqlite3.connect(JOURNAL) as db:
        db.execute("DELETE FROM events")
        for seq, at, kind, data in events:
            digest = hashlib.blake2b(digest + f"{seq}\n{at!r}\n{kind}\n{data}".encode(), digest_size=16).digest()
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (seq, at, kind, data, digest))
    db.close()


def events() -> list[tuple[Any, ...]]:
    """Read the journal."""
    with sqlite3.connect(JOURNAL) as db:
        found = db.execute("SELECT seq, at, kind, data FROM events ORDER BY seq").fetchall()
    db.close()
    return found


def said_cat() -> int:
    """Return the number of the first event that is the answer "cat"."""
    return int(next(seq for seq, _, kind, data in events() if kind == "answered" and '"cat"' in data))


def edit(**changes: object) -> None:
    """Change the certificate."""
    document = json.loads(CERTIFICATE.read_text())
    CERTIFICATE.write_text(json.dumps({**document, **changes}))


def test_yes(call: Any, exported: Path) -> None:
    """What was not touched is verified, quickly or from the data on, and with no cache at all."""
    assert verdict(call) == (0, "")
    assert verdict(call, "--quick") == (0, "")
    shutil.rmtree("pets.bela/cache")
    assert verdict(call, "--quick") == (0, "")
    said = call("verify", "pets.bela")
    assert "Computed again from the data, 12 answers give this: Certified" in said.out


def test_an_old_export_stays_true(call: Any, exported: Path) -> None:
    """An export is compared with the campaign as it was then; undo, answers and other targets came later."""
    call("undo", "pets.bela", "-n", 2)
    call(*RUN[:-1], 20, "--target", 0.9)
    assert verdict(call) == (0, "")
    said = call("verify", "pets.bela", "--export", "out.csv")
    assert "as it was then" in said.out
    call("export", "pets.bela", "--to", "out.csv")
    assert verdict(call) == (0, "")


def test_a_cache_that_was_tampered_with(call: Any, exported: Path) -> None:
    """Nothing under cache/ can change the verdict."""
    for path in Path("pets.bela/cache").rglob("*"):
        if path.is_file() and path.stat().st_size > 200:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 0xFF
            path.write_bytes(content)
    assert verdict(call) == (0, "")


def test_a_journal_that_was_changed(call: Any, exported: Path) -> None:
    """A changed answer breaks the chain of digests, and is named."""
    place = said_cat()
    change("UPDATE events SET data = replace(data, 'cat', 'dog') WHERE seq = ?", place)
    status, reasons = verdict(call)
    assert status == 1
    assert f"damaged at event {place}" in reasons
    assert "No:" in call("verify", "pets.bela", status=1).out
    for command in (("status", "pets.bela"), ("undo", "pets.bela"), RUN, ("export", "pets.bela", "--to", "x.csv")):
        assert f"damaged at event {place}" in call(*command, status=2).err


def test_a_journal_that_was_forged(call: Any, exported: Path) -> None:
    """A journal with another answer and a chain in order is not the one that the export was written from."""
    forged = [list(event) for event in events()]
    forged[said_cat() - 1][3] = forged[said_cat() - 1][3].replace('"cat"', '"dog"')
    forge([tuple(event) for event in forged])
    status, reasons = verdict(call)
    assert status == 1
    assert "not those that the export was written from" in reasons


def test_a_journal_that_was_cut(call: Any, exported: Path) -> None:
    """Events that are missing at the end are missed."""
    change("DELETE FROM events WHERE seq > 10")
    assert verdict(call)[0] == 1
    Path(f"{JOURNAL}-head").unlink(missing_ok=True)
    status, reasons = verdict(call)
    assert status == 1
    assert "the journal has 10" in reasons


def test_events_that_make_no_sense(call: Any, exported: Path) -> None:
    """An answer to a question that was never asked is no answer."""
    last = events()[-1]
    forge([*events(), (last[0] + 1, last[1], "answered", '{"question":999,"label":"cat"}')])
    said = call("verify", "pets.bela", "--json", status=1)
    assert "makes no sense" in said.json["reasons"][0]
    assert "makes no sense" in call("status", "pets.bela", status=2).err


def test_other_questions_than_the_method_asks(call: Any, exported: Path) -> None:
    """Rows that the method would not have asked about: forged, or another machine; who could tell?"""
    first = next(data for _, _, kind, data in events() if kind == "asked")
    questions = [json.loads(data)["questions"] for _, _, kind, data in events() if kind == "asked"]
    rows = {row for asked in questions for row, *_ in asked}
    asked = json.loads(first)
    asked["questions"][0][0] = min(set(range(80)) - rows)
    forge([(seq, at, kind, json.dumps(asked) if data == first else data) for seq, at, kind, data in events()])
    said = call("verify", "pets.bela", status=2).err
    assert "cannot be made again as it was recorded (event 2: of" in said
    assert "1 would be about another row now" in said
    assert "Yes." in call("verify", "pets.bela", "--quick").out


def test_another_version_of_the_method(call: Any, exported: Path) -> None:
    """What another version of the method decided is compared by its digests, and that is said."""
    found = call("verify", "pets.bela", "--json").json
    assert (found["decided"] > 2, found["compared"]) == (True, 0)
    forge([(*rest, data.replace(f'"method_version":{VERSION}', '"method_version":0')) for *rest, data in events()])
    said = call("verify", "pets.bela")
    assert "Another version of the method made" in said.out
    found = call("verify", "pets.bela", "--json").json
    assert (found["decided"] > 0, found["compared"] > 1) == (True, True)


def test_a_revision_of_another_moment(call: Any, exported: Path) -> None:
    """The arrays of a revision are what the journal says, or it is a no."""
    [first, *_] = sorted(Path("pets.bela/revisions").rglob("revision-*"))
    store = FolderStore(first.parent)
    arrays = store.load(first.stem)
    arrays[0] = arrays[0][::-1].copy()
    store.save(first.stem, arrays)
    for options in ((), ("--quick",)):
        status, reasons = verdict(call, *options)
        assert status == 1
        assert "are not those that were recorded" in reasons


def test_a_journal_of_a_newer_version(call: Any, exported: Path) -> None:
    """A newer journal is not touched."""
    change("PRAGMA user_version = 99")
    status, reasons = verdict(call)
    assert status == 2
    assert "newer version" in reasons
    for command in (("status", "pets.bela"), ("undo", "pets.bela"), RUN):
        assert "upgrade" in call(*command, status=2).err


def test_bytes_flipped_anywhere_in_the_journal(call: Any, exported: Path) -> None:
    """Whatever byte is flipped, the journal is found damaged or says the same; never a traceback."""
    content = JOURNAL.read_bytes()
    rng = np.random.default_rng(0)
    statuses = set()
    for place in [20, 100, *rng.integers(0, len(content), 25).tolist()]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        JOURNAL.write_bytes(flipped)
        for ending in ("-wal", "-shm"):
            Path(f"{JOURNAL}{ending}").unlink(missing_ok=True)
        said = call("verify", "pets.bela", "--quick", "--json", status=None)
        assert said.status in (0, 1, 2)
        statuses.add(said.status)
    assert statuses & {1, 2}
    JOURNAL.write_bytes(content[: len(content) // 2])
    assert call("verify", "pets.bela", "--json", status=None).status in (1, 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lower": 0.99}, "lower: 0.99"),
        ({"confidence": 0.99}, "confidence"),
        ({"seed": 7}, "seed: 7"),
        ({"labels_sha256": "0"}, "labels_sha256"),
        ({"data": {}}, "data"),
        ({"classes": []}, "classes"),
        ({"journal": {"events": 9, "digest": "00"}}, "not those that the export was written from"),
        ({"journal": {"events": 99, "digest": "00"}}, "the journal has"),
        ({"journal": None, "method": "magic"}, 'method: "magic"'),
    ],
)
def test_a_certificate_that_was_changed(call: Any, exported: Path, changes: dict[str, object], says: str) -> None:
    """A certificate that claims anything else is not the campaign's."""
    edit(**changes)
    status, reasons = verdict(call, "--quick")
    assert status == 1
    assert says in reasons


def test_labels_that_were_changed(call: Any, exported: Path) -> None:
    """A label changed in the export is found by its checksum, and by itself if the checksum was forged too."""
    text = exported.read_text()
    head, _, last = text.rstrip("\n").rpartition("\n")
    label = '"cat"' if ',"dog","' in last else '"dog"'
    cells = last.split(",")
    cells[3] = label
    exported.write_text(head + "\n" + ",".join(cells) + "\n")
    status, reasons = verdict(call, "--quick")
    assert status == 1
    assert "has been changed since" in reasons
    document = json.loads(CERTIFICATE.read_text())
    document["export"]["sha256"] = hashlib.sha256(exported.read_bytes()).hexdigest()
    CERTIFICATE.write_text(json.dumps(document))
    status, reasons = verdict(call, "--quick")
    assert status == 1
    assert reasons == "the labels in out.csv are not those of the campaign"
    exported.write_text(head + "\n")
    assert "79 rows" in verdict(call, "--quick")[1]
    exported.write_text('a,b,"')
    assert verdict(call, "--quick")[0] in (1, 2)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (CERTIFICATE.unlink, "no certificate"),
        (lambda: CERTIFICATE.write_text("{"), "cannot be read"),
        (lambda: CERTIFICATE.write_text("[]"), "no certificate of BELA's"),
        (lambda: edit(journal="yesterday"), "which moment"),
        (lambda: edit(versions={"bela": "9", "schema": 99}), "newer"),
        (lambda: Path("pets.csv").unlink(), "no file or folder"),
        (lambda: Path("pets.csv").write_text("name,kind\na,b\n"), "has changed"),
        (lambda: Path("pets.bela/campaign.toml").write_text("format = 99"), "upgrade"),
        (JOURNAL.unlink, "no journal"),
    ],
)
def test_what_cannot_be_told(call: Any, exported: Path, spoil: Any, says: str) -> None:
    """Where something is missing that it takes to tell, that is said, with status 2."""
    spoil()
    status, reasons = verdict(call)
    assert status == 2
    assert says in reasons
    assert says in call("verify", "pets.bela", "--export", "out.csv", status=2).err


def test_settings_of_another_campaign(call: Any, exported: Path) -> None:
    """Whoever changes the seed in the settings has another campaign than the journal's."""
    path = Path("pets.bela/campaign.toml")
    path.write_text(path.read_text().replace("seed = 0", "seed = 1"))
    status, reasons = verdict(call, "--quick")
    assert status == 1
    assert "another campaign" in reasons


def test_before_the_first_answer(call: Any, table: Path) -> None:
    """A campaign without answers is in order, and there is nothing to export."""
    call("label", "--terminal", "pets.csv", typed="q\n")
    assert "Yes." in call("verify", "pets.bela").out
    assert "at least one question" in call("export", "pets.bela", "--to", "out.csv", status=2).err
    assert "No classes yet." in call("status", "pets.bela").out
