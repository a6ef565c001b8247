"""Rows on a Dask cluster: the same questions, labels and certificate as in memory, to the last bit."""

import gc
import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bela
from bela.campaign import create_campaign, open_campaign
from bela.campaign._predicted import read_predictions
from bela.cli import app, main
from bela.data import on_cluster, open_table, watching_scans
from bela.errors import ClusterError, DataError, ParameterError
from bela.exports import check_export, export, read_certificate
from bela.features import learner_features, learner_rows, prepare
from bela.protocols import BLOCK_ROWS
from bela.records import Role

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# the packages of others warn as they like, in this process and at its end
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]

RUN = CliRunner()
N_ROWS = 2 * BLOCK_ROWS + 1_000


@pytest.fixture(scope="module")
def cluster():
    """Two workers that are processes of their own."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.deploy.lost-worker-timeout": "60s"}),
        distributed.LocalCluster(**options, silence_logs=50) as found,
    ):
        yield found


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Sockets that Dask leaves open are found here, and not in the midst of some other test."""
    yield
    gc.collect()


@pytest.fixture
def client(cluster):
    """A client of the cluster, for one test."""
    with distributed.Client(cluster, timeout=60) as found:
        found.wait_for_workers(2, timeout=120)
        yield found


@pytest.fixture(scope="module")
def blobs():
    """Points around five centres, and which centre is each one's."""
    rng = np.random.default_rng(3)
    y = rng.integers(5, size=N_ROWS)
    return rng.normal(scale=3, size=(5, 24))[y] + rng.normal(size=(N_ROWS, 24)), y


@pytest.fixture(scope="module")
def pets():
    """A frame of texts, numbers with holes, categories and dates, and the labels of its rows."""
    rng = np.random.default_rng(1)
    words = {"cat": ["purr", "meow", "paw"], "dog": ["bark", "woof", "paw"], "car": ["wheel", "road", "engine"]}
    y = rng.choice(list(words), BLOCK_ROWS + 500)
    frame = pd.DataFrame({
        "text": [" ".join(rng.choice([*words[label], "the", "of", "and", "it"], 6)) for label in y],
        "size": np.where(rng.random(len(y)) < 0.1, np.nan, rng.normal(size=len(y)) + (y == "car")),
        "kind": pd.Categorical(rng.choice(["a", "b", "c"], len(y))),
        "born": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, len(y)), "D"),
    })  # fmt: skip
    return frame, y


@pytest.fixture
def few_are_many(monkeypatch):
    """Take the path of very many rows: learn on a sample, and let all others lean on it."""
    monkeypatch.setattr("bela.features._rows.MANY_ROWS", 5_000)
    monkeypatch.setattr("bela.learning._sampled.SAMPLE_ROWS", 2_000)


def campaign_of(data, labels, n_answers, **options):
    """Answer some questions: the campaign, and the questions with their roles."""
    campaign, asked = bela.Campaign(data, seed=7, budget=n_answers, **options), []
    while campaign.stop_reason is None:
        for question in campaign.ask(20):
            asked.append(question.row)
            campaign.tell(question.id, labels[question.row])
    return campaign, asked


def assert_same(one, other, labels, n_answers=40, **options):
    """The same questions, labels, chances and certificate."""
    (a, rows_a), (b, rows_b) = (campaign_of(data, labels, n_answers, **options) for data in (one, other))
    assert rows_a == rows_b
    assert a.book.n_answers[Role.TRAINING] == b.book.n_answers[Role.TRAINING]
    a, b = a.result(), b.result()
    assert a.certificate == b.certificate
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.probability, b.probability)


# --------------------------------------------------------------------------------------------------------- equal


@pytest.mark.parametrize("chunks", [(N_ROWS, 24), (777, 10), ((5_000, 12_000, N_ROWS - 17_000), (1, 23))])
def test_an_array_is_the_same_in_any_chunks(client, blobs, chunks):
    """Digests, features of any rows, and scans, which see the blocks that memory would have."""
    X, _ = blobs
    here, there = prepare(X), prepare(da.from_array(X, chunks=chunks))
    assert there.table.fingerprint == here.table.fingerprint
    assert there.table.record(11_111) == here.table.record(11_111)
    rows = np.array([9, 16_400, 3, 8_191, 8_192])
    assert np.array_equal(here.source.take(rows), there.source.take(rows))
    basis = np.random.default_rng(0).normal(size=(24, 40)).astype(np.float32)
    assert np.array_equal(*(source.scan(lambda block: block @ basis) for source in (here.source, there.source)))


