"""Where data are besides files and folders of this machine: at an address, or read by the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

from bela.data._datasets import DATASETS

_by_workers: ContextVar[bool] = ContextVar("by_workers", default=False)


def is_address(data: object) -> bool:
    """Whether data are named by an address that fsspec knows what to do with.

    >>> is_address("s3://bucket/pets"), is_address("pets.parquet")
    (True, False)
    """
    return isinstance(data, str) and "://" in data


def is_dataset(data: object) -> bool:
    """Whether data are named as a dataset that brings its own labels, and are no file or folder of that name."""
    return isinstance(data, (str, os.PathLike)) and os.fspath(data) in DATASETS and not os.path.exists(data)


def is_elsewhere(data: str) -> bool:
    """Whether what data are named by, in the settings of a campaign, is no path: a dataset or an address."""
    return data in DATASETS or is_address(data)


def name_in_address(address: str) -> str:
    """Return the last name in an address, that of the data.

    >>> name_in_address("s3://bucket/2024/pets/")
    'pets'
    """
    parts = urlsplit(address)
    return parts.path.rstrip("/").rpartition("/")[2] or parts.netloc


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Have files that workers of a Dask cluster can read be read by them: at an address, "local", None for nowhere."""
    if address is None:
        yield
        return
    from bela.data._cluster import connected

    with connected(address):
        token = _by_workers.set(True)
        try:
            yield
        finally:
            _by_workers.reset(token)


def read_by_workers() -> bool:
    """Whether a cluster was chosen to read files."""
    return _by_workers.get()
