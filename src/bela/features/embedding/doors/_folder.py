"""A folder with a model: weights as ONNX or safetensors, and what belongs to them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bela.errors import ParameterError
from bela.features.embedding import _onnx as onnx
from bela.features.embedding._doors import EMBEDDINGS
from bela.features.embedding._weights import check_safe, digest_folder, is_installed, read_json
from bela.protocols import Embedder

MODELS = "BELA_MODELS"  # names a folder with folders of models, as BELA_DATA does for datasets
_DESCRIBED = ("config.json", "modules.json")  # one of which is in the folder of a model with safetensors


class FolderDoor:
    """Folders, by their paths."""

    kinds = ("text", "image")
    is_safe = True

    def found(self, kind: str) -> Sequence[str]:
        """Return the folders in $BELA_MODELS whose model could be used."""
        place, usable = Path(os.environ.get(MODELS) or os.devnull), list[str]()
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            try:
                if folder.is_dir() and kind in _read_by(folder)[1]:
                    usable.append(str(folder))
            except ParameterError:  # nothing that could be used
                continue
        return usable

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of the files."""
        folder = Path(model)
        if not folder.is_dir():
            raise ParameterError(f"there is no folder {model}: name one that has a model in it")
        _, kinds = _read_by(folder)
        if kind not in kinds:
            raise ParameterError(f"the model in {model} reads {' and '.join(kinds)}, not {kind}")
        return digest_folder(folder)

    def load(self, model: str, kind: str) -> Embedder:
        """Load it by whichever package reads its weights."""
        folder = Path(model)
        reader, _ = _read_by(folder)
        file = onnx.find_onnx(folder) if reader == "onnx" else None
        if file is not None:
            return onnx.TextModel(folder, file) if kind == "text" else onnx.ImageModel(folder, file)
        return EMBEDDINGS[reader].load(model, kind)


def _read_by(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Return what reads the weights of a folder, "onnx" or the name of a door, and which kinds of columns it is for."""
    check_safe(folder)
    file = onnx.find_onnx(folder)
    has_tensors = any(folder.rglob("*.safetensors"))
    is_timm = "architecture" in read_json(folder / "config.json")
    tensors = "timm" if is_timm else "sentence-transformers"
    kinds = ("image",) if is_timm else ("text", "image") if _has_clip(folder) else ("text",)
    if file is not None and (is_installed("onnxruntime") or not has_tensors):
        kind = onnx.onnx_kind(file)
        if kind == "text":
            onnx.check_tokenizer(folder)
        return "onnx", (kind,)
    if has_tensors and not any((folder / name).is_file() for name in _DESCRIBED):
        raise ParameterError(f"{folder} has weights without a config.json beside them: name the folder that has both")
    if has_tensors and is_installed(tensors.replace("-", "_")):
        return tensors, kinds
    if has_tensors:
        raise ParameterError(f"the safetensors in {folder} need the package {tensors}: pip install {tensors}")
    raise ParameterError(f"{folder} has no model that can be read: weights are safetensors or ONNX files")


def _has_clip(folder: Path) -> bool:
    """Whether a model of sentence-transformers reads images too."""
    path = folder / "modules.json"
    return path.is_file() and "CLIPModel" in path.read_text(encoding="utf-8", errors="replace")


EMBEDDINGS.add("folder", FolderDoor())