@pytest.mark.usefixtures("few_are_many")
def test_a_campaign_of_an_array_is_the_same(client, blobs):
    """From the first question to the certificate, where all rows are scanned on the workers."""
    X, y = blobs[0][: BLOCK_ROWS + 500], blobs[1]
    assert_same(X, da.from_array(X, chunks=(4_321, 24)), y)


@pytest.mark.usefixtures("few_are_many")
def test_a_campaign_with_predictions_is_the_same(client, pets):
    """Columns of a frame with what others have predicted: the same labels and scores, and all that follows."""
    frame, y = pets
    rng = np.random.default_rng(4)
    said = np.where(rng.random(len(y)) < 0.8, y, "cat").astype(object)
    said[::9] = None
    more = frame[["size", "kind"]].assign(said=pd.Categorical(said), sure=np.where(said == "cat", np.nan, 0.5))
    more.loc[:99, "sure"] = 0.7
    there = dd.from_pandas(more, npartitions=5)
    (here, scores), (far, of_far) = (read_predictions(open_table(data), [("said", "sure")])["said"]
                                     for data in (more, there))  # fmt: skip
    assert list(far) == list(here) == said.tolist()
    np.testing.assert_array_equal(of_far, scores)
    assert_same(frame[["size"]], there[["size"]], y, predictions={"m": (far, of_far)})


def test_a_campaign_of_few_rows_is_the_same(client, blobs):
    """Where the rows are few enough to be linked by a graph."""
    X, y = blobs[0][:1_000], blobs[1]
    assert_same(X, da.from_array(X, chunks=(400, 24)), y)


@pytest.mark.usefixtures("few_are_many")
def test_a_campaign_of_a_frame_is_the_same(client, pets):
    """Texts, numbers, categories and dates: features that the workers compute are those of memory."""
    frame, y = pets
    there = dd.from_pandas(frame, npartitions=7)
    here, far = prepare(frame), prepare(there)
    assert far.plan == here.plan
    assert far.table.fingerprint == here.table.fingerprint
    rows = np.array([8_500, 0, 8_192, 8_191])
    a, b = (learner_rows(data.source).take(rows) for data in (here, far))
    assert np.array_equal(a.dense, b.dense)
    assert not (a.linear != b.linear).nnz
    assert np.array_equal(a.columns, b.columns, equal_nan=True)
    assert_same(frame, there, y)


@pytest.mark.parametrize("features", ["auto", "raw"])
def test_images_are_the_same(client, features):
    """Arrays with more dimensions: by gradients, or as nothing but numbers."""
    images = np.random.default_rng(2).integers(0, 256, (300, 8, 8), dtype=np.uint8)
    here, there = (prepare(data, features=features) for data in (images, da.from_array(images, chunks=(70, 3, 8))))
    a, b = (learner_features(data.source) for data in (here, there))
    if features == "raw":
        a, b = a.dense, b.dense
    assert np.array_equal(a, b)
    assert there.table.fingerprint == here.table.fingerprint


def test_whoever_waits_for_a_cluster_is_told_how_far_it_is(client, blobs, monkeypatch):
    """Shares of all rows that grow to the end, as in memory."""
    for name in ("PATIENCE", "OFTEN"):
        monkeypatch.setattr(f"bela.data._watching.{name}", -1.0)
    source, told = prepare(da.from_array(blobs[0], chunks=(1_000, 24))).source, list[float]()
    with watching_scans(told.append):
        source.scan(lambda block: block[:, 0])
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 1


def test_anything_that_labels_takes_a_collection(client, blobs):
    """The one call that most people make, with an array of Dask and with a frame: what memory gives."""
    X, y = blobs[0][:1_000], blobs[1][:1_000]
    frame = pd.DataFrame(X).rename(columns=str)
    for pair in ((X, da.from_array(X, chunks=(300, 24))), (frame, dd.from_pandas(frame, npartitions=3))):
        here, there = (bela.label(data, y, budget=40, seed=1) for data in pair)
        assert there.certificate == here.certificate
        assert np.array_equal(there.labels, here.labels)
        assert np.array_equal(there.probability, here.probability)


