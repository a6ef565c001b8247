"""Vectors that took long to make are kept, whatever happens to whoever makes them."""

import hashlib

import numpy as np
import pytest

from bela.errors import JournalError
from bela.storage import KEY_BYTES, VectorFile


def keys_of(*names: str) -> np.ndarray:
    digests = [hashlib.blake2b(name.encode(), digest_size=KEY_BYTES).digest() for name in names]
    return np.array(digests, f"S{KEY_BYTES}")


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


def test_what_was_appended_is_found(tmp_path):
    """By its key, in any order, by whoever opens the file; what is not there is NaN."""
    first = VectorFile(tmp_path / "v")
    assert (first.find(keys_of("a")) == -1).all()
    X = rows(4)
    first.append(keys_of("a", "b"), X[:2])
    first.append(keys_of("c", "d"), X[2:])
    for file in (VectorFile(tmp_path / "v"), first):
        file.refresh()
        found = file.take(file.find(keys_of("d", "nothing", "a")))
        np.testing.assert_array_equal(found[[0, 2]], X[[3, 0]])
        assert np.isnan(found[1]).all()
        assert file.width == 5


def test_a_key_that_ends_in_zeros_is_a_key(tmp_path):
    """Digests are bytes of any value."""
    file, keys = VectorFile(tmp_path / "v"), np.array([b"a" * 15 + b"\0", b"a" * 14 + b"\0\0"], f"S{KEY_BYTES}")
    file.append(keys, rows(2))
    file.refresh()
    np.testing.assert_array_equal(file.take(file.find(keys)), rows(2))


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_killed_writer_loses_its_last_block_at_most(tmp_path, cut):
    """Wherever the writing stopped, what was appended before is there, and the next writer goes on."""
    file = VectorFile(tmp_path / "v")
    file.append(keys_of("a", "b"), rows(2))
    sizes = {name: (tmp_path / name).stat().st_size for name in ("v.vectors", "v.keys")}
    file.append(keys_of("c"), rows(1, 1))
    for name, size in sizes.items():  # vectors come first: a whole one without its key, or a part of one
        content = (tmp_path / name).read_bytes()
        kept = min(len(content), size + cut - (20 if name == "v.keys" else 0))
        (tmp_path / name).write_bytes(content[: max(kept, size)])
    again = VectorFile(tmp_path / "v")
    np.testing.assert_array_equal(again.take(again.find(keys_of("a", "b"))), rows(2))
    again.append(keys_of("e"), rows(1, 2))
    again.refresh()
    np.testing.assert_array_equal(again.take(again.find(keys_of("b", "e"))), np.concatenate([rows(2)[1:], rows(1, 2)]))


def test_a_damaged_vector_is_not_believed(tmp_path):
    """It is NaN, its neighbours are whole, and one that is appended anew stands in its place."""
    file = VectorFile(tmp_path / "v")
    file.append(keys_of("a", "b", "c"), rows(3))
    content = bytearray((tmp_path / "v.vectors").read_bytes())
    content[25] ^= 1
    (tmp_path / "v.vectors").write_bytes(content)
    file.refresh()
    found = file.take(file.find(keys_of("a", "b", "c")))
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], rows(3)[[0, 2]])
    file.append(keys_of("b"), rows(3)[1:2])
    file.refresh()
    np.testing.assert_array_equal(file.take(file.find(keys_of("a", "b", "c"))), rows(3))


def test_vectors_of_two_lengths_are_refused(tmp_path):
    """They cannot be of one model."""
    file = VectorFile(tmp_path / "v")
    file.append(keys_of("a"), rows(1))
    with pytest.raises(JournalError, match="another length"):
        file.append(keys_of("b"), rows(1)[:, :3])
