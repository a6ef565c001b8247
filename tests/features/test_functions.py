"""Features by a function of the user's own."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from bela.errors import DataError, ParameterError
from bela.features import compute_features, learner_features, plan_features, prepare_features

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable = RECORDS["ArrowTable"]
N = 700
CODE = """
import numpy as np
calls = []

def good(records):
    calls.append(len(records))
    return [[r["a"], r["b"], r["a"] * r["b"]] for r in records]

def flat(records):
    return np.array([r["a"] for r in records])

def columns(records):
    return np.array([[len(r)] for r in records]) + np.arange(len(records))[:, None]

def short(records):
    return np.ones((len(records) - 1, 2))

def holes(records):
    return [[r["a"], float("nan") if r["b"] > 0.99 else 1.0] for r in records]

def words(records):
    return [["a", "b"] for r in records]

def ragged(records):
    return [[1.0] * (1 + i % 2) for i in range(len(records))]

def growing(records):
    return np.ones((len(records), len(records)))

def fails(records):
    raise RuntimeError("out of\\n coffee")

value = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the present folder, under a name of its own."""
    name = f"features_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return name


@pytest.fixture
def records():
    """Two numbers and a label."""
    rng = np.random.default_rng(0)
    return ArrowTable({"a": rng.normal(size=N), "b": rng.random(N), "label": ["x", "y"] * (N // 2)})


def test_a_function_makes_the_features(module, records):
    """Its numbers are prepared like those of a matrix, and it is called once for each row."""
    plan = plan_features(records, exclude=["label"], features=f"{module}:good")
    source = compute_features(records, plan)
    a, b = (records.table[name].to_numpy() for name in "ab")
    expected = prepare_features(np.stack([a, b, a * b], axis=1).astype(np.float32)).dense
    np.testing.assert_allclose(learner_features(source).dense, expected, atol=1e-4)
    assert sum(__import__(module).calls) == N
    assert plan.describe()[0] == f"features by {module}:good, from 2 column(s)"


def test_a_function_does_not_see_what_is_excluded(module, records):
    """The label stays hidden."""
    source = compute_features(records, plan_features(records, exclude=["label"], features=f"{module}:columns"))
    assert source.n_features == 1
    assert source.X.min() == 2


def test_one_number_for_each_row_will_do(module, records):
    """A flat array is one feature."""
    assert compute_features(records, plan_features(records, features=f"{module}:flat")).n_features == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("short", "one row for each"),
        ("holes", "NaN or infinite for .* the first is row"),
        ("words", "array of numbers"),
        ("ragged", "array of numbers"),
        ("growing", "numbers"),
        ("fails", "failed for rows 0 to 511: RuntimeError: out of coffee"),
    ],
)
def test_what_a_function_does_wrong_is_said(module, records, name, words):
    """One sentence that names the function, and the rows where it can."""
    plan = plan_features(records, features=f"{module}:{name}")
    with pytest.raises(DataError, match=words):
        compute_features(records, plan)


@pytest.mark.parametrize("name", ["value", "nothing", "", "good.more"])
def test_what_is_no_function_is_refused(module, records, name):
    """Before any row is looked at."""
    with pytest.raises(ParameterError):
        plan_features(records, features=f"{module}:{name}")


def test_a_module_that_does_not_run(tmp_path, monkeypatch, records):
    """Its error is told, on one line."""
    (tmp_path / "features_broken.py").write_text("import features_that_do_not_exist\n")
    (tmp_path / "features_wrong.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="features_that_do_not_exist"):
        plan_features(records, features="features_broken:f")
    with pytest.raises(ParameterError, match="ZeroDivisionError"):
        plan_features(records, features="features_wrong:f")


def test_a_change_of_the_code_renews_the_features(module, records, tmp_path):
    """The cache is used until the function's module changes."""
    plan = plan_features(records, features=f"{module}:good")
    calls = __import__(module).calls
    compute_features(records, plan, cache=tmp_path / "cache")
    compute_features(records, plan, cache=tmp_path / "cache")
    assert sum(calls) == N
    (tmp_path / f"{module}.py").write_text(CODE + "\n# better now\n")
    compute_features(records, plan, cache=tmp_path / "cache")
    assert sum(calls) == 2 * N
    assert not list((tmp_path / "cache").rglob("*.raw.npy"))
