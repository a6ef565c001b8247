"""A kind for each column, by looking at the data."""

import datetime
import runpy
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bela.errors import DataError, ParameterError
from bela.features import KINDS, FeaturePlan, plan_features

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable, ArrayTable = RECORDS["ArrowTable"], RECORDS["ArrayTable"]
RNG = np.random.default_rng(0)
N = 60


def sentences(n, words=("red", "green", "blue", "cat", "dog", "sun", "moon")):
    return [" ".join(RNG.choice(words, 6)) + f" {i}" for i in range(n)]


def kind_of(values, **options):
    """The kind and the reason of a column among others."""
    plan = plan_features(ArrowTable({"it": values, "other": RNG.normal(size=len(values))}, **options))
    return plan.columns["it"], plan.reasons["it"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("number", RNG.normal(size=N)),
        ("number", RNG.integers(0, 5, N)),
        ("number", [f"{x:.3f}" for x in RNG.normal(size=N)]),
        ("number", [f" {x:e} " for x in RNG.normal(size=N)]),
        ("number", ["inf", "-1e400", "+3", ".5", "7.", *map(str, range(3, N - 2))]),
        ("number", [None if i % 3 else str(i * i) for i in range(N)]),
        ("number", ["nan" if i % 3 else str(i * i) for i in range(N)]),
        ("number", ["?" if i % 3 else str(i * i) for i in range(N)]),
        ("number", [Decimal(i * i) for i in range(N)]),
        ("number", [datetime.timedelta(seconds=i * i) for i in range(N)]),
        ("boolean", [bool(i % 3) for i in range(N)]),
        ("boolean", ["yes" if i % 3 else "No" for i in range(N)]),
        ("boolean", ["TRUE" if i % 3 else "false" for i in range(N)]),
        ("category", ["abc"[i % 3] for i in range(N)]),
        ("category", ["New York" if i % 3 else "San Francisco" for i in range(N)]),
        ("category", [f"0{i % 7}123" for i in range(N)]),
        ("category", ["1,234" if i % 3 else "2,345" for i in range(N)]),
        ("boolean", ["yes" if i % 3 else None for i in range(N)]),
        ("category", ["01/03/2024" if i % 3 else "03/01/2024" for i in range(N)]),
        ("category", pa.array([f"v{i % 4}" for i in range(N)]).dictionary_encode()),
        ("date", [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)]),
        ("date", [f"2024-03-{1 + i % 28:02}T{i % 24:02}:05:00Z" for i in range(N)]),
        ("date", [datetime.date(2024, 1, 1 + i % 28) for i in range(N)]),
        ("date", [datetime.datetime(2024, 1, 1 + i % 28, 7) for i in range(N)]),
        ("text", sentences(N)),
        ("text", [f"今天天气很好{i}我们去公园散步吧" for i in range(N)]),
        ("text", [["red", "green", str(i)] for i in range(N)]),
        ("text", pa.array(sentences(N), pa.large_string())),
        ("embedding", list(RNG.normal(size=(N, 8)))),
        ("embedding", [[1, 2, i] for i in range(N)]),
        ("embedding", pa.FixedSizeListArray.from_arrays(pa.array(RNG.normal(size=N * 4)), 4)),
        ("ignored", [f"row-{i}" for i in range(N)]),
        ("ignored", list(range(100, 100 + N))),
        ("ignored", ["same"] * N),
        ("ignored", [3.5] * N),
        ("ignored", [True] * N),
        ("ignored", [None] * N),
        ("ignored", [""] * N),
        ("ignored", [float("nan")] * N),
        ("ignored", [[1.0] * (1 + i % 3) for i in range(N)]),
        ("ignored", [{"a": i} for i in range(N)]),
        ("ignored", [b"\x00\x01"] * N),
    ],
)
def test_kinds_are_recognised(kind, values):
    """What a column holds decides on its kind, whatever type it comes in."""
    assert kind_of(values)[0] == kind


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([f"row-{i}" for i in range(N)], "each value is its own"),
        (list(range(N)), "counts the rows"),
        (["same"] * N, "the same"),
        ([None] * N, "empty"),
        ([1.0] * (N - 6) + [None] * 6, "10 % missing"),
        ([*map(str, range(99)), "unknown"], "1 of 100 values"),
        (["here.png"] * 3 + ["there.png"] * 3, "no image"),
    ],
)
def test_reasons_are_plain(values, words):
    """The reason says why."""
    assert words in kind_of(values)[1]


def test_unique_integers_are_ids_by_name_only():
    """Prices may all differ too."""
    values = (RNG.permutation(1000)[:N] * 7).tolist()
    plan = plan_features(ArrowTable({"user_id": values, "price": values}))
    assert dict(plan.columns) == {"user_id": "ignored", "price": "number"}


def test_the_only_column_is_used_even_if_it_looks_like_names():
    """Where nothing else is there, rows are compared by what would be ignored beside other columns."""
    names = [f"{a}{b}" for a in ("Anna", "Boris", "Chen") for b in ("son", "ova", "ski", "ez")]
    assert plan_features(ArrowTable({"name": names})).columns["name"] == "text"
    assert plan_features(ArrowTable({"name": names, "x": RNG.normal(size=12)})).columns["name"] == "ignored"


