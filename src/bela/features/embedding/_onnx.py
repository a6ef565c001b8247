"""Models as ONNX files, run by onnxruntime: sentence models with a tokenizer beside them, and image models."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image, Resampling

from bela.errors import ParameterError
from bela.features._scaling import Floats
from bela.features.embedding._weights import n_cores, need, read_json
from bela.records import AnyArray

INSTALL = '"bela[embed]"'
TEXT_BATCH, IMAGE_BATCH = 128, 32
MOST_TOKENS = 512
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, where a model does not say
_POOLINGS = {"pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean"}


def find_onnx(folder: Path) -> Path | None:
    """Return the file of a model that is ONNX: model.onnx, or the only one that there is."""
    for usual in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if usual.is_file():
            return usual
    some = sorted(folder.rglob("*.onnx"))
    if len(some) > 1:
        names = ", ".join(file.relative_to(folder).as_posix() for file in some[:5])
        raise ParameterError(f"{folder} has several ONNX files ({names}): call the one that is meant model.onnx")
    return some[0] if some else None


def check_tokenizer(folder: Path) -> Path:
    """Return the file that says how texts become tokens, which no sentence model goes without."""
    if not (path := folder / "tokenizer.json").is_file():
        raise ParameterError(f"{folder} has no tokenizer.json: put the one that belongs to the model there")
    return path


class _Session:
    """An ONNX file that is loaded, on all cores; operators of the user's own are never loaded."""

    def __init__(self, file: Path) -> None:
        need(f"the ONNX model {file}", "onnxruntime", install=INSTALL)
        runtime = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = n_cores()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other programs want to work too
        options.log_severity_level = 3  # errors
        try:
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise ParameterError(f"{file} cannot be loaded as an ONNX model: {reason}") from None
        self.inputs: dict[str, Any] = {entry.name: entry for entry in self._session.get_inputs()}
        self._outputs = [entry.name for entry in self._session.get_outputs()]

    @property
    def kind(self) -> str:
        """What it reads: images come as four dimensions of floats."""
        shapes = [entry.shape for entry in self.inputs.values() if "float" in entry.type]
        return "image" if any(len(shape) == 4 for shape in shapes) else "text"

    def run(self, feed: dict[str, AnyArray], wanted: Sequence[str]) -> AnyArray:
        """Return the first output of those that are wanted, or the first of all."""
        name = next((name for name in wanted if name in self._outputs), self._outputs[0])
        return np.asarray(self._session.run([name], feed)[0])


class TextModel:
    """A sentence model: tokens, the model, and the mean of what it says of them, or as its folder says."""

    batch = TEXT_BATCH

    def __init__(self, folder: Path, file: Path) -> None:
        tokenizer = check_tokenizer(folder)
        need(f"the model {folder}", "tokenizers", install=INSTALL)
        package = importlib.import_module("tokenizers")
        try:
            self._tokenizer = package.Tokenizer.from_file(str(tokenizer))
        except Exception as error:
            raise ParameterError(f"{tokenizer} cannot be read: {error}") from None
        self._tokenizer.enable_truncation(max_length=_longest(folder))
        self._tokenizer.enable_padding(**(self._tokenizer.padding or {}) | {"length": None})
        self._session = _Session(file)
        self._pooling, self._unit = _pooling(folder)

    def __call__(self, items: Sequence[str]) -> Floats:
        """Return a vector for each text."""
        found = self._tokenizer.encode_batch_fast(list(items))
        ids = np.array([one.ids for one in found], np.int64)
        mask = np.array([one.attention_mask for one in found], np.int64)
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: known[name] for name in self._session.inputs if name in known}
        said = self._session.run(feed, ["sentence_embedding", "text_embeds", "last_hidden_state", "token_embeddings"])
        vectors = _pooled(said, mask, self._pooling) if said.ndim == 3 else said
        vectors = np.asarray(vectors, np.float32)
        if self._unit:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return np.asarray(vectors, np.float32)


class ImageModel:
    """An image model: pixels of one size, scaled as its folder says."""

    batch = IMAGE_BATCH

    def __init__(self, folder: Path, file: Path) -> None:
        self._session = _Session(file)
        self._input = next(name for name, entry in self._session.inputs.items() if len(entry.shape) == 4)
        said = read_json(folder / "preprocessor_config.json")
        shape = self._session.inputs[self._input].shape
        crop = said.get("crop_size") or said.get("size") or {}
        side = crop if isinstance(crop, int) else crop.get("height") or crop.get("shortest_edge")
        self._side = int(side or (shape[2] if isinstance(shape[2], int) else 224))
        self._mean = np.array(said.get("image_mean") or MEAN, np.float32)
        self._std = np.array(said.get("image_std") or STD, np.float32)

    def __call__(self, items: Sequence[Image]) -> Floats:
        """Return a vector for each image."""
        pixels = np.stack([self._pixels(image) for image in items])
        said = self._session.run({self._input: pixels}, ["image_embeds", "pooler_output"])
        if said.ndim == 4:
            said = said.mean(axis=(2, 3))
        return np.asarray(said.mean(axis=1) if said.ndim == 3 else said, np.float32)

    def _pixels(self, image: Image) -> Floats:
        """Squash an image to the square that the model wants: a crop could lose what the label is about."""
        small = image.resize((self._side, self._side), Resampling.BICUBIC)
        scaled = (np.asarray(small, np.float32) / 255 - self._mean) / self._std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1), np.float32)


def onnx_kind(file: Path) -> str:
    """Return what an ONNX model reads: "text" or "image"."""
    return _kind_of(file, file.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _kind_of(file: Path, _: int) -> str:
    return _Session(file).kind


def _longest(folder: Path) -> int:
    """Return how many tokens of a text the model reads."""
    said = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    said = said or read_json(folder / "tokenizer_config.json").get("model_max_length")
    positions = read_json(folder / "config.json").get("max_position_embeddings")
    limits = [int(n) for n in (said, positions) if isinstance(n, int | float) and n > 0]
    return min([MOST_TOKENS, *limits])


def _pooling(folder: Path) -> tuple[str, bool]:
    """Return how vectors of tokens become one, and whether that is brought to length 1."""
    said = read_json(folder / "1_Pooling" / "config.json")
    chosen = [pooling for key, pooling in _POOLINGS.items() if said.get(key)]
    if said and not chosen:
        raise ParameterError(
            f"{folder / '1_Pooling'} wants a pooling that is not known: name a sentence-transformers door"
        )
    return (chosen[0] if chosen else "mean"), (folder / "2_Normalize").exists() or not said or _normalises(folder)


def _normalises(folder: Path) -> bool:
    path = folder / "modules.json"
    return path.is_file() and "Normalize" in path.read_text(encoding="utf-8", errors="replace")


def _pooled(tokens: AnyArray, mask: AnyArray, pooling: str) -> AnyArray:
    if pooling == "cls":
        return np.asarray(tokens[:, 0])
    if pooling == "max":
        return np.asarray(np.where(mask[:, :, None] > 0, tokens, -np.inf).max(axis=1))
    weights = mask.astype(np.float32)
    return np.asarray(np.einsum("ntd,nt->nd", tokens, weights) / np.maximum(weights.sum(axis=1), 1e-9)[:, None])
