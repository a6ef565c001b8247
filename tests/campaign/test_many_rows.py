"""A campaign of very many rows, from the first question to the export: with "many" set to a few thousand."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bela
from bela.campaign import StoredCampaign, create_campaign, open_campaign
from bela.data import _blocks
from bela.exports import check_export, export
from bela.features import FeatureSource, _rows, learner_rows
from bela.features._rows import KeptRows, ScaledRows
from bela.learning import SampledLearner, SampledPredictionLearner, _leaning, _sampled
from bela.methods.bela._revision import SAMPLED_VERSION
from bela.records import UNKNOWN, Guarantee, StopReason
from bela.storage import _mapped

N_ROWS = 3_000


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Let 3,000 rows be very many, of which a sample of 600 is learnt on, with files that are mapped."""
    monkeypatch.setattr(_rows, "MANY_ROWS", 2_000)
    monkeypatch.setattr(_sampled, "SAMPLE_ROWS", 600)
    monkeypatch.setattr(_mapped, "LARGE", 1_000)


@pytest.fixture
def data(tmp_path) -> tuple[Path, np.ndarray]:
    """A file of rows around a dozen points, and the class of each, of which there are five."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(12, size=N_ROWS)
    X = 3.0 * rng.normal(size=(12, 8))[cluster] + rng.normal(size=(N_ROWS, 8))
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    return tmp_path / "rows.npy", np.array(["a", "b", "c", "d", "e"])[cluster % 5]


def answer(stored: StoredCampaign, y: np.ndarray, n: int) -> None:
    """Answer until so many answers are there, or there is a reason to stop."""
    campaign = stored.campaign
    while campaign.n_asked < n and campaign.stop_reason is None:
        for question in campaign.ask(3):
            campaign.tell(question.id, str(y[question.row]))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_certified_is_right(data, seed):
    """At every moment fewer labels are certified than are right; the target is reached without asking them all."""
    path, y = data
    campaign = bela.Campaign(np.load(path, mmap_mode="r"), target=0.9, seed=seed)
    assert isinstance(campaign.method.learner(), SampledLearner)
    while campaign.stop_reason is None:
        for question in campaign.ask(8):
            campaign.tell(question.id, str(y[question.row]))
        if campaign.book.n_revisions:
            assert campaign.certificate.lower <= float(np.mean(campaign.result().labels == y))
    result = campaign.result()
    assert campaign.stop_reason is StopReason.TARGET
    assert result.certificate.guarantee is Guarantee.ANYTIME
    assert result.n_asked < 600
    assert float(np.mean(result.labels == y)) >= result.certificate.lower >= 0.9
    assert all(one.lower <= float(np.mean(y[result.labels == one.label] == one.label)) for one in result.by_class)
    for share, rows in result.sure.items():
        assert float(np.mean((result.labels == y)[rows])) >= share
    campaign.undo()
    assert campaign.result().n_asked == result.n_asked - 1


def test_draws_come_from_all_rows_and_training_from_the_sample(data):
    """What is drawn need not be in the sample; what training picks is."""
    path, y = data
    campaign = bela.Campaign(np.load(path), budget=200, seed=1)
    while campaign.stop_reason is None:
        for question in campaign.ask(4):
            campaign.tell(question.id, str(y[question.row]))
    sample = campaign.method.learner().sample
    rows = {role: [q.row for q in campaign.book.questions if q.role == role] for role in ("training", "bounds")}
    assert np.isin(rows["training"], sample).all()
    assert np.mean(np.isin(rows["bounds"], sample)) < 0.5
    release = campaign.method.certificates.revisions[-1]
    assert np.isin(rows["bounds"], release.outside.others).any()  # draws that were released to training


def test_a_folder_is_opened_again_verified_and_exported(data, tmp_path):
    """The journal and the arrays give the same campaign again, deciding anew too; Parquet has every label."""
    path, y = data
    with create_campaign(path, tmp_path / "rows.bela", target=0.97) as stored:
        answer(stored, y, 180)
        before, lower = stored.campaign.result(), stored.campaign.certificate.lower
        assert {event.method_version for event in stored.campaign.book.revisions} == {SAMPLED_VERSION}
        assert not list((tmp_path / "rows.bela" / "cache").rglob("dense.npy"))  # no copy of the rows
    with open_campaign(tmp_path / "rows.bela") as stored:
        after = stored.campaign.result()
        np.testing.assert_array_equal(after.labels, before.labels)
        np.testing.assert_array_equal(after.probability, before.probability)
        assert stored.campaign.certificate.lower == lower
        export(stored.records, after, tmp_path / "labelled.parquet")
        assert isinstance(stored.campaign.method.certificates.revisions[-1].codes, np.memmap)
        answer(stored, y, 200)
    with open_campaign(tmp_path / "rows.bela", read_only=True, recompute=True) as stored:
        assert stored.verification is not None
        assert stored.verification.holds
        assert stored.verification.n_decided
    assert pq.read_table(tmp_path / "labelled.parquet")["label"].to_pylist() == before.labels.tolist()
    assert not check_export(tmp_path / "labelled.parquet")


def predicted(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels that are right nine times of ten, more often where the score is high; some are missing."""
    rng = np.random.default_rng(7)
    scores = rng.random(len(y))
    labels = np.where(rng.random(len(y)) < 0.8 + 0.2 * scores, y, rng.choice(["a", "b", "c", "d", "e"], len(y)))
    labels = labels.astype(object)
    labels[::50], scores[::30] = None, np.nan
    return labels, scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_features", [False, True])