def test_kinds_can_be_chosen():
    """A kind that somebody has chosen is taken, and said to be so."""
    records = ArrowTable({"code": [str(i % 5) for i in range(N)], "text": sentences(N)})
    plan = plan_features(records, kinds={"code": "category", "text": "ignored"})
    assert dict(plan.columns) == {"code": "category", "text": "ignored"}
    assert plan.reasons["code"] == "as told"


def test_excluded_columns_are_not_in_the_plan():
    """Labels are not looked at."""
    records = ArrowTable({"x": RNG.normal(size=N), "label": ["a", "b"] * (N // 2)})
    assert list(plan_features(records, exclude=["label"]).columns) == ["x"]
    with pytest.raises(DataError, match="besides"):
        plan_features(records, exclude=["x", "label"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kinds": {"x": "colour"}}, "choose one of number"),
        ({"kinds": {"y": "number"}}, "no column 'y'"),
        ({"exclude": ["y"]}, "no column 'y'"),
        ({"exclude": ["x"], "kinds": {"x": "number"}}, "at once"),
        ({"kinds": {"text": "number"}}, "cannot be of kind number"),
        ({"kinds": {"text": "date"}}, "cannot be of kind date"),
        ({"kinds": {"x": "embedding"}}, "cannot be of kind embedding"),
        ({"kinds": {"text": "image"}}, "cannot be of kind image"),
        ({"embed": "x=some-model"}, "column 'x', which is of kind number"),
        ({"embed": "y=some-model"}, "column 'y', which is not there"),
        ({"embed": ["m:f", "m:g"]}, "both said about all columns"),
        ({"embed": "some-model@nowhere"}, "names no door"),
        ({"embed": "no_such_module:f"}, "no_such_module"),
        ({"embed": "m:f", "features": "raw", "kinds": {"text": "ignored"}}, "features are auto"),
        ({"features": "nothing"}, "module:function"),
        ({"features": "no_such_module:f"}, "no_such_module"),
        ({"features": "math:no_such_function"}, "no_such_function"),
    ],
)
def test_wrong_choices_are_refused(options, words):
    """Unknown columns and kinds, and kinds that the values do not bear out, get one sentence."""
    records = ArrowTable({"x": RNG.normal(size=N), "text": sentences(N)})
    with pytest.raises((ParameterError, DataError), match=words):
        plan_features(records, **options)


def test_the_plan_is_said_aloud_and_kept():
    """A line for each column, and a dictionary of plain values that gives the same plan."""
    plan = plan_features(ArrowTable({"title": sentences(N), "price": RNG.normal(size=N), "id": ["a"] * N}))
    assert plan.describe()[0].startswith("'title': text (TF-IDF), ")
    assert plan.describe()[2] == "'id': ignored, all values are the same"
    assert FeaturePlan.from_dict(plan.to_dict()) == plan
    assert plan.used == ("title", "price")


@pytest.mark.parametrize(
    "plain",
    [
        {"columns": {"x": "colour"}},
        {"columns": ["x"]},
        {},
        {"columns": {"x": 3}},
        {"columns": {"x": "number"}, "wrong": 1},
        {"columns": {"x": "number"}, "function": 3},
    ],
)
def test_a_wrong_dictionary_is_no_plan(plain):
    """A configuration file that somebody has edited is checked."""
    with pytest.raises(ParameterError):
        FeaturePlan.from_dict(plain)


def test_people_see_images_and_texts_first():
    """What is shown of a row: no embeddings, nothing ignored, unless there is nothing else."""
    columns = dict(zip("abcdefgh", KINDS, strict=True))
    assert FeaturePlan(columns=columns).shown == ("g", "e", "c", "d", "a", "b")
    assert FeaturePlan(columns={"id": "ignored", "v": "embedding"}).shown == ("id",)


def test_arrays_are_embeddings_or_images():
    """Table around an array have its kind, and their other columns beside it."""
    assert plan_features(ArrayTable(RNG.normal(size=(N, 5)))).columns["features"] == "embedding"
    plan = plan_features(ArrayTable(np.zeros((N, 8, 8), np.uint8), more={"price": RNG.normal(size=N)}))
    assert dict(plan.columns) == {"features": "image", "price": "number"}
    with pytest.raises(ParameterError, match="is of kind image"):
        plan_features(ArrayTable(np.zeros((N, 8, 8), np.uint8)), kinds={"features": "text"})


def test_one_row_has_no_constants():
    """With a single row, every column that has a value is of use."""
    plan = plan_features(ArrowTable({"a": [1.0], "b": ["x"], "c": [None]}))
    assert plan.columns["a"] == "number"
    assert plan.columns["c"] == "ignored"


def test_no_rows_are_an_error():
    """There is nothing to look at."""
    with pytest.raises(DataError, match="no rows"):
        plan_features(ArrowTable({"a": pa.array([], pa.string())}))


def test_late_values_are_seen():
    """The sample is from all of the data: a column that starts empty is not taken for an empty one."""
    n = 30_000
    values = [None] * (n // 2) + [str(i % 7) for i in range(n // 2)]
    assert kind_of(values)[0] == "number"


def test_large_values_are_thinned(monkeypatch):
    """Where the sample would not fit, fewer rows are looked at, and the verdicts stay."""
    data = {"text": sentences(3000), "n": list(range(3000)), "price": RNG.normal(size=3000)}
    plan = plan_features(ArrowTable(data))
    monkeypatch.setattr("bela.features._kinds.KEPT_BYTES", 10_000)
    assert plan_features(ArrowTable(data)).columns == plan.columns
