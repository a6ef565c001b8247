"""Weights of models on this machine: which files are read, and where they are fetched from if somebody wants that.

Nothing is read but safetensors and ONNX: pickles (.bin, .pt, .pth, .pkl) can run any code when they are opened.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bela._functions import said
from bela.errors import EmbeddingError, ParameterError

READ = ("*.safetensors", "*.onnx", "*.onnx_data", "*.json", "*.txt", "*.model")
"""The files of a model that are looked at, and fetched: no pickles, no code."""
PICKLES = frozenset([".bin", ".pt", ".pth", ".pkl", ".ckpt"])
_BLOCK = 1 << 22
_OFFLINE = "connect to the network, name a folder that has the model (--embed FOLDER), or go on without: --embed none"


def is_installed(*packages: str) -> bool:
    """Whether packages can be imported, without importing them."""
    return all(importlib.util.find_spec(package) is not None for package in packages)


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def need(what: str, *packages: str, install: str) -> None:
    """Refuse what needs packages that are not installed."""
    for package in packages:
        if not is_installed(package):
            raise ParameterError(f"{what} needs the package {package}: pip install {install}")


def digest_files(files: Iterator[Path], root: Path, *others: str) -> str:
    """Return a digest of the content of files and of what else matters."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root).as_posix()} {file.stat().st_size}\n".encode())
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                digest.update(block)
    digest.update("\n".join(others).encode())
    return digest.hexdigest()


def model_files(folder: Path) -> Iterator[Path]:
    """Yield all files of a model that matter, those in folders of the model included."""
    yield from (file for pattern in READ for file in folder.rglob(pattern) if file.is_file())


def digest_folder(folder: Path) -> str:
    """Return a digest of a model that is a folder."""
    return digest_files(model_files(folder), folder)


def read_json(path: Path) -> dict[str, Any]:
    """Return what a configuration says, nothing where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ParameterError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def check_safe(folder: Path) -> None:
    """Refuse a model that is made of pickles, or that wants code run which is not in an installed package."""
    for place in {file.parent for file in folder.rglob("*") if file.suffix.lower() in PICKLES}:
        if not any(place.glob("*.safetensors")) and not any(place.glob("*.onnx")):
            pickle = next(file.name for file in place.iterdir() if file.suffix.lower() in PICKLES)
            raise ParameterError(
                f"{place / pickle} is a pickle, which could run any code: only weights as safetensors or ONNX are read"
            )
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        modules = []
    except (OSError, ValueError) as error:
        raise ParameterError(f"{folder / 'modules.json'} cannot be read: {error}") from None
    for module in modules if isinstance(modules, list) else ():
        kind = str(module.get("type", "")) if isinstance(module, dict) else ""
        if not kind.startswith("sentence_transformers."):
            raise ParameterError(f"{folder} wants code run that is not of sentence-transformers ({kind}): not done")
    for name in ("config.json", "tokenizer_config.json"):
        if "auto_map" in read_json(folder / name):
            raise ParameterError(f"{folder} wants code of its own run (auto_map in {name}): not done")


def find_snapshot(repository: str) -> Path | None:
    """Return the folder of a model that the cache of the Hugging Face hub has, with weights that are read."""
    if not is_installed("huggingface_hub"):
        return None
    hub = importlib.import_module("huggingface_hub")
    try:
        folder = Path(hub.snapshot_download(repository, local_files_only=True, allow_patterns=list(READ)))
    except Exception:  # not here, or no name of a repository
        return None
    return folder if any(folder.rglob("*.safetensors")) or any(folder.rglob("*.onnx")) else None


def fetch_snapshot(repository: str, tell: Callable[[str], object], *, weights: str = "*.safetensors") -> Path:
    """Return the folder of a model, fetched from the Hugging Face hub if it is not here; that is said first."""
    found = find_snapshot(repository)
    if found is not None:
        return found
    if not is_installed("huggingface_hub"):
        raise ParameterError(
            f"the model {repository!r} is not here, and fetching it needs: pip install huggingface_hub"
        )
    hub = importlib.import_module("huggingface_hub")
    wanted = [pattern for pattern in READ if pattern not in ("*.safetensors", "*.onnx", "*.onnx_data")] + [weights]
    try:
        files = hub.HfApi().model_info(repository, files_metadata=True).siblings
        sizes = [file.size or 0 for file in files if any(Path(file.rfilename).match(pattern) for pattern in wanted)]
        if not any(Path(file.rfilename).match(weights) for file in files):
            raise ParameterError(f"the model {repository!r} has no {weights} weights, and no others are read")
        tell(f"fetching {repository} from the Hugging Face hub ({sum(sizes) / 1e6:,.0f} MB)")
        return Path(hub.snapshot_download(repository, allow_patterns=wanted))
    except ParameterError:
        raise
    except Exception as error:  # whatever the network or the hub comes up with
        raise EmbeddingError(
            f"the model {repository!r} is not on this machine and cannot be fetched ({said(error)}): {_OFFLINE}"
        ) from None
