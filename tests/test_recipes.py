"""The recipes of docs/architecture.md, run as they stand: each is one file that adds one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bela
from bela.bounds import BOUNDS
from bela.data import READERS, open_table
from bela.exports import EXPORTS
from bela.features import EMBEDDINGS, prepare
from bela.methods import METHODS

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
RECIPES = dict(re.findall(r"```python recipe=(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


@pytest.fixture
def cook() -> Iterator[Any]:
    """Run a recipe; what it adds to registries is gone afterwards."""
    registries = (METHODS, READERS, EXPORTS, BOUNDS, EMBEDDINGS)
    before = [(dict(registry._own), dict(registry._loaded)) for registry in registries]

    def run(name: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": f"recipe_{name}"}
        exec(compile(RECIPES[name], f"{PAGE.name}: {name}", "exec"), names)  # noqa: S102 - that is the test
        return names

    yield run
    for registry, (own, loaded) in zip(registries, before, strict=True):
        registry._entries.clear()
        registry._entries.update(own)
        registry._loaded.clear()
        registry._loaded.update(loaded)


def test_a_method(cook):
    """A method by a name of its own labels data."""
    cook("method")
    truth = np.array(["a"] * 30 + ["b"] * 10)
    result = bela.label(np.arange(40.0)[:, None], truth, method="in-order", budget=12)
    assert (result.n_asked, result.certificate.lower) == (12, 0.3)
    assert (result.labels == "a").all()


def test_a_reader(cook, tmp_path):
    """A file with a new ending is a table."""
    cook("reader")
    (tmp_path / "pets.pairs").write_text("cat = says meow\ndog = says woof\n")
    table = open_table(tmp_path / "pets.pairs")
    assert table.record(1) == {"name": "dog", "text": "says woof"}


def test_an_export(cook, tmp_path):
    """A format by a name of its own is written, with its certificate."""
    cook("export")
    from bela.exports import export

    table = open_table([{"text": "meow"}] * 9)
    campaign = bela.Campaign(np.arange(9.0)[:, None], method="random")
    campaign.tell(campaign.ask()[0].id, "cat")
    export(table, campaign.result(), tmp_path / "pets.labels")
    assert (tmp_path / "pets.labels").read_text() == "cat\n" * 9


def test_an_oracle(cook):
    """An oracle answers, and what it costs is counted."""
    oracle = cook("oracle")["EvenOracle"]()
    campaign = bela.Campaign(np.arange(40.0)[:, None], budget=10, method="random")
    result = campaign.run(oracle)
    assert result.n_asked == 10
    assert campaign.book.cost == pytest.approx(0.1)


def test_a_door(cook, tmp_path):
    """A door by a name of its own reads texts, beside their words."""
    cook("door")
    rows = [{"text": f"{'a cat' if i % 2 else 'the dog'} in row {i}"} for i in range(40)]
    found = prepare(rows, embed="aeo@letters", cache=tmp_path)
    assert found.plan.describe() == ["'text': text (aeo and TF-IDF), 5 words on average"]
    assert found.source.prepared.views[-1].shape == (40, 3)


def test_a_bound(cook):
    """A bound has its place in the registry, and its word."""
    cook("bound")
    bound = BOUNDS["what-was-seen"]
    assert bound(5, 1, population=100, alpha=0.05) == 96
    assert "Guarantee" in str(bound.__doc__)


def test_an_event_log(cook, tmp_path):
    """A journal of another kind keeps a campaign, which goes on from it."""
    journal = cook("journal")["LinesJournal"](tmp_path / "events.txt")
    X, truth = np.arange(40.0)[:, None], np.arange(40) % 3
    campaign = bela.Campaign(X, method="random", journal=journal)
    for _ in range(5):
        [question] = campaign.ask()
        campaign.tell(question.id, int(truth[question.row]))
    again = bela.Campaign(X, method="random", journal=journal)
    assert again.book.answered == campaign.book.answered
    assert again.ask() == campaign.ask()


def test_every_recipe_is_run():
    """No recipe without its test."""
    assert set(RECIPES) == {"method", "reader", "export", "oracle", "door", "bound", "journal"}