def test_with_predictions_what_is_certified_is_right(data, seed, with_features):
    """At every moment, with features and without; and it takes fewer answers than without predictions."""
    path, y = data
    X, said = np.load(path), {"gpt": predicted(y)}
    campaign = bela.Campaign(X if with_features else None, predictions=said, target=0.9, seed=seed)
    kind = SampledLearner if with_features else SampledPredictionLearner
    assert isinstance(campaign.method.learner(), kind)
    while campaign.stop_reason is None:
        for question in campaign.ask(8):
            campaign.tell(question.id, str(y[question.row]))
        assert campaign.certificate.lower <= float(np.mean(campaign.result().labels == y))
    assert campaign.stop_reason is StopReason.TARGET
    assert campaign.n_asked < (400 if with_features else 1_500)
    assert {event.method_version for event in campaign.book.revisions} == {SAMPLED_VERSION}
    new, scores = predicted(y)
    found = campaign.result().predict(X[:50], {"gpt": (new[:50], scores[:50])})
    assert np.mean(found.labels == y[:50]) > 0.8


@pytest.mark.parametrize("few", [0, 12])
@pytest.mark.parametrize("with_features", [False, True])
def test_predictions_of_few_rows_or_of_none(data, with_features, few):
    """They may be silent about the whole sample, or about all rows: the labels are certified all the same."""
    path, y = data
    outside = np.setdiff1d(np.arange(N_ROWS), _sampled.SampledRows(N_ROWS, 0).rows)[:few]
    labels = np.full(N_ROWS, None, dtype=object)
    labels[outside] = y[outside]
    campaign = bela.Campaign(np.load(path) if with_features else None, predictions={"gpt": labels}, budget=100)
    while campaign.stop_reason is None:
        for question in campaign.ask(8):
            campaign.tell(question.id, str(y[question.row]))
        result = campaign.result()
        assert np.isfinite(result.probability).all()
        assert campaign.certificate.lower <= float(np.mean(result.labels == y))
    assert campaign.certificate.lower > (0.8 if with_features else 0.1)


@pytest.mark.parametrize("with_features", [False, True])
@pytest.mark.parametrize("how", ["merge", "delete", "rename", "add"])
def test_classes_change_while_there_are_predictions(data, how, with_features):
    """What was predicted goes with its class, or is forgotten with it; the certificate holds at every moment."""
    path, y = data
    truth, X = y.astype(object), np.load(path)
    labels, scores = predicted(y)
    campaign = bela.Campaign(X if with_features else None, predictions={"gpt": (labels, scores)}, budget=140)
    while campaign.stop_reason is None:
        for question in campaign.ask(7):
            campaign.tell(question.id, truth[question.row])
        if campaign.n_asked >= 42 and (truth == y).all():
            match how:
                case "merge":
                    campaign.merge_class("a", "b")
                case "delete":
                    campaign.delete_class("a")
                case "rename":
                    campaign.rename_class("a", "q")
                case "add":
                    campaign.add_class("q")
            truth[truth == "a"] = "q" if how in ("rename", "add") else "b"
        assert campaign.certificate.lower <= float(np.mean(campaign.result().labels == truth))
    gone = set() if how == "add" else {"a"}
    assert not gone & {*campaign.result().labels}
    found = campaign.result().predict(X[:60], {"gpt": (labels[:60], scores[:60])})
    assert not gone & {*found.labels}
    if how in ("merge", "rename"):
        assert np.mean(found.labels == truth[:60]) > 0.8


