"""What somebody else's campaign has in its cache is looked at like any other file."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bela.campaign import open_campaign
from bela.errors import BelaError
from bela.storage import _kept, read_checked, write_checked


def forge(folder: Path, change: str) -> None:
    """Make a header fit to a file that was changed, as anybody can."""
    header = read_checked(folder / "header.json")
    assert header is not None
    header["files"] = {**header["files"], change: _kept._checksum(folder / change)}
    write_checked(folder / "header.json", header)


def test_a_table_that_points_outside_of_itself_is_refused(strangers: Path) -> None:
    """Reading it would read memory that is not the table's, or crash."""
    (folder,) = strangers.glob("cache/table-*")
    with pa.memory_map(str(folder / "table.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    n, kind = table.num_rows, table.schema.field("text").type
    width = np.int64 if pa.types.is_large_string(kind) else np.int32
    offsets = np.zeros(n + 1, width)
    offsets[n // 2], offsets[-1] = 2**30, 100  # only a look at all of them finds it
    bad = pa.Array.from_buffers(kind, n, [None, pa.py_buffer(offsets), pa.py_buffer(b"x" * 100)])
    batch = pa.RecordBatch.from_arrays([bad, table.column("number").combine_chunks()], schema=table.schema)
    with pa.ipc.new_file(folder / "table.arrow", batch.schema) as out:
        out.write_batch(batch)
    forge(folder, "table.arrow")
    with pytest.raises(BelaError):
        open_campaign(strangers, read_only=True)


def test_features_that_are_objects_are_refused(strangers: Path) -> None:
    """Nothing is unpickled: a pickle is a program."""
    for folder in strangers.glob("cache/features-*"):
        for file in folder.glob("*.npy"):
            np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
            forge(folder, file.name)
    with pytest.raises((BelaError, ValueError)), open_campaign(strangers, read_only=True) as stored:
        stored.campaign.source.take(np.arange(3))


def test_a_header_that_leads_elsewhere_is_not_followed(strangers: Path, mine: Path) -> None:
    """Its names of files are compared, and nothing is written by them."""
    for folder in strangers.glob("cache/*-*"):
        header = read_checked(folder / "header.json")
        assert header is not None
        write_checked(folder / "header.json", {**header, "files": {"../../../../mine/precious": [8, 0]}})
    with open_campaign(strangers, read_only=True) as stored:
        assert stored.campaign.n_asked == 2
    assert (mine / "precious").read_text() == "precious"
