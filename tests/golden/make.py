"""Writes campaigns of the present format, to be kept: python tests/golden/make.py format-1

Each lies in a folder with its data, and what it came to beside it. None is ever changed once a version is released; a
new format gets campaigns of its own.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bela.book import count, describe_undo, flags, opinions
from bela.campaign import StoredCampaign, create_campaign, open_campaign
from bela.records import Json

HERE = Path(__file__).parent
PLACES = ("harbour", "station", "market")
WORDS = {
    "harbour": ("boat", "sail", "tide", "crane", "net"),
    "station": ("train", "ticket", "rail", "platform", "whistle"),
    "market": ("apple", "cheese", "stall", "price", "basket"),
}


def write(path: Path, head: str, rows: list[str]) -> Path:
    """Write a table."""
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def points(n: int, seed: int) -> list[str]:
    """Rows of two numbers in three clusters, with their place."""
    rng = np.random.default_rng(seed)
    side = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + 4 * np.array([(0, 0), (1, 0), (0, 1)])[side]
    return [f"{i},{a:.3f},{b:.3f},{PLACES[k]}" for i, ((a, b), k) in enumerate(zip(X, side, strict=True))]


def answer(stored: StoredCampaign, n: int, *, by: str | None = None) -> None:
    """Answer n questions rightly."""
    for _ in range(n):
        [question] = stored.campaign.ask()
        stored.campaign.tell(question.id, stored.records.record(question.row)["place"], by=by)


def texts(folder: Path) -> None:
    """Texts, with classes added, renamed and merged, some of it taken back, and a row that nobody asked for."""
    rng = np.random.default_rng(1)
    places = [PLACES[i % 3] for i in range(60)]
    rows = [f"{i},{' '.join(rng.choice(WORDS[place], 4))} — n° {i},{place}" for i, place in enumerate(places)]
    table = write(folder / "data.csv", "id,text,place", rows)
    options = {"id_column": "id", "hidden": ("place",), "target": 0.8, "seed": 3}
    with create_campaign(table, folder / "data.bela", **options) as stored:
        answer(stored, 12)
        campaign = stored.campaign
        campaign.add_class("Bahnhof")
        campaign.merge_class("station", "Bahnhof")
        campaign.rename_class("harbour", "Häfen ⚓")
        campaign.undo()
        campaign.flag(7, 'really?\n"yes"')
        corrected = next(row for row in range(60) if not campaign.book.asked[row])
        campaign.relabel(corrected, "Bahnhof")
        for question in campaign.ask(4)[:3]:
            campaign.skip(question.id, cost=0.25)
        campaign.undo()
        stored.set_target(target=0.9, budget=40)
    with open_campaign(folder / "data.bela") as stored:
        stored.campaign.undo(by=None)
        answer_with(stored, {"station": "Bahnhof"}, 14)
        stored.campaign.merge_class("market", "Bahnhof")
        stored.campaign.undo()


def answer_with(stored: StoredCampaign, names: dict[str, str], n: int) -> None:
    """Answer n questions rightly, under names that classes have by now."""
    for _ in range(n):
        [question] = stored.campaign.ask()
        place = stored.records.record(question.row)["place"]
        stored.campaign.tell(question.id, names.get(place, place))


def team(folder: Path) -> None:
    """Several people, with second opinions, one of them settled, and answers that their owners took back."""
    table = write(folder / "data.csv", "id,x,y,place", points(60, 2))
    with create_campaign(table, folder / "data.bela", hidden=("id", "place"), classes=PLACES, budget=30) as stored:
        campaign = stored.campaign
        for by in ("Ann", "Bob", "Cem") * 5:
            answer(stored, 1, by=by)
        for question, by, place in ((0, "Bob", "market"), (0, "Cem", "harbour"), (1, "Ann", "station")):
            campaign.opine(question, place, by=by)
        campaign.undo(by="Ann")
        campaign.relabel(campaign.question(0).row, "market", by="Cem")
        campaign.undo(by="Bob")
        with campaign.together():
            for question in campaign.ask(3):
                campaign.tell(question.id, "station", by="Cem", cost=1.5)


def audit(folder: Path) -> None:
    """Labels that were there before, audited: some are right, some wrong, one of them without the right label."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(80):
        place = PLACES[i % 3]
        said = PLACES[(i + 1) % 3] if rng.random() < 0.1 else place
        rows.append(f"{i},{said},{rng.random():.3f},{place}")
    table = write(folder / "data.csv", "id,said,score,place", rows)
    options = {"prediction": "said", "score": "score", "hidden": ("place",), "method": "audit", "target": 0.8}
    with create_campaign(table, folder / "data.bela", **options) as stored:
        answer(stored, 15, by="Ann")
        stored.campaign.reject(stored.campaign.ask()[0].id, by="Bob")
        stored.campaign.skip(stored.campaign.ask()[0].id)
        stored.campaign.undo(by="Ann")
        answer(stored, 4)


