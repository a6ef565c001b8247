"""All rows to features."""

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer

import bela
from bela.errors import DataError
from bela.features import (
    FeaturePlan,
    FeatureSource,
    compute_features,
    image_features,
    learner_features,
    plan_features,
    prepare_features,
)
from bela.protocols import Source

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable, ArrayTable = RECORDS["ArrowTable"], RECORDS["ArrayTable"]
TOPICS = ("ship sea wave sail port", "oven bread flour bake taste", "court judge law trial jury", "gene cell virus dna")


def features(data, **options):
    records = data if hasattr(data, "batches") else ArrowTable(data)
    return compute_features(records, plan_features(records, **options))


def topics(n, seed=0, length=12, share=0.35):
    """Texts about one of four things, with many words that say nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(TOPICS), n)
    common = [f"word{i}" for i in range(200)]
    texts = []
    for topic in y:
        words = np.where(
            rng.random(length) < share, rng.choice(TOPICS[topic].split(), length), rng.choice(common, length)
        )
        texts.append(" ".join(words))
    return texts, y


def mixture(n, seed=0, share=0.35):
    """A table with a column of each kind, some values missing, and the class of each row."""
    rng = np.random.default_rng(seed)
    texts, y = topics(n, seed, share=share)
    some = rng.random((n, 6)) < 0.1
    columns = {
        "text": texts,
        "price": [f"{x:.3f}" for x in rng.normal(y, 1)],
        "colour": [
            ["red", "green", "blue", "grey"][c] for c in np.where(rng.random(n) < 0.7, y, rng.integers(0, 4, n))
        ],
        "day": [str(np.datetime64("2020-01-01") + int(d)) for d in rng.integers(0, 900, n)],
        "sold": [["no", "yes"][int(b)] for b in rng.random(n) < 0.5],
        "vector": list(rng.normal(y[:, None], 3, (n, 20)).astype(np.float32)),
    }
    for i, name in enumerate(columns):
        columns[name] = [None if gone else value for value, gone in zip(columns[name], some[:, i], strict=True)]
    return columns, y


def same(a, b, **tolerance):
    assert (a is None) == (b is None)
    if a is not None:
        a, b = (form.toarray() if sparse.issparse(form) else form for form in (a, b))
        np.testing.assert_allclose(a, b, **(tolerance or {"atol": 0, "rtol": 0}))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("form", ["numbers", "texts", "lists", "array"])
def test_numbers_give_what_prepare_features_gives(load, form):
    """A matrix in columns of numbers or of texts, in lists or as an array, has the same features as the matrix."""
    X = load().data
    names = [f"c{i}" for i in range(X.shape[1])]
    if form == "array":
        source = features(ArrayTable(X))
    elif form == "lists":
        source = features({"vector": list(X)})
    else:
        columns = {
            name: X[:, i] if form == "numbers" else list(map(repr, X[:, i].tolist())) for i, name in enumerate(names)
        }
        source = features(columns, kinds=dict.fromkeys(names, "number"))
    prepared, found = prepare_features(X), learner_features(source)
    same(found.dense, prepared.dense, atol=2e-5)
    same(found.linear, prepared.linear, atol=2e-5)
    same(found.columns, prepared.columns, rtol=1e-6)


def test_many_rows_and_columns_give_what_prepare_features_gives(tmp_path):
    """Also where scales come from a sample of rows, and columns are reduced to components."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(10_100, 5)) @ rng.normal(size=(5, 260)) + 0.1 * rng.normal(size=(10_100, 260))).astype("f4")
    table = ArrayTable(X)
    kept = compute_features(table, plan_features(table), cache=tmp_path)
    for source in (features(table), kept):
        np.testing.assert_array_equal(learner_features(source).dense, prepare_features(X).dense)


def test_arrays_of_images_have_image_features(tmp_path):
    """The same whether they are kept or not, and in whichever type; as raw numbers they are prepared as such."""
    images = load_digits().images.astype(np.float32)
    table = ArrayTable(images)
    kept = compute_features(table, plan_features(table), cache=tmp_path)
    np.save(tmp_path / "x.npy", images.astype(np.uint8))
    mapped = ArrayTable(np.load(tmp_path / "x.npy", mmap_mode="r"))
    for source in (features(table), kept, features(mapped)):
        np.testing.assert_array_equal(learner_features(source), image_features(images))
        np.testing.assert_array_equal(source.take(np.arange(3)), images[:3].reshape(3, 64))
    raw = compute_features(table, plan_features(table, features="raw"))
    np.testing.assert_array_equal(learner_features(raw).dense, prepare_features(images.reshape(-1, 64)).dense)