def test_predictions_in_columns_and_in_files(data, tmp_path):
    """A campaign in a folder reads them block by block, is opened again, and decides the same anew."""
    path, y = data
    labels, scores = predicted(y)
    X = np.load(path)
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])} | {"gpt": labels.tolist(), "sure": scores}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    pq.write_table(pa.table({"crowd": labels.tolist()[::-1]}), tmp_path / "crowd.parquet")
    names = ["gpt:sure", f"{tmp_path / 'crowd.parquet'}:crowd"]
    with create_campaign(tmp_path / "rows.parquet", tmp_path / "rows.bela", target=0.97, predicted=names) as stored:
        answer(stored, y, 120)
        assert isinstance(stored.campaign.method.learner(), SampledLearner)
        found = stored.campaign.predictions
        told = np.array([UNKNOWN if label is None else stored.campaign.book.codes.find(label) for label in labels])
        assert all(isinstance(one.codes, np.memmap) for one in found.values())
        np.testing.assert_array_equal(found["gpt"].codes, told)
        np.testing.assert_array_equal(found["gpt"].scores, scores)
        np.testing.assert_array_equal(found["crowd.parquet:crowd"].codes, told[::-1])
        before = stored.campaign.result()
    with open_campaign(tmp_path / "rows.bela", read_only=True, recompute=True) as stored:
        assert stored.verification is not None
        assert stored.verification.holds
        np.testing.assert_array_equal(stored.campaign.result().labels, before.labels)


def test_rows_are_scaled_as_they_go_by_unless_their_features_are_kept(data, tmp_path):
    """Plain numbers are nowhere copied; what was made of texts or images is mapped from where it is kept."""
    path, _ = data
    prepared = bela.features.prepare(path, cache=tmp_path / "cache")
    assert isinstance(prepared.source, FeatureSource)
    assert prepared.source.prepared is None
    assert isinstance(learner_rows(prepared.source), ScaledRows)
    again = bela.features.prepare(path, cache=tmp_path / "cache")
    rows = np.array([5, 2_999, 17])
    np.testing.assert_array_equal(
        learner_rows(prepared.source).take(rows).dense, learner_rows(again.source).take(rows).dense
    )
    texts = bela.features.prepare([f"row {i % 7} of {i % 11} others" for i in range(2_500)])
    kept = learner_rows(texts.source)
    assert isinstance(kept, KeptRows)
    found = kept.scan(lambda block: block.dense.sum(axis=1))
    np.testing.assert_allclose(found, texts.source.prepared.dense.sum(axis=1), rtol=1e-5)


def test_texts_by_the_thousand(data):
    """Tables and texts go the same way, sparse words and all."""
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=2_500)
    words = [["cat", "purr", "milk"], ["dog", "bark", "bone"], ["bird", "sing", "seed"]]
    texts = [" ".join(rng.choice([*words[c] * 3, "the", "a", "and"], 6)) for c in y]
    result = bela.label(texts, y, budget=120, seed=0)
    assert float(np.mean(result.labels == y)) >= max(result.certificate.lower, 0.9)


def test_what_rows_lean_on_is_found_once(data, tmp_path, monkeypatch):
    """Opened again, a campaign scans nothing: not to open, nor to learn on."""
    path, y = data
    with create_campaign(path, tmp_path / "rows.bela", target=0.999) as stored:
        answer(stored, y, 60)
    monkeypatch.setattr(_leaning.Marks, "__call__", None)
    with open_campaign(tmp_path / "rows.bela") as stored:
        before = stored.campaign.book.n_revisions
        answer(stored, y, 140)
        assert stored.campaign.book.n_revisions > before


def test_nothing_is_as_large_as_rows_by_classes_or_by_answers(tmp_path, monkeypatch):
    """With more rows, no more than some bytes of each are in memory; of a revision, no more than eight are kept."""
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 256)
    n_classes, n_answers, peaks = 20, 60, dict[int, int]()
    for n_rows in (2_500, 5_000, 45_000):  # in the first, packages are loaded
        rng = np.random.default_rng(5)
        y = rng.integers(n_classes, size=n_rows)
        path, folder = tmp_path / f"{n_rows}.npy", tmp_path / f"{n_rows}.bela"
        np.save(path, (4 * rng.normal(size=(n_classes, 4))[y] + rng.normal(size=(n_rows, 4))).astype(np.float32))
        with create_campaign(path, folder, budget=n_answers) as stored:
            tracemalloc.start()
            try:
                answer(stored, y, n_answers)
                peaks[n_rows] = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert stored.campaign.book.n_revisions
        for file in (folder / "revisions").rglob("*.arrays"):
            assert file.stat().st_size < 8 * n_rows + 4_096
    assert peaks[45_000] - peaks[5_000] < 25 * 40_000  # 4-byte numbers by classes would be 80 a row


def test_a_change_of_the_rows_is_noticed(data, tmp_path):
    """The digests of the rows, written block by block, still tell which rows have changed."""
    path, y = data
    with create_campaign(path, tmp_path / "rows.bela", budget=60) as stored:
        answer(stored, y, 40)
        asked = [
            question.row for question in stored.campaign.book.questions if question.id not in stored.campaign.book.open
        ]
    X = np.load(path)
    X[asked[0]] += 1
    np.save(path, X)
    with open_campaign(tmp_path / "rows.bela", accept_changes=True) as stored:
        assert len(stored.campaign.book.given) == len(asked) - 1
