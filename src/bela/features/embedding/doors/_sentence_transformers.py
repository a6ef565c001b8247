"""Models of sentence-transformers: texts, and images by its CLIP models."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bela._functions import said
from bela.errors import EmbeddingError, ParameterError
from bela.features.embedding._doors import EMBEDDINGS
from bela.features.embedding._weights import (
    check_safe,
    digest_folder,
    fetch_snapshot,
    find_snapshot,
    is_installed,
    need,
)
from bela.records import AnyArray

PACKAGE = "sentence_transformers"
BATCH = 64
SMALL = {
    "text": (
        "all-MiniLM-L6-v2", "all-MiniLM-L12-v2", "BAAI/bge-small-en-v1.5", "paraphrase-multilingual-MiniLM-L12-v2",
        "all-mpnet-base-v2", "BAAI/bge-base-en-v1.5",
    ),
    "image": ("clip-ViT-B-32",),
}  # fmt: skip
"""What is used without being asked for if its weights are here, the best first: good, and quick without a GPU."""


class _SentenceModel:
    batch = BATCH

    def __init__(self, folder: Path) -> None:
        check_safe(folder)
        package = importlib.import_module(PACKAGE)
        importlib.import_module("transformers.utils.logging").disable_progress_bar()  # it would tear ours
        try:
            self._model = package.SentenceTransformer(
                str(folder), trust_remote_code=False, local_files_only=True, model_kwargs={"use_safetensors": True}
            )
        except Exception as error:
            raise EmbeddingError(f"the model in {folder} cannot be loaded: {said(error)}") from None

    def __call__(self, items: Sequence[Any]) -> AnyArray:
        return np.asarray(
            self._model.encode(list(items), batch_size=len(items), convert_to_numpy=True, show_progress_bar=False)
        )


class SentenceTransformersDoor:
    """Models by their names on the Hugging Face hub; those without an owner are of sentence-transformers."""

    kinds = ("text", "image")
    is_safe = True

    def found(self, kind: str) -> Sequence[str]:
        """Return the models that are in the cache of the hub."""
        if not is_installed(PACKAGE):
            return ()
        return [_repository(name) for name in SMALL.get(kind, ()) if find_snapshot(_repository(name)) is not None]

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of the files of a model, which are fetched if they are not here."""
        need(f"the model {model!r}", PACKAGE, install="sentence-transformers")
        folder = fetch_snapshot(_repository(model), tell)
        check_safe(folder)
        if kind == "image" and "CLIPModel" not in _modules(folder):
            raise ParameterError(f"the model {model!r} reads texts, not images")
        return digest_folder(folder)

    def load(self, model: str, kind: str) -> _SentenceModel:
        """Load a model from the cache of the hub, or from a folder."""
        folder = Path(model) if Path(model).is_dir() else find_snapshot(_repository(model))
        if folder is None:
            raise EmbeddingError(f"the model {model!r} is gone from this machine: name it again with --embed")
        return _SentenceModel(folder)


def _repository(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _modules(folder: Path) -> str:
    path = folder / "modules.json"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


EMBEDDINGS.add("sentence-transformers", SentenceTransformersDoor())
