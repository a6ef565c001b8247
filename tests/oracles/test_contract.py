"""The laws that every oracle keeps, and how one is chosen by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

import bela.oracles
from bela.cli import app
from bela.data import open_table
from bela.errors import ParameterError
from bela.oracles import (
    ORACLES,
    CallableOracle,
    ChatClient,
    CommandOracle,
    FunctionOracle,
    LLMOracle,
    ModelChoice,
    OracleContext,
    OracleOptions,
    Price,
    Purse,
    TruthOracle,
    make_oracle,
)
from bela.protocols import Oracle
from bela.records import Answer
from bela.storage import PaidCalls

from .llm_server import ModelServer

LABELS = ["cat", "dog", None, "cat"]
SCRIPT = f"""
import json, sys
for line in sys.stdin:
    row = json.loads(line)["id"]
    print(json.dumps({{"id": row, "label": {LABELS!r}[row], "cost": 0.5}}))
"""
SERVERS: list[ModelServer] = []


def ask_model() -> LLMOracle:
    SERVERS.append(ModelServer(lambda text: LABELS[int(text)]))
    purse = Purse(PaidCalls(), Price(into=5000.0))
    return LLMOracle(record_of, ChatClient(SERVERS[-1].url, "model"), classes=["cat", "dog"], purse=purse)


MADE: dict[str, Callable[[], Oracle]] = {
    "TruthOracle": lambda: TruthOracle(LABELS, 4),
    "CallableOracle": lambda: CallableOracle(lambda rows: [LABELS[row] for row in rows]),
    "FunctionOracle": lambda: FunctionOracle(lambda records: [LABELS[r["row"]] for r in records], record_of),
    "CommandOracle": lambda: CommandOracle([sys.executable, "-S", "-c", SCRIPT], record_of),
    "LLMOracle": ask_model,
}


def record_of(row: int) -> dict[str, Any]:
    return {"row": row}


@pytest.fixture(params=MADE)
def oracle(request: pytest.FixtureRequest) -> Any:
    """An oracle of each kind."""
    made = MADE[request.param]()
    yield made
    made.close()
    while SERVERS:
        SERVERS.pop().close()


def test_every_oracle_is_here() -> None:
    """A class that the package exports as an oracle runs through these laws."""
    assert {name for name in bela.oracles.__all__ if hasattr(getattr(bela.oracles, name), "answers")} == set(MADE)


def test_each_row_is_answered_once(oracle: Oracle) -> None:
    """There is one answer a row, with what it cost; None skips; asking nothing gives nothing."""
    cost = 0.5 if isinstance(oracle, CommandOracle | LLMOracle) else 0.0
    answers = sorted(oracle.answers(np.array([3, 2, 1])), key=lambda answer: answer.row)
    assert answers == [Answer(row=row, label=LABELS[row], cost=cost) for row in (1, 2, 3)]
    assert all(type(answer.row) is int for answer in answers)
    assert list(oracle.answers(np.array([], dtype=int))) == []


def test_it_keeps_the_protocol(oracle: Oracle) -> None:
    """An oracle is what the seam says, is not wrapped on the way, and may be closed more than once."""
    assert isinstance(oracle, Oracle)
    assert make_oracle(oracle, 4) is oracle
    assert oracle.name
    assert oracle.batch >= 0
    oracle.close()
    oracle.close()


def test_the_oracles_that_come_with_bela() -> None:
    """Each module of kinds has added its own."""
    assert set(ORACLES.names) == {"truth", "function", "command", "llm"}


def context() -> OracleContext:
    table = open_table([{"text": text} for text in "abcd"])
    known = {row: label for row, label in enumerate(LABELS) if label is not None}
    return OracleContext(
        records=table, hidden=(), classes=lambda: ("cat", "dog"), closed=True, labels=lambda name: known, say=print
    )


def test_an_oracle_by_name() -> None:
    """A name and an argument make an oracle, called by what the record may have of it."""
    truth = ORACLES["truth"]("kind", OracleOptions())(context())
    assert truth.name == "truth kind"
    assert [answer.label for answer in truth.answers(np.arange(4))] == LABELS
    command = ORACLES["command"](f"{sys.executable} x.py --key SECRET", OracleOptions(timeout=3))(context())
    assert command.name == f"command {sys.executable.rpartition('/')[2]} x.py"
    function = ORACLES["function"]("bela.labels:label_to_text", OracleOptions(batch=3))(context())
    assert function.name == "bela.labels:label_to_text"


@pytest.mark.parametrize("name", ["truth", "function"])
@pytest.mark.parametrize("option", [{"timeout": 1.0}, {"retries": 0}, {"keep_running": True}])
def test_options_of_commands(name: str, option: dict[str, Any]) -> None:
    """What means nothing to an oracle is refused rather than ignored."""
    with pytest.raises(ParameterError, match="is for --oracle-cmd: leave it out"):
        ORACLES[name]("json:loads", OracleOptions(**option))


@pytest.mark.parametrize("name", ["truth", "function", "command"])
def test_options_of_language_models(name: str) -> None:
    """What is meant for a language model is refused by whatever is none."""
    with pytest.raises(ParameterError, match="--llm-max-tokens is for a language model"):
        ORACLES[name]("json:loads", OracleOptions(llm=ModelChoice(max_tokens=3)))


@pytest.mark.parametrize("name", ORACLES.names)
def test_the_documentation_lists_what_the_registry_holds(name: str) -> None:
    """Each oracle is in the table of docs/campaigns.md, with what it says of itself."""
    text = (Path(__file__).parents[2] / "docs" / "campaigns.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `{name}(?:=[^|]*)?` \| [^|]* \| (.*) \|$", text, re.MULTILINE)
    assert (ORACLES[name].__doc__ or "").startswith(row)


def test_the_help_lists_what_the_registry_holds() -> None:
    """Each name is in the help of `bela run`."""
    [option] = [parameter for parameter in get_command(app).commands["run"].params if parameter.name == "oracle"]
    assert f"one of {', '.join(ORACLES)}" in option.help
