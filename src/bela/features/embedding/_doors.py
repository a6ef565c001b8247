"""The doors by name, which model reads a column, and how both are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bela._registry import Registry
from bela.errors import ParameterError
from bela.protocols import EmbeddingDoor

EMBEDDINGS: Registry[EmbeddingDoor] = Registry(
    "embedding door", "bela.embeddings", package="bela.features.embedding.doors"
)
"""The doors to embedding models by name."""

FUNCTION = re.compile(r"^[^\W\d][\w.]*:[^\W\d][\w.]*$")  # as in `load_function`
ADDRESS = ("http://", "https://")
_DULL = frozenset(["model", "onnx", "weights"])  # folders whose name says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Which model turns a column into vectors, through which door, and a digest of what the vectors depend on.

    The digest is "" for one that was recorded before there were any.
    """

    model: str
    door: str
    digest: str = ""

    @property
    def title(self) -> str:
        """What the model is called where people read it.

        >>> Embedding(model="sentence-transformers/all-MiniLM-L6-v2", door="sentence-transformers").title
        'all-MiniLM-L6-v2'
        """
        if FUNCTION.match(self.model):
            return self.model
        parts = [part for part in Path(self.model.partition("@")[0]).parts if part.lower() not in _DULL]
        return parts[-1] if parts else self.model

    def to_dict(self) -> dict[str, str]:
        """Return it as plain values."""
        return {"model": self.model, "door": self.door, "digest": self.digest}

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Make one of what `to_dict` returned."""
        names = ("model", "door", "digest")
        if not isinstance(plain, Mapping) or not all(isinstance(plain.get(name), str) for name in names):
            raise ParameterError(f"the embedding of a column has {', '.join(names)}, each a text")
        return cls(**{name: plain[name] for name in names})