def test_sparse_arrays_are_prepared_as_they_are():
    """A sparse matrix keeps its form for linear models."""
    X = sparse.random(300, 500, 0.03, random_state=0, format="csr")
    source = features(ArrayTable(sparse.csr_array(X)))
    prepared = prepare_features(sparse.csr_array(X))
    same(learner_features(source).linear, prepared.linear, atol=1e-6)
    assert source.n_rows == 300


@pytest.mark.parametrize("block", [7, 64, 500, 100_000])
def test_the_layout_of_the_blocks_changes_nothing(block):
    """The same rows in blocks of any size give the same plan and features, to the last bit."""
    columns, _ = mixture(1500)
    table = pa.table(columns)
    reference, other = ArrowTable(table, block=1000), ArrowTable(table, block=block)
    plan = plan_features(reference)
    assert plan_features(other) == plan
    one, two = compute_features(reference, plan).prepared, compute_features(other, plan).prepared
    same(one.dense, two.dense)
    same(one.linear, two.linear)
    same(one.columns, two.columns)


def test_rows_keep_their_order_and_number():
    """Row i of the features is row i of the data: shuffled data have shuffled features."""
    columns, _ = mixture(400)
    table = pa.table(columns)
    order = np.random.default_rng(1).permutation(400)
    plan = plan_features(ArrowTable(table))
    straight = compute_features(ArrowTable(table), plan)
    shuffled = compute_features(ArrowTable(table.take(pa.array(order))), plan)
    assert straight.n_rows == shuffled.n_rows == 400
    gram = [
        (s.prepared.linear @ s.prepared.linear.T).toarray() for s in (straight, shuffled)
    ]  # columns may change places
    np.testing.assert_allclose(gram[0][np.ix_(order, order)], gram[1], atol=1e-5)
    same(straight.prepared.columns[order], shuffled.prepared.columns)


def test_every_kind_has_a_say():
    """In a mixture each part has its share of the squared distances, and all rows have mean squared norm 1.

    Vectors have three times that of the words beside them.
    """
    columns, _ = mixture(800)
    parts = {name: features({name: columns[name]}).prepared.dense for name in ("text", "vector")}
    dense = features(columns).prepared.dense
    assert np.mean((dense**2).sum(axis=1)) == pytest.approx(1, abs=1e-4)
    away = ((dense[:400] - dense[400:]) ** 2).sum(axis=1)
    for part in parts.values():
        alone = ((part[:400] - part[400:]) ** 2).sum(axis=1)
        assert np.corrcoef(away, alone)[0, 1] > 0.15


def test_rows_without_any_value_are_rows_too():
    """A row that misses everything has finite features."""
    columns, _ = mixture(100)
    for values in columns.values():
        values[5] = None
    prepared = features(columns).prepared
    assert np.isfinite(prepared.dense).all()
    assert np.isfinite(prepared.linear.data).all()
    assert prepared.dense.shape[0] == 100


def test_missing_values_are_told_apart():
    """Whether a value is missing can be all that matters."""
    rng = np.random.default_rng(0)
    missing = rng.random(300) < 0.5
    values = np.where(missing, np.nan, rng.normal(size=300))
    linear = features({"x": values, "y": rng.normal(size=300)}).prepared.linear
    assert max(abs(np.corrcoef(column, missing)[0, 1]) for column in linear.T) > 0.99


def test_outliers_do_not_hide_the_rest():
    """Beside a value of 1e200 and infinities, the other values of a column can still be told apart."""
    values = np.random.default_rng(0).normal(size=200)
    values[:3] = 1e200, np.inf, -np.inf
    dense = features({"x": values, "y": np.arange(200.0) ** 2}).prepared.dense
    assert np.isfinite(dense).all()
    assert dense[3:, 0].std() > 0.3


def test_dates_come_round():
    """Days a week apart are nearer than days three days apart; the first of January follows the last of December."""
    days = np.datetime64("2020-01-01") + np.arange(1500)
    dense = features({"day": [str(day) for day in days]}).prepared.dense

    def away(a, b):
        return float(((dense[a] - dense[b]) ** 2).sum())

    assert away(100, 107) < away(100, 103)
    assert away(364, 366) < away(364, 364 - 180)


def test_rare_categories_are_pooled():
    """Hundreds of values that occur once or twice share one feature."""
    rng = np.random.default_rng(0)
    values = ["a"] * 400 + ["b"] * 400 + [f"rare {i // 2}" for i in range(200)]
    order = rng.permutation(1000)
    source = features({"x": [values[i] for i in order]}, kinds={"x": "category"})
    assert source.n_features <= 4
    rare = source.prepared.dense[order >= 800]
    assert np.ptp(rare, axis=0).max() < 1e-6


