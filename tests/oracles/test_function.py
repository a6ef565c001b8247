"""Functions that answer: found by name, called with records, and their errors told in one sentence."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela._functions import load_function
from bela.campaign import Campaign
from bela.errors import BelaError, OracleError, ParameterError
from bela.oracles import FunctionOracle
from bela.protocols import Oracle
from bela.records import Answer


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Write modules into an empty current folder; they are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    path = list(sys.path)

    def write(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name.removesuffix(".py").replace("/", ".")

    yield write
    assert sys.path == path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


def pairs(answers: Iterable[Answer]) -> list[tuple[int, Any]]:
    return [(answer.row, answer.label) for answer in answers]


def ask(oracle: Oracle, rows: Iterable[int]) -> list[Any]:
    """Return the labels in the order of the rows."""
    asked = np.array(list(rows), dtype=int)
    labels = dict(pairs(oracle.answers(asked)))
    return [labels[row] for row in asked.tolist()]


def record_of(row: int) -> dict[str, Any]:
    return {"text": f"row {row}", "n": row, "label": "secret"}


def test_a_function_of_the_current_folder(module: Callable[..., str]) -> None:
    """A module beside the data is found, with its neighbours, and gets records without the label; None skips."""
    module("my_words.py", "WORDS = {0: 'even', 1: 'odd'}")
    module("my_late.py", "FIVE = 5")
    module(
        "my_labels.py",
        """
        from my_words import WORDS

        def answer(records):
            from my_late import FIVE
            assert [sorted(record) for record in records] == [["n", "text"]] * len(records)
            return [None if record["n"] == FIVE else WORDS[record["n"] % 2] for record in records]
        """,
    )
    oracle = FunctionOracle("my_labels:answer", record_of, hide=["label"])
    assert ask(oracle, np.array([4, 5, 7])) == ["even", None, "odd"]
    assert ask(oracle, []) == []


def test_packages_and_methods(module: Callable[..., str]) -> None:
    """The module may be in a package, the function in a class."""
    module("my_package/__init__.py", "")
    module("my_package/deep.py", "class Model:\n    @staticmethod\n    def answer(records):\n        return records")
    assert load_function("my_package.deep:Model.answer")([1]) == [1]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "write module:function"),
        ("my_labels", "write module:function"),
        ("my_labels:", "write module:function"),
        (":answer", "write module:function"),
        ("my_labels.py:answer now", "write module:function"),
        ("../my_labels:answer", "write module:function"),
        ("my_missing:answer", "no module 'my_missing'"),
        ("my_labels.deep:answer", "'my_labels.deep'"),
        ("my_labels:missing", "no function 'missing'"),
        ("my_labels:number", "no function but a int"),
        ("my_broken:answer", "SyntaxError: '(' was never closed, my_broken.py line 2"),
        ("my_needy:answer", "No module named 'my_absent_dependency'"),
        ("my_failing:answer", "ZeroDivisionError: division by zero (line 2 of my_failing.py)"),
        ("my_script:answer", "SystemExit: 3"),
    ],
)
def test_a_function_that_is_not_there(module: Callable[..., str], spec: str, says: str) -> None:
    """What is wrong with the name or the module is said in one sentence."""
    module("my_labels.py", "number = 3")
    module("my_broken.py", "\nanswer = (\n")
    module("my_needy.py", "import my_absent_dependency")
    module("my_failing.py", "def f():\n    1 / 0\nf()")
    module("my_script.py", "import sys\nsys.exit(3)")
    with pytest.raises(ParameterError) as caught:
        load_function(spec)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda records: ["a"], "asked for 2 label(s) and gave 1"),
        (lambda records: ["a"] * 3, "asked for 2 label(s) and gave 3"),
        (lambda records: iter(["a"]), "gave fewer"),
        (lambda records: iter(["a"] * 3), "gave more"),
        (lambda records: "ab", "a list of as many, not a str"),
        (lambda records: {0: "a", 1: "b"}, "not a dict"),
        (lambda records: None, "not a NoneType"),
        (lambda records: [record["colour"] for record in records], "failed with KeyError: 'colour' (line "),
        (lambda records: sys.exit("no"), "SystemExit: no"),
        (lambda: ["a", "b"], "TypeError"),
    ],
)
def test_a_function_that_does_not_answer(function: Any, says: str) -> None:
    """A wrong count, a wrong type or an error inside is one sentence, an OracleError and a BelaError."""
    oracle = FunctionOracle(function, record_of)
    with pytest.raises(OracleError) as caught:
        ask(oracle, [0, 1])
    assert says in str(caught.value)
    assert isinstance(caught.value, BelaError)
    assert "\n" not in str(caught.value)


def test_labels_are_plain() -> None:
    """Labels of numpy become Python's; NaN and None skip."""
    oracle = FunctionOracle(lambda records: np.array([1.0, np.nan, 2.0]), record_of)
    assert ask(oracle, [0, 1, 2]) == [1.0, None, 2.0]
    assert type(ask(FunctionOracle(lambda records: np.array([7]), record_of), [0])[0]) is int


def test_answers_one_by_one_survive_an_error() -> None:
    """A function that yields its labels loses none of those that came before its error."""

    def answer(records: list[dict[str, Any]]) -> Iterator[str]:
        for record in records:
            if record["n"] == 2:
                raise ConnectionError("the service\nis down")
            yield f"class {record['n']}"

    kept = []
    with pytest.raises(OracleError, match=r"ConnectionError: the service is down .* nothing .* is lost"):
        kept.extend(FunctionOracle(answer, record_of).answers(np.arange(4)))
    assert pairs(kept) == [(0, "class 0"), (1, "class 1")]


def test_a_campaign_with_a_function() -> None:
    """A function answers a whole campaign."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    oracle = FunctionOracle(lambda records: [record["n"] % 2 for record in records], record_of, hide=["label"])
    result = Campaign(X, budget=10).run(oracle)
    assert (result.labels[result.known] == np.flatnonzero(result.known) % 2).all()
