"""Features that somebody else computes: a Python function of the user's, or a model for sentences."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bela._functions import load_function, said
from bela.errors import DataError, ParameterError
from bela.features._components import Floats

CALL_ROWS = 512  # records that a function gets at once


def function_digest(name: str) -> str:
    """Return a digest of the code that a function is in, so that features are renewed when it changes."""
    function = load_function(name)
    module = sys.modules.get(getattr(function, "__module__", "") or name.partition(":")[0])
    file = getattr(module, "__file__", None)
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except OSError:
        return ""


def call_function(name: str, function: Callable[..., Any], records: list[Any], start: int) -> Floats:
    """Call a function for the records of a block, and check what it returns.

    Parameters
    ----------
    name
        What the function is called in errors.
    function
        Gets a list of records (or of texts), and returns a row of numbers for each.
    records
        The block.
    start
        The number of its first row.
    """
    blocks = []
    for i in range(0, len(records), CALL_ROWS):
        some = records[i : i + CALL_ROWS]
        try:
            returned = function(some)
        except Exception as error:
            rows = f"rows {start + i} to {start + i + len(some) - 1}"
            raise DataError(f"the features {name!r} failed for {rows}: {said(error)}") from error
        blocks.append(_checked(name, returned, len(some), start + i))
    widths = {block.shape[1] for block in blocks}
    if len(widths) > 1:
        raise DataError(f"the features {name!r} have {min(widths)} numbers for some rows and {max(widths)} for others")
    return np.concatenate(blocks)


def load_sentence_model(name: str) -> Callable[[Sequence[str]], Any]:
    """Load a model of the package sentence-transformers, which turns texts into embeddings."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ParameterError(
            f"the text model {name!r} needs the package sentence-transformers: pip install sentence-transformers"
        )
    package = importlib.import_module("sentence_transformers")
    try:
        model = package.SentenceTransformer(name)
    except Exception as error:
        raise ParameterError(f"the text model {name!r} cannot be loaded: {said(error)}") from None

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)

    return encode


def _checked(name: str, returned: Any, n: int, start: int) -> Floats:
    if hasattr(returned, "toarray"):
        returned = returned.toarray()
    try:
        block = np.asarray(returned, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features {name!r} must be an array of numbers for each row: {error}") from None
    if block.ndim == 1:
        block = block[:, None]
    if block.ndim != 2 or len(block) != n or block.shape[1] == 0:
        raise DataError(
            f"the features {name!r} returned an array of shape {block.shape} for {n} records: return one row for each"
        )
    bad = ~np.isfinite(block).all(axis=1)
    if bad.any():
        raise DataError(
            f"the features {name!r} are NaN or infinite for {int(bad.sum())} row(s), the first is row "
            f"{start + int(bad.argmax())}: return finite numbers"
        )
    return block
