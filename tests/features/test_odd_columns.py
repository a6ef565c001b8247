"""Columns that nobody would make, but somebody has."""

import runpy
import string
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.errors import BelaError
from bela.features import KINDS, FeaturePlan, compute_features, plan_features

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable = RECORDS["ArrowTable"]

numbers_in_words = st.one_of(
    st.sampled_from(["inf", "-Infinity", "nan", "1e400", "-1e-400", "1,234", "007", "+5", ".", "-", "1e", "0x1f", "٣"]),
    st.floats().map(repr),
    st.integers(-(10**40), 10**40).map(str),
)
dates_in_words = st.sampled_from(
    ["2024-02-30", "0000-01-01", "9999-12-31T23:59:60Z", "2024-1-1", "2024-01-01T00:00:00+99:99", "1/2/2024"]
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
sentences = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=4), max_size=6).map(" ".join)


def columns_of(n):
    """A column of n values of any one type, with gaps."""

    def gaps(values):
        return st.lists(st.one_of(st.none(), values), min_size=n, max_size=n)

    return st.one_of(
        st.just([None] * n),
        gaps(words).map(lambda values: pa.array(values, pa.string())),
        gaps(sentences).map(lambda values: pa.array(values, pa.large_string())),
        gaps(numbers_in_words).map(lambda values: pa.array(values, pa.string())),
        gaps(st.one_of(dates_in_words, words)).map(lambda values: pa.array(values, pa.string())),
        gaps(st.floats()).map(lambda values: pa.array(values, pa.float64())),
        gaps(st.integers(-(2**63), 2**63 - 1)).map(lambda values: pa.array(values, pa.int64())),
        gaps(st.booleans()).map(lambda values: pa.array(values, pa.bool_())),
        gaps(st.dates()).map(lambda values: pa.array(values, pa.date32())),
        gaps(st.datetimes()).map(lambda values: pa.array(values, pa.timestamp("us"))),
        gaps(st.lists(st.floats(width=32), max_size=3)).map(lambda values: pa.array(values, pa.list_(pa.float32()))),
        gaps(st.lists(words, max_size=3)).map(lambda values: pa.array(values, pa.list_(pa.string()))),
        gaps(st.binary(max_size=8)).map(lambda values: pa.array(values, pa.binary())),
        gaps(st.lists(st.integers(-9, 9), min_size=2, max_size=2)).map(
            lambda values: pa.array(values, pa.list_(pa.int64(), 2))
        ),
    )


tables = st.integers(1, 12).flatmap(lambda n: st.dictionaries(words, columns_of(n), min_size=1, max_size=4))


def check(records, plan):
    """Finite features for every row."""
    prepared = compute_features(records, plan).prepared
    assert prepared.dense.shape[0] == records.n_rows
    assert np.isfinite(prepared.dense).all()
    if prepared.linear is not None:
        assert prepared.linear.shape[0] == records.n_rows
        assert np.isfinite(getattr(prepared.linear, "data", prepared.linear)).all()
    if prepared.columns is not None:
        assert not np.isinf(prepared.columns).any()


@given(tables)
@settings(max_examples=80)
def test_any_table_has_features_or_gets_one_sentence(columns):
    """Whatever the columns hold, the features are finite, one row each, or there is a BelaError."""
    records = ArrowTable(columns, block=5)
    try:
        plan = plan_features(records)
        assert list(plan.columns) == list(columns)
        assert FeaturePlan.from_dict(plan.to_dict()) == plan
        assert len(plan.describe()) == len(columns)
        check(records, plan)
    except BelaError:
        return


@given(st.integers(1, 8).flatmap(columns_of), st.sampled_from(KINDS))
@settings(max_examples=80)
def test_any_column_of_any_kind(column, kind):
    """A kind that does not fit is refused in one sentence; one that fits works."""
    records = ArrowTable({"x": column, "y": np.arange(len(column)) ** 2.0})
    try:
        check(records, plan_features(records, kinds={"x": kind, "y": "number"}))
    except BelaError:
        return


@given(tables, st.integers(1, 7))
@settings(max_examples=25)
def test_blocks_change_nothing(columns, block):
    """Blocks of any size give the same plan and the same features."""
    one, two = ArrowTable(columns, block=100), ArrowTable(columns, block=block)
    try:
        plan = plan_features(one)
        dense = compute_features(one, plan).prepared.dense
    except BelaError:
        return
    assert plan_features(two) == plan
    np.testing.assert_array_equal(compute_features(two, plan).prepared.dense, dense)
