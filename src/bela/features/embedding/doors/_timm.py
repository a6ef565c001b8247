"""Image models of timm, with weights as safetensors."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from bela._functions import said
from bela.errors import EmbeddingError, ParameterError
from bela.features.embedding import _weights as weights
from bela.features.embedding._doors import EMBEDDINGS
from bela.records import AnyArray

PACKAGE = "timm"
BATCH = 32
SMALL = ("mobilenetv3_large_100.ra_in1k", "efficientnet_b0.ra_in1k", "resnet18.a1_in1k", "resnet50.a1_in1k")
"""What is used without being asked for if its weights are here, the best first."""


class _TimmModel:
    batch = BATCH

    def __init__(self, folder: Path) -> None:
        weights.check_safe(folder)
        self._torch, timm = importlib.import_module("torch"), importlib.import_module(PACKAGE)
        tensors = importlib.import_module("safetensors.torch")
        config = weights.read_json(folder / "config.json")
        files = sorted(folder.glob("*.safetensors"))
        if len(files) != 1:
            raise ParameterError(f"{folder} has {len(files)} safetensors files: a model of timm has one")
        try:
            model = timm.create_model(config["architecture"], pretrained=False, num_classes=0)
            state = tensors.load_file(str(files[0]))
            missing, _ = model.load_state_dict(state, strict=False)  # what is left over belongs to the classifier
        except Exception as error:
            raise EmbeddingError(f"the model in {folder} cannot be loaded: {said(error)}") from None
        if missing:
            raise ParameterError(f"{files[0]} lacks weights of {config['architecture']}, such as {missing[0]}")
        about = {**model.pretrained_cfg, **config.get("pretrained_cfg", {})}
        self._model = model.eval()
        data = importlib.import_module("timm.data")
        self._transform = data.create_transform(**data.resolve_data_config(pretrained_cfg=about), is_training=False)

    def __call__(self, items: Sequence[Image]) -> AnyArray:
        with self._torch.inference_mode():
            pixels = self._torch.stack([self._transform(image) for image in items])
            return np.asarray(self._model(pixels).float().cpu().numpy())


class TimmDoor:
    """Models by the names that timm knows them by, with weights from its place on the Hugging Face hub."""

    kinds = ("image",)
    is_safe = True

    def found(self, kind: str) -> Sequence[str]:
        """Return the models that are in the cache of the hub."""
        if kind != "image" or not weights.is_installed(PACKAGE, "torch", "safetensors"):
            return ()
        return [name for name in SMALL if weights.find_snapshot(f"timm/{name}") is not None]

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of the files of a model, which are fetched if they are not here."""
        if kind != "image":
            raise ParameterError(f"timm's models read images, not {kind}s: {model!r} needs another door")
        weights.need(f"the model {model!r}", PACKAGE, install="timm")
        if "/" not in model and not importlib.import_module(PACKAGE).is_model(model.partition(".")[0]):
            raise ParameterError(f"timm has no model {model!r}: timm.list_models() has those that there are")
        folder = weights.fetch_snapshot(_repository(model), tell, weights="model.safetensors")
        weights.check_safe(folder)
        return weights.digest_folder(folder)

    def load(self, model: str, kind: str) -> _TimmModel:
        """Load a model from the cache of the hub, or from a folder with its config.json."""
        folder = Path(model) if Path(model).is_dir() else weights.find_snapshot(_repository(model))
        if folder is None:
            raise EmbeddingError(f"the model {model!r} is gone from this machine: name it again with --embed")
        return _TimmModel(folder)


def _repository(model: str) -> str:
    """Return where a model is on the hub; a name without the mark of its training has one by default."""
    if "/" in model:
        return model
    default: Any = None
    if "." not in model and weights.is_installed(PACKAGE):
        default = importlib.import_module(PACKAGE).get_pretrained_cfg(model, allow_unregistered=True)
    return f"timm/{model}.{default.tag}" if default is not None and default.tag else f"timm/{model}"


EMBEDDINGS.add("timm", TimmDoor())
