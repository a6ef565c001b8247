"""A cluster with full disks: the same outcome while there is memory, else one sentence, and the campaign goes on."""

import gc
import os
import signal
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pandas as pd
import pytest

import bela
from bela.campaign import create_campaign, open_campaign
from bela.data import on_cluster, open_table
from bela.errors import ClusterError
from bela.exports import check_export, export
from bela.protocols import BLOCK_ROWS

resource = pytest.importorskip("resource")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytest.importorskip("cloudpickle").register_pickle_by_value(sys.modules[__name__])  # workers do not have this file

# the packages of others warn as they like, in this process and at its end
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]

SPILLS_EARLY = {"target": 0.0005, "spill": False, "pause": False, "terminate": False}  # from half a megabyte on
STOPS_EARLY = {"target": 0.3, "spill": 0.4, "pause": 0.5, "terminate": False}
ROOM = 4096  # bytes of a file that can still be written where a disk is full
CHUNK = 80_000_000


@contextmanager
def one_worker(shares, **config):
    """Lend a cluster of one worker, a process with 1 GB that does something about it from these shares on."""
    settings = {f"distributed.worker.memory.{name}": share for name, share in shares.items()}
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(settings | {"distributed.comm.timeouts.connect": "60s"} | config),
        distributed.LocalCluster(**options, memory_limit="1GB", silence_logs=50) as cluster,
        distributed.Client(cluster, timeout=60) as client,
    ):
        client.wait_for_workers(1, timeout=120)
        yield cluster, client


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Sockets that Dask leaves open are found here, and not in the midst of some other test."""
    yield
    gc.collect()


@pytest.fixture
def few_are_many(monkeypatch):
    """Take the path of very many rows: learn on a sample, and let all others lean on it."""
    monkeypatch.setattr("bela.features._rows.MANY_ROWS", 5_000)
    monkeypatch.setattr("bela.learning._sampled.SAMPLE_ROWS", 2_000)


@pytest.fixture(scope="module")
def blobs():
    """Points around three centres, and which centre is each one's."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=BLOCK_ROWS + 3_000)
    return rng.normal(scale=3, size=(3, 24))[y] + rng.normal(size=(len(y), 24)), y.astype(str)


def let_files_grow(size):
    """Limit the files of this process: whoever writes more is told that there is no room; None for no limit."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def kept(dask_worker):
    """Return how much a worker keeps on its disk, and how much in memory; both in bytes of memory."""
    return dask_worker.data.spilled_total.memory, dask_worker.data.fast.total_weight


def answer(campaign, labels, rows, n):
    """Answer until so many rows were asked about."""
    while len(rows) < n:
        [question] = campaign.ask()
        rows.append(question.row)
        campaign.tell(question.id, labels[question.row])


@pytest.mark.usefixtures("few_are_many")
def test_a_full_spill_disk_changes_nothing_while_there_is_memory(blobs):
    """What finds no room on the disk stays in memory: the same questions, labels and certificate."""
    X, y = blobs

    def outcome(data):
        campaign, rows = bela.Campaign(data, seed=7, budget=40), []
        answer(campaign, y, rows, 40)
        return rows, campaign

    rows, here = outcome(X)
    here = here.result()
    with one_worker(SPILLS_EARLY) as (_, client):
        for room in (ROOM, None):
            client.run(let_files_grow, room)
            found, campaign = outcome(da.from_array(X, chunks=(1_000, 24)))
            there = campaign.result()
            [(on_disk, in_memory)] = client.run(kept).values()
            assert (on_disk > 0) == (room is None)  # it would spill, and cannot
            assert in_memory > 500_000 or room is None
            assert found == rows
            assert there.certificate == here.certificate
            assert np.array_equal(there.labels, here.labels)
            assert np.array_equal(there.probability, here.probability)


@pytest.mark.usefixtures("few_are_many")
def test_memory_and_disk_are_full_in_the_midst_of_a_campaign(blobs, tmp_path, monkeypatch):
    """What others keep on the cluster fills both: one sentence, no answer lost; with room again, the same questions."""
    monkeypatch.setattr("bela.data._cluster.PATIENCE_SECONDS", 0.5)
    X, y = blobs
    (tmp_path / "rows").mkdir()
    pd.DataFrame(X).rename(columns=str).to_parquet(tmp_path / "rows" / "part-0.parquet", row_group_size=1_700)
    path, rows = tmp_path / "rows.bela", list[int]()
    with one_worker(STOPS_EARLY) as (cluster, client):

        def status():
            return {one["status"] for one in client.scheduler_info()["workers"].values()}

        def fill_memory():
            chunks = []
            while status() != {"paused"}:
                chunks.append(client.submit(np.random.default_rng(len(chunks)).bytes, CHUNK, pure=False))
                with suppress(TimeoutError):
                    distributed.wait(chunks[-1], timeout=1)
            return chunks

        with on_cluster(cluster.scheduler_address):
            with create_campaign(tmp_path / "rows", path, seed=3) as stored:
                answer(stored.campaign, y, rows, 5)
                client.run(let_files_grow, ROOM)
                chunks = fill_memory()
                with pytest.raises(ClusterError, match=r"memory and disk of all workers are full.* on disk, so go"):
                    answer(stored.campaign, y, rows, 60)
            n_before = len(rows)
            client.run(let_files_grow, None)
            while status() != {"running"}:  # as it spills now
                with suppress(TimeoutError):
                    distributed.wait(chunks, timeout=1)
            with open_campaign(path) as stored:
                assert stored.campaign.book.n_known == n_before
                answer(stored.campaign, y, rows, 40)
    with create_campaign(tmp_path / "rows", tmp_path / "here.bela", seed=3) as stored:
        expected = list[int]()
        answer(stored.campaign, y, expected, 40)
    assert rows == expected


def test_rows_that_kill_their_workers_are_an_error(blobs):
    """As where a worker needs more memory than it has, and its disk does not help: not tried for ever, and said."""
    with one_worker(SPILLS_EARLY, **{"distributed.scheduler.allowed-failures": 0}) as (_, client):
        blocks = open_table(da.from_array(blobs[0], chunks=(1_000, 24))).array.blocks

        def die(start, block):
            os.kill(os.getpid(), signal.SIGKILL)

        with pytest.raises(ClusterError, match=r"died one after the other over the same rows.* on disk, so go"):
            list(blocks.each(die))
        client.wait_for_workers(1, timeout=120)
        assert np.array_equal(blocks.take(np.arange(9)), blobs[0][:9])


def test_an_export_to_a_full_disk_is_there_whole_or_not_at_all(blobs, tmp_path):
    """Workers that cannot write their parts: one sentence and no folder; with room again, the export."""
    X, y = blobs
    result = bela.label(X[:1_000], y[:1_000], budget=40)
    with one_worker(SPILLS_EARLY) as (_, client):
        records = open_table(da.from_array(X[:1_000], chunks=(300, 24)))
        client.run(let_files_grow, ROOM)
        with pytest.raises(ClusterError, match="a Dask worker cannot read or write"):
            export(records, result, tmp_path / "out.parts")
        assert not (tmp_path / "out.parts").exists()
        client.run(let_files_grow, None)
        assert check_export(export(records, result, tmp_path / "out.parts")) == []


def test_a_local_cluster_that_finds_no_room_is_said(tmp_path):
    """Its workers cannot make their folders: a sentence, and not the traceback of somebody else's."""
    (tmp_path / "file").write_text("in the way")
    with (
        dask.config.set(temporary_directory=str(tmp_path / "file")),
        pytest.raises(ClusterError, match="no local cluster can be made"),
        on_cluster("local"),
    ):
        pass
