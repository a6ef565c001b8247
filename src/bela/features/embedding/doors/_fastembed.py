"""Models of fastembed: ONNX, light, for texts and images."""

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bela._functions import said
from bela.errors import EmbeddingError, ParameterError
from bela.features.embedding._doors import EMBEDDINGS
from bela.features.embedding._weights import digest_files, is_installed, model_files, n_cores, need
from bela.records import AnyArray

PACKAGE = "fastembed"
BATCH = {"text": 128, "image": 32}
CLASSES = {"text": "TextEmbedding", "image": "ImageEmbedding"}
SMALL = {
    "text": ("sentence-transformers/all-MiniLM-L6-v2", "BAAI/bge-small-en-v1.5", "BAAI/bge-base-en-v1.5"),
    "image": ("Qdrant/clip-ViT-B-32-vision", "Qdrant/resnet50-onnx"),
}
"""What is used without being asked for if its weights are here, the best first."""


class _FastModel:
    def __init__(self, kind: str, model: Any) -> None:
        self.batch, self._model = BATCH[kind], model

    def __call__(self, items: Sequence[Any]) -> AnyArray:
        return np.stack([np.asarray(vector) for vector in self._model.embed(list(items), batch_size=len(items))])


class FastembedDoor:
    """Models by the names that fastembed knows them by; those without an owner are looked for by the rest."""

    kinds = ("text", "image")
    is_safe = True

    def found(self, kind: str) -> Sequence[str]:
        """Return the models whose weights are in fastembed's cache."""
        if not is_installed(PACKAGE) or not _cache().is_dir():
            return ()
        return [name for name in SMALL.get(kind, ()) if _open(kind, name, here=True) is not None]

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of the files of a model, which are fetched if they are not here."""
        need(f"the model {model!r}", PACKAGE, install='"bela[embed]"')
        about = _about(kind, model)
        found = _open(kind, about["model"], here=True)
        if found is None:
            tell(f"fetching {about['model']} for fastembed ({1000 * float(about.get('size_in_GB') or 0):,.0f} MB)")
            found = _open(kind, about["model"], here=False)
        folder = Path(getattr(getattr(found, "model", found), "_model_dir", "") or "")
        if not folder.is_dir():
            raise EmbeddingError(f"fastembed does not say where it keeps {model!r}: use another version, or door")
        return digest_files(model_files(folder), folder, about["model"])

    def load(self, model: str, kind: str) -> _FastModel:
        """Load a model from fastembed's cache."""
        found = _open(kind, _about(kind, model)["model"], here=True)
        if found is None:
            raise EmbeddingError(f"the model {model!r} is gone from {_cache()}: name it again with --embed")
        return _FastModel(kind, found)


def _cache() -> Path:
    """Return where fastembed keeps weights."""
    return Path(os.environ.get("FASTEMBED_CACHE_PATH") or Path(tempfile.gettempdir()) / "fastembed_cache")


def _about(kind: str, model: str) -> dict[str, Any]:
    """Return what fastembed says of a model."""
    known = getattr(importlib.import_module(PACKAGE), CLASSES[kind]).list_supported_models()
    for about in known:
        if model.lower() in (about["model"].lower(), about["model"].rpartition("/")[2].lower()):
            return dict(about)
    some = ", ".join(about["model"] for about in known[:5])
    raise ParameterError(f"fastembed has no model {model!r} for {kind}s: it has {some} and others")


def _open(kind: str, model: str, *, here: bool) -> Any:
    """Load a model; None if it is to be `here` and is not."""
    kind_of = getattr(importlib.import_module(PACKAGE), CLASSES[kind])
    with suppress(ImportError):  # it writes each model that is not here on the terminal as an error
        importlib.import_module("loguru").logger.disable(PACKAGE)
    try:
        return kind_of(model, cache_dir=str(_cache()), local_files_only=here, threads=n_cores())
    except Exception as error:
        if here:
            return None
        raise EmbeddingError(
            f"the model {model!r} is not on this machine and cannot be fetched ({said(error)}): connect to the "
            "network, name a folder that has the model (--embed FOLDER), or go on without: --embed none"
        ) from None


EMBEDDINGS.add("fastembed", FastembedDoor())