def test_without_a_cluster_threads_compute(blobs, pets):
    """The same table, features and rows, one piece after the other."""
    X, frame = blobs[0], pets[0]
    for here, there in ((X, da.from_array(X, chunks=(3_000, 5))), (frame, dd.from_pandas(frame, npartitions=3))):
        a, b = prepare(here), prepare(there)
        assert a.table.fingerprint == b.table.fingerprint
        rows = np.array([5_000, 2])
        assert np.array_equal(a.source.take(rows), b.source.take(rows))


def test_partitions_of_different_kinds_make_the_table_that_memory_makes(client):
    """A column of whole numbers here and texts there, none at all, partitions without rows."""
    with dask.config.set({"dataframe.convert-string": False}):
        parts = [pd.DataFrame({"a": pd.Series(values, dtype=object)}) for values in ([1, 2], [], ["x", None], [None])]
        there = open_table(dd.from_map(lambda part: part, parts, meta=parts[0]))
    here = open_table(pd.concat(parts, ignore_index=True))
    assert list(there.iter_records()) == list(here.iter_records())
    assert there.mixed == here.mixed == ("a",)
    assert there.fingerprint == here.fingerprint


# ------------------------------------------------------------------------------------------------------- Parquet


def write_parts(frame, folder, n_parts=3):
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{i}.parquet", row_group_size=1_700, index=False)


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_parquet_at_an_address_is_the_table_that_it_is_here(tmp_path, pets, scheme):
    """Whatever file system: rows, columns and fingerprint."""
    fsspec = pytest.importorskip("fsspec")
    write_parts(pets[0], tmp_path / "pets")
    address = f"file://{tmp_path}/pets"
    if scheme == "memory":
        address = "memory://box/pets"
        fsspec.filesystem("memory").put(f"{tmp_path}/pets/", "/box/pets", recursive=True)
    here, there = open_table(tmp_path / "pets"), open_table(address)
    assert there.fingerprint == here.fingerprint
    assert there.columns == here.columns
    assert there.record(8_600) == here.record(8_600)
    assert np.array_equal(there.row_digests(), here.row_digests())


def test_what_is_not_at_an_address_is_said(tmp_path):
    """Nothing there, nothing of Parquet, no such scheme, a password: a sentence each."""
    (tmp_path / "notes.txt").write_text("none")
    for address, said in (
        (f"file://{tmp_path}/gone.parquet", "there is no file or folder"),
        (f"file://{tmp_path}", "no Parquet files"),
        ("nosuch://bucket/x", "cannot be read"),
    ):
        with pytest.raises(DataError, match=said):
            open_table(address)
    with pytest.raises(ParameterError, match="password"):
        open_table("ftp://me:secret@host/x.parquet")


def test_a_campaign_about_an_address_goes_on_and_needs_a_yes_of_others(tmp_path, pets, monkeypatch):
    """It is named in the settings as it is; somebody else is asked before that place is read from."""
    write_parts(pets[0].assign(y=pets[1]), tmp_path / "pets")
    path, address = tmp_path / "pets.bela", f"file://{tmp_path}/pets"
    with create_campaign(address, path, label_column=None, hidden=("y",), seed=1) as stored:
        assert stored.settings.data == address
        question = stored.campaign.ask()[0]
        stored.campaign.tell(question.id, "cat")
        fingerprint = stored.settings.fingerprint
    with open_campaign(path) as stored:
        assert stored.campaign.book.n_known == 1
    assert fingerprint == open_table(tmp_path / "pets").fingerprint
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "somebody"))
    with pytest.raises(ParameterError, match="would read from"):
        open_campaign(path)


# ------------------------------------------------------------------------------------------------------ failures


def test_a_worker_that_is_killed_in_a_scan_changes_nothing(client, blobs, tmp_path):
    """Its rows are computed once more elsewhere: what comes back is what it would have been."""
    X, _ = blobs
    rows = open_table(da.from_array(X, chunks=(1_000, 24))).array.blocks
    expected = [(i, float(X[i : i + BLOCK_ROWS].sum())) for i in range(0, N_ROWS, BLOCK_ROWS)]
    mark = tmp_path / "killed"

    def kill_once(start, block):
        if start == BLOCK_ROWS and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return start, float(block.sum())

    found = list(rows.each(kill_once))
    assert mark.exists()
    assert found == expected
    assert np.array_equal(rows.take(np.arange(N_ROWS)), X)