def background(folder: Path) -> None:
    """Revisions made beside the answering."""
    table = write(folder / "data.csv", "id,x,y,place", points(90, 7))
    options = {"hidden": ("id", "place"), "label_column": None, "target": 0.95, "background": True}
    with create_campaign(table, folder / "data.bela", **options) as stored:
        answer(stored, 45)
        stored.campaign.undo()


def changed(folder: Path) -> None:
    """Data that changed under a campaign of another method, with labels that they bring and answers carried over."""
    rows = [f"{row},{row.rsplit(',', 1)[1] if i % 9 == 0 else ''}" for i, row in enumerate(points(45, 4))]
    table = write(folder / "data.csv", "id,x,y,place,some", rows)
    options = {"hidden": ("id", "place"), "label_column": "some", "method": "hsal"}
    with create_campaign(table, folder / "data.bela", **options) as stored:
        answer(stored, 10)
        stored.campaign.rename_class("market", "bazaar")
    write(table, "id,x,y,place,some", [*rows[5:40], "99,0.5,0.5,harbour,market"])
    with open_campaign(folder / "data.bela", accept_changes=True) as stored:
        answer_with(stored, {"market": "bazaar"}, 6)


CAMPAIGNS: tuple[Callable[[Path], None], ...] = (texts, team, audit, background, changed)


def seen(stored: StoredCampaign) -> dict[str, Json]:
    """Return what can be seen of a campaign, as plain values: status, labels and certificate."""
    campaign, book = stored.campaign, stored.campaign.book
    counts, result = count(book), campaign.result()
    plain: dict[str, Any] = {
        "events": [stored.journal.n_events, stored.journal.digest],
        "classes": campaign.classes,
        "answers": [book.label(row) for row in range(campaign.n_rows)],
        "open": [[question.id, question.row, question.role] for question in campaign.open_questions],
        "limits": [campaign.target, campaign.budget, campaign.stop_reason],
        "undo": [len(book.steps), describe_undo(book)],
        "counts": [counts.n_training, counts.n_bounds, counts.n_skipped, counts.n_given, counts.n_corrected],
        "cost": counts.cost,
        "revisions": book.n_revisions,
        "opinions": [[one.row, list(one.said.items()), one.label, one.settled] for one in opinions(book, 2)],
        "flags": [[flag.row, flag.comment] for flag in flags(book)],
        "certificate": campaign.certificate.to_json(),
        "labels": result.labels.tolist(),
    }
    found: dict[str, Json] = json.loads(json.dumps(plain))
    return found


def main(name: str) -> None:
    """Write all campaigns; what can be made again is left out."""
    for make in CAMPAIGNS:
        folder = HERE / name / make.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        with open_campaign(folder / "data.bela", read_only=True) as stored:
            expected = json.dumps(seen(stored), ensure_ascii=False, indent=1)
        (folder / "expected.json").write_text(expected + "\n", encoding="utf-8")
        shutil.rmtree(folder / "data.bela" / "cache", ignore_errors=True)
        for pattern in ("lock", "*-shm", "*-wal"):
            for file in (folder / "data.bela").glob(pattern):
                file.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
