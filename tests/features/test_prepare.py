"""One path from anything to features."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bela.data import ArraySource, ArrowTable, open_table
from bela.errors import DataError, ParameterError
from bela.features import FeaturePlan, FeatureSource, learner_features, prepare, prepare_features

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(["red", "green", "blue", "cat", "dog", "sun"], 5)) for _ in range(40)]
ROWS = [{"text": text, "n": i**2 % 17, "label": "yes" if i % 2 else "no"} for i, text in enumerate(TEXTS)]
X = RNG.normal(size=(40, 3)).astype(np.float32)


@pytest.mark.parametrize(
    "form",
    [lambda: ROWS, lambda: pd.DataFrame(ROWS), lambda: pl.DataFrame(ROWS), lambda: pa.Table.from_pylist(ROWS)],
    ids=["dicts", "pandas", "polars", "arrow"],
)
def test_tables_of_every_kind_are_the_same(form):
    """Texts and numbers are features, whatever they come in; what is excluded is none."""
    expected = prepare(ROWS, exclude=["label"])
    data = prepare(form(), exclude=["label"])
    assert dict(data.plan.columns) == {"text": "text", "n": "number"}
    np.testing.assert_array_equal(data.source.take(np.arange(40)), expected.source.take(np.arange(40)))


def test_a_list_of_texts():
    """Nothing else is needed."""
    data = prepare(TEXTS)
    assert (data.source.n_rows, dict(data.plan.columns)) == (40, {"text": "text"})


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda x: x.tolist(), lambda x: x.astype(object)])
def test_arrays_go_straight_through(form):
    """Their rows are the features, and the learner gets what it would get of the matrix."""
    data = prepare(form(X))
    found = data.source.take(np.arange(40))
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X)
    np.testing.assert_array_equal(learner_features(data.source, 3).dense, prepare_features(X, seed=3).dense)


def test_arrays_are_not_copied(tmp_path):
    """Neither those in memory nor those in files, of whichever type, nor is anything written without a cache."""
    big = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1000, 20))
    big[:] = RNG.normal(size=big.shape)
    big.flush()
    assert np.shares_memory(prepare(big).source.X, big)
    assert np.shares_memory(prepare(X).source.X, X)
    np.save(tmp_path / "bytes.npy", RNG.integers(0, 255, (50, 8, 8), np.uint8))
    data = prepare(tmp_path / "bytes.npy")
    assert data.source.X.dtype == np.uint8
    assert data.source.take(np.arange(2)).dtype == np.float32
    assert data.source.image_shape == (8, 8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes.npy", "x.npy"]


def test_a_source_stays_what_it_is():
    """It has rows for people as well."""
    source = ArraySource(X)
    data = prepare(source)
    assert data.source is source
    assert data.table.record(2) == {"features": X[2].tolist()}
    assert data.table.fingerprint == open_table(X).fingerprint


def test_a_dataset_by_its_name():
    """Images are images."""
    data = prepare("digits")
    assert (data.source.n_rows, data.source.image_shape) == (1797, (8, 8))
    assert len(learner_features(data.source)) == 1797


@pytest.mark.parametrize("kept", [False, True])
def test_features_from_a_file(tmp_path, kept, monkeypatch):
    """They stand for the rows of the data, whatever these are; the plan finds the file from anywhere."""
    np.save(tmp_path / "emb.npy", X)
    monkeypatch.chdir(tmp_path)
    cache = tmp_path / "cache" if kept else None
    data = prepare(ROWS, exclude=["label"], features="emb.npy", cache=cache)
    np.testing.assert_array_equal(data.source.take(np.arange(40)), X)
    np.testing.assert_array_equal(learner_features(data.source).dense, prepare_features(X).dense)
    monkeypatch.chdir("/")
    plan = FeaturePlan.from_dict(json.loads(json.dumps(data.plan.to_dict())))
    again = prepare(ROWS, plan=plan, cache=cache)
    np.testing.assert_array_equal(again.source.take(np.arange(40)), X)
    np.save(tmp_path / "emb.npy", X[:-1])
    with pytest.raises(DataError, match="a row of numbers for each of the 40 rows"):
        prepare(ROWS, features=str(tmp_path / "emb.npy"))


@pytest.mark.parametrize("kept", [False, True])
def test_raw_features_of_a_table(tmp_path, kept):
    """The numbers as they are, side by side."""
    table = pd.DataFrame({"a": X[:, 0], "v": list(X[:, 1:]), "yes": X[:, 0] > 0, "label": ["x"] * 40})
    data = prepare(table, exclude=["label"], features="raw", cache=tmp_path / "cache" if kept else None)
    np.testing.assert_array_equal(data.source.take(np.arange(40)), np.c_[X, X[:, 0] > 0].astype(np.float32))
    with pytest.raises(ParameterError, match="'text' is of kind text"):
        prepare(ROWS, features="raw")
    with pytest.raises(ParameterError, match="no features 'row'"):
        prepare(ROWS, features="row")


def test_an_index_is_no_feature(tmp_path):
    """Neither one without a name, nor any that counts the rows; and nothing is left if it is all there is."""
    frame = pd.DataFrame({"text": TEXTS, "label": "x"}, index=RNG.permutation(40))
    frame.to_csv(tmp_path / "t.csv")
    told = []
    data = prepare(tmp_path / "t.csv", exclude=["label"], tell=told.append)
    assert dict(data.plan.columns) == {"Unnamed: 0": "ignored", "text": "text"}
    assert told[0] == "column 'Unnamed: 0' is an index: no feature, but good as an id"
    frame[["label"]].to_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match="no column tells the rows apart"):
        prepare(tmp_path / "t.csv", exclude=["label"])


@pytest.mark.parametrize(
    ("data", "says"),
    [([1.0, 2.0], "float"), (np.arange(3.0), "rows and columns"), ([[1], [2, 3]], "equal length"), (5, "int"),
     (np.array([[1j]]), "complex"), ([[1.0, np.nan]], "NaN"), ([], "no rows"), ("nothing.csv", "no file or folder"),
     ("mnst", "no dataset of that name")],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(data, says):
    """One sentence each, whoever asks."""
    with pytest.raises(DataError, match=says) as caught:
        prepare(data)
    assert "\n" not in str(caught.value)


def test_a_table_is_taken_as_it_is():
    """Whoever has opened the data need not do so again."""
    table = open_table(ROWS)
    assert isinstance(table, ArrowTable)
    data = prepare(table, exclude=["label"])
    assert data.table is table
    assert isinstance(data.source, FeatureSource)
    assert (data.unreadable, data.notices) == ({}, ())
