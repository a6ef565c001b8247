"""Functions of the user's own, named as `module:function`, and what their errors say."""

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path

from bela.errors import ParameterError

_LONGEST = 300  # characters of somebody else's error message


def load_function(spec: str) -> Callable[..., object]:
    """Import a function that is named as `module:function`, from the current folder or wherever Python finds modules.

    >>> load_function("os.path:basename")("a/b")
    'b'
    """
    name, colon, path = spec.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in (*name.split("."), *parts)):
        raise ParameterError(f"{spec!r} names no function: write module:function, such as labels:answer for labels.py")
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        with importing_from_here():
            found = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):  # rather than a module that this one imports
            where = f"neither in {os.getcwd()} nor installed"
            raise ParameterError(f"there is no module {missing!r} for {spec!r}, {where}") from None
        raise ParameterError(f"the module {name!r} cannot be imported: {said(error)}") from error
    for part in parts:
        if not hasattr(found, part):
            raise ParameterError(f"the module {name!r} has no function {path!r}")
        found = getattr(found, part)
    if not callable(found):
        raise ParameterError(f"{spec!r} is no function but a {type(found).__name__}")
    return found


def code_files(spec: str) -> list[Path]:
    """Return the files that `load_function` would run, found without running them: packages first, then the module."""
    importlib.invalidate_caches()
    names, found = spec.partition(":")[0].split("."), list[Path]()
    places: list[str] | None = [os.getcwd(), *sys.path]
    for i in range(1, len(names) + 1):  # step by step: `importlib.util.find_spec` would import the packages
        there = PathFinder.find_spec(".".join(names[:i]), places) if places else None
        if there is None:
            break
        if there.has_location and there.origin is not None:
            found.append(Path(there.origin).absolute())
        places = None if there.submodule_search_locations is None else list(there.submodule_search_locations)
    return found


def code_digest(spec: str) -> str:
    """Return a digest of the module that a function is in, so that what it computes is renewed when that changes."""
    function = load_function(spec)
    files = code_files(getattr(function, "__module__", "") or spec)
    try:
        return hashlib.sha256(files[-1].read_bytes()).hexdigest() if files else ""
    except OSError:
        return ""


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Let modules of the current folder be found, as when Python is started in it."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def said(error: BaseException) -> str:
    """Return what an error says and where it arose, on one line."""
    text, where = " ".join(str(error).split()), ""
    ours = ("<frozen", os.path.dirname(__file__) + os.sep)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(ours)]
    if isinstance(error, SyntaxError):
        text = f"{error.msg}, {os.path.basename(error.filename or 'its file')} line {error.lineno}"
    elif frames and os.path.basename(os.path.dirname(frames[-1].filename)) != "importlib":
        where = f" (line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)})"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"