def test_short_names_are_compared_by_letters():
    """Without words, what the beginnings and endings look like counts."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefg"), 4)) + ["ova", "sson"][i % 2] for i in range(200)]
    dense = features({"name": names}, kinds={"name": "text"}).prepared.dense
    nearest = (dense @ dense.T - 9 * np.eye(200)).argmax(axis=1)
    assert np.mean(nearest % 2 == np.arange(200) % 2) > 0.75


@pytest.mark.parametrize("texts", [["", "", ""], ["one two three four"], ["a b c", "d e f"], [None, "x y z", None]])
def test_texts_without_common_words_stay_finite(texts):
    """Nothing to count gives features all the same."""
    source = compute_features(ArrowTable({"text": texts}), FeaturePlan(columns={"text": "text"}))
    assert np.isfinite(source.prepared.dense).all()
    assert source.n_rows == len(texts)


def test_a_source_for_every_method():
    """It has the verbs of a source, and the learner gets the features as they are."""
    columns, _ = mixture(200)
    source = features(columns)
    assert isinstance(source, Source)
    assert isinstance(source, FeatureSource)
    assert learner_features(source, 3) is source.prepared
    rows = np.array([5, 3, 3])
    np.testing.assert_array_equal(source.take(rows), source.prepared.dense[rows])
    np.testing.assert_array_equal(source.scan(lambda X: X.sum(axis=1)), source.prepared.dense.sum(axis=1))


@pytest.mark.parametrize("method", ["bela", "bela-paper", "hsal", "plal", "pac", "margin", "random"])
def test_every_method_works_on_mapped_features(method):
    """None of them writes to what it was given."""
    columns, y = mixture(120, share=0.8)
    result = bela.label(features(columns), y, budget=60, method=method)
    assert result.n_asked <= 60
    assert len(result.labels) == 120


def test_nothing_to_tell_rows_apart_by():
    """Empty and constant columns only: an error that names them, before a single question is asked."""
    with pytest.raises(DataError, match=r"no column tells the rows apart.*'a'.*the same"):
        features({"a": [1.0] * 5, "b": [None] * 5})


def test_a_plan_for_other_data():
    """A column that is not there gets one sentence."""
    with pytest.raises(DataError, match="'y'"):
        compute_features(ArrowTable({"x": [1.0, 2.0]}), FeaturePlan(columns={"y": "number"}))


def test_data_that_lose_rows_while_they_are_read():
    """A file that grew shorter is noticed."""
    records = ArrowTable({"x": np.arange(100.0) ** 2})
    plan = plan_features(records)
    records.batches = lambda columns: iter([pa.record_batch({"x": [1.0, 2.0]})])
    with pytest.raises(DataError, match="gave 2 rows"):
        compute_features(records, plan)


@pytest.mark.parametrize("bad", [[[1.0, 2.0]] * 5 + [[1.0]], [[1.0, 2.0]] * 5 + [[1.0, float("nan")]]])
def test_embeddings_have_one_length_and_no_gaps(bad):
    """A row with another length, or with NaN, is named."""
    plan = FeaturePlan(columns={"v": "embedding"})
    with pytest.raises(DataError, match=r"column 'v'"):
        compute_features(ArrowTable({"v": bad}), plan)


def test_progress_goes_from_0_to_1():
    """It never goes back, and it ends at 1."""
    columns, _ = mixture(300)
    records = ArrowTable(columns)
    seen = []
    compute_features(records, plan_features(records), progress=lambda what, share: seen.append((what, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert all(what for what, _ in seen)


def test_few_answers_label_a_mixture():
    """Texts, numbers, categories and gaps together reach the target with a fraction of the answers."""
    columns, y = mixture(400, share=0.6)
    result = bela.label(features(columns), y, target=0.85)
    assert result.certificate.lower >= 0.85
    assert result.n_asked <= 150
    assert np.mean(result.labels == y) >= 0.85


def test_few_answers_label_texts():
    """As few as with the counts of words in a matrix, within what chance does."""
    texts, y = topics(800, length=15, share=0.5)
    ours = bela.label(features({"text": texts}), y, target=0.9)
    plain = bela.label(CountVectorizer().fit_transform(texts), y, target=0.9)
    assert ours.certificate.lower >= 0.9
    assert ours.n_asked <= 1.3 * plain.n_asked + 20