def test_a_lost_cluster_is_said_in_a_sentence(blobs):
    """The scheduler goes: a clear error, and the same rows from elsewhere."""
    X = blobs[0][:1_000]
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=50) as lost, distributed.Client(lost, timeout=60):
        source = prepare(da.from_array(X, chunks=(1_000, 24))).source
        before = source.take(np.arange(5))
        lost.close()
        with pytest.raises(ClusterError, match="all answers are on disk"):
            source.take(np.arange(5))
    with pytest.raises(ClusterError, match="all answers are on disk"):
        source.scan(lambda block: block[:, 0])
    assert np.array_equal(before, prepare(X).source.take(np.arange(5)))


@pytest.mark.usefixtures("few_are_many")
def test_a_campaign_goes_on_without_the_cluster_that_it_lost(pets, tmp_path):
    """What was answered before the scheduler went is on disk, and the next questions are those that memory asks."""
    write_parts(pets[0].assign(y=pets[1]), tmp_path / "pets")
    path, rows = tmp_path / "pets.bela", list[int]()
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}

    def answer(campaign, n):
        while len(rows) < n:
            [question] = campaign.ask()
            rows.append(question.row)
            campaign.tell(question.id, pets[1][question.row])

    with (
        distributed.LocalCluster(**options, silence_logs=50) as lost,
        on_cluster(lost.scheduler_address),
        create_campaign(tmp_path / "pets", path, hidden=("y",), seed=3) as stored,
    ):
        answer(stored.campaign, 5)
        lost.close()
        with pytest.raises(ClusterError, match="go on with the campaign"):
            answer(stored.campaign, 60)
    n_before = len(rows)
    with open_campaign(path) as stored:
        assert stored.campaign.book.n_known == n_before
        answer(stored.campaign, 40)
    with create_campaign(tmp_path / "pets", tmp_path / "here.bela", hidden=("y",), seed=3) as stored:
        expected = list(rows)
        rows.clear()
        answer(stored.campaign, 40)
    assert rows == expected


@pytest.mark.usefixtures("few_are_many")
def test_a_worker_that_is_killed_in_a_campaign_changes_nothing(cluster, client, blobs):
    """The rows that it kept are computed anew by the others: the same questions, labels and certificate."""
    X, y = blobs[0][: BLOCK_ROWS + 500], blobs[1]
    (here, expected), n_before = campaign_of(X, y, 60), 0
    there, asked = bela.Campaign(da.from_array(X, chunks=(1_000, 24)), seed=7, budget=60), list[int]()
    while there.stop_reason is None:
        if asked and not n_before:
            n_before = len(asked)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        for question in there.ask(20):
            asked.append(question.row)
            there.tell(question.id, y[question.row])
    client.wait_for_workers(2, timeout=120)
    assert 0 < n_before < len(asked)
    assert asked == expected
    assert there.certificate == here.certificate
    assert np.array_equal(there.result().labels, here.result().labels)


@pytest.mark.usefixtures("few_are_many")
def test_a_campaign_goes_on_with_a_cluster_that_was_restarted(cluster, pets, tmp_path):
    """It has forgotten all rows: a clear error, and the same campaign goes on there, with the questions of memory."""
    write_parts(pets[0].assign(y=pets[1]), tmp_path / "pets")
    path, rows, expected = tmp_path / "pets.bela", list[int](), list[int]()

    def answer(campaign, asked, n):
        while len(asked) < n:
            [question] = campaign.ask()
            asked.append(question.row)
            campaign.tell(question.id, pets[1][question.row])

    with on_cluster(cluster.scheduler_address):
        with create_campaign(tmp_path / "pets", path, hidden=("y",), seed=3) as stored:
            answer(stored.campaign, rows, 5)
            distributed.default_client().restart(timeout=120)
            with pytest.raises(ClusterError, match=r"has let go of the rows.* go on with the campaign"):
                answer(stored.campaign, rows, 60)
        with open_campaign(path) as stored:
            assert stored.campaign.book.n_known == len(rows)
            answer(stored.campaign, rows, 40)
    with create_campaign(tmp_path / "pets", tmp_path / "here.bela", hidden=("y",), seed=3) as stored:
        answer(stored.campaign, expected, 40)
    assert rows == expected


def test_a_cluster_without_workers_is_not_waited_for(blobs, monkeypatch):
    """All workers go and none comes: an error rather than a wait for ever."""
    monkeypatch.setattr("bela.data._cluster.PATIENCE_SECONDS", 0.2)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=50) as small, distributed.Client(small, timeout=60) as client:
        source = prepare(da.from_array(blobs[0][:100], chunks=(50, 24))).source
        small.scale(0)
        while client.nthreads():
            pass
        with pytest.raises(ClusterError, match="no workers any more"):
            source.take(np.arange(5))


def test_what_fails_in_a_collection_is_said(client):
    """An error of the user's own graph, and numbers that are none."""

    def fail(block):
        raise RuntimeError("no such thing")

    broken = da.ones((100, 3), chunks=(50, 3)).map_blocks(fail, dtype=float, meta=np.ones((0, 0)))
    with pytest.raises(DataError, match="cannot be computed: RuntimeError: no such thing"):
        prepare(broken)
    X = np.ones((BLOCK_ROWS + 9, 2))
    X[BLOCK_ROWS + 3, 1] = np.nan
    with pytest.raises(DataError, match=f"in 1 place.*row {BLOCK_ROWS + 3}"):
        prepare(da.from_array(X, chunks=(1_000, 2)))
    with pytest.raises(DataError, match="rows and columns"):
        open_table(da.ones(5))


# -------------------------------------------------------------------------------------------------------- export


def test_workers_write_the_parts_of_an_export(client, pets, tmp_path):
    """A folder of Parquet with one certificate, which reads back as the rows with their labels."""
    frame, y = pets
    result = bela.label(frame[:1_000], y[:1_000], budget=40)
    records = open_table(dd.from_pandas(frame[:1_000], npartitions=3))
    path = export(records, result, tmp_path / "out.parts")
    assert check_export(path) == []
    assert read_certificate(path)["lower"] == result.certificate.lower
    back = pd.read_parquet(path)
    assert back["label"].tolist() == result.labels.tolist()
    assert back["text"].tolist() == frame["text"][:1_000].tolist()
    assert open_table(path).n_rows == 1_000
    assert export(records, result, path) == path  # an earlier export of the same data
    [part, *_] = sorted(path.glob("part-*.parquet"))
    part.write_bytes(part.read_bytes() + b" ")
    assert "has been changed" in check_export(path)[0]


def test_the_command_line_takes_a_cluster(cluster, pets, tmp_path):
    """A campaign that was begun without one goes on with `--dask`, and is exported by the workers, as it would be."""
    write_parts(pets[0].assign(y=pets[1])[:1_000], tmp_path / "pets")
    outcomes = []
    for name, dask_options in (("here", []), ("there", ["--dask", cluster.scheduler_address])):
        command = ["run", str(tmp_path / "pets"), "--truth", "y", "--campaign", str(tmp_path / f"{name}.bela")]
        assert RUN.invoke(app, [*command, "--stop-after", "20"]).exit_code == 0
        done = RUN.invoke(
            app, [*command, "--stop-after", "45", "--json", str(tmp_path / f"{name}.json"), *dask_options]
        )
        assert done.exit_code == 0, done.output
        outcomes.append(json.loads((tmp_path / f"{name}.json").read_text()))
    for key in ("n_asked", "certificate", "accuracy"):
        assert outcomes[0][key] == outcomes[1][key]
    to = tmp_path / "out.parts"
    done = RUN.invoke(app, ["export", str(tmp_path / "there.bela"), "--to", str(to), *dask_options])
    assert done.exit_code == 0, done.output
    assert check_export(to) == []
    assert len(pd.read_parquet(to)) == 1_000


def test_bad_clusters_and_data_are_said(cluster, tmp_path, capsys, monkeypatch):
    """Nobody at an address, and rows that workers do not read: a sentence, and exit status 2."""
    monkeypatch.setattr("bela.data._cluster.CONNECT_SECONDS", 1)
    (tmp_path / "pets.csv").write_text("a,y\n1,x\n2,z\n")
    for address, said in (("tcp://127.0.0.1:9", "no Dask scheduler"), (cluster.scheduler_address, "is not Parquet")):
        assert main(["simulate", str(tmp_path / "pets.csv"), "--truth", "y", "--dask", address]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
        monkeypatch.undo()
