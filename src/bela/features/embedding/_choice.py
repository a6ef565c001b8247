"""Which model reads which column: as somebody says, or what is installed and has its weights on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bela.errors import ParameterError
from bela.features.embedding._doors import ADDRESS, EMBEDDINGS, FUNCTION, Embedding
from bela.features.embedding._embed import address_of, door_of
from bela.features.embedding._weights import is_installed

Embed = str | Sequence[str] | Mapping[str, str] | None
"""What is said about models: "auto", "none", MODEL or MODEL@door, for one column COLUMN=MODEL, several of these in a
list, or such by column in a mapping; None for "auto"."""

AUTO, NONE = "auto", "none"
EMBEDDED = ("text", "image")
"""The kinds of columns that models read."""
RUNNERS = ("fastembed", "sentence_transformers", "timm")
_INSTALL = 'pip install "bela[embed]"'
_SAVES = "on short texts a sentence model often saves a third to half of the answers"
_FETCH = "all-MiniLM-L6-v2"  # what is suggested

Tell = Callable[[str], object]


def choose_embeddings(
    columns: Mapping[str, str], embed: Embed, *, ready: str | None = None, tell: Tell | None = None
) -> tuple[dict[str, Embedding], tuple[str, ...]]:
    """Return the model of each column that one reads, and what should be said about it.

    `columns` has the kinds of all; `ready` is one whose images are an array already, which a model reads only if
    somebody says so. `tell` is called before anything is fetched.
    """
    tell = tell or logging.getLogger("bela").warning
    default, named = _said(columns, embed)
    chosen, notices = dict[str, Embedding](), dict[str, None]()
    wanted = {name: kind for name, kind in columns.items() if kind in EMBEDDED}
    everywhere = _by_kind(default, list(dict.fromkeys(wanted.values())), tell) if default not in (AUTO, NONE) else {}
    for name, kind in wanted.items():
        spec = named.get(name, AUTO if default in (AUTO, None) else default)
        if name not in named and kind in everywhere:
            chosen[name] = everywhere[kind]
        elif spec == NONE:
            continue
        elif name in named and spec != AUTO:
            chosen[name] = _resolve(spec, kind, tell)
        elif name != ready and (found := _found(kind)) is not None:
            chosen[name] = found
        elif name != ready and (advice := _advice(kind)):
            notices[advice] = None
    return chosen, tuple(notices)


def agrees(embed: Embed, columns: Mapping[str, str], there: Mapping[str, Embedding]) -> str | None:
    """Return what is said about models that contradicts those that are there, None if nothing does."""
    default, named = _said(columns, embed)
    if default not in (AUTO, None):
        others = [found for name, found in there.items() if name not in named]
        same = not others if default == NONE else any(_means(default, found) for found in others)
        if not same:
            return default
    for name, spec in named.items():
        found = there.get(name)
        same = found is None if spec == NONE else found is not None and _means(spec, found)
        if spec != AUTO and not same:
            return f"{name}={spec}"
    return None


def _means(spec: str, found: Embedding) -> bool:
    """Whether what is said names a model that was chosen."""
    model, door = split_door(spec)
    names = {found.model, found.title, found.model.rpartition("/")[2]}
    return (model in names or os.path.abspath(model) == found.model) and door in (None, found.door)


def split_door(spec: str) -> tuple[str, str | None]:
    """Return the model and the door of MODEL[@door]; a door is known, or an address.

    >>> split_door("nomic-embed-text@http://localhost:11434/v1"), split_door("all-MiniLM-L6-v2")
    (('nomic-embed-text', 'http://localhost:11434/v1'), ('all-MiniLM-L6-v2', None))
    """
    model, mark, door = spec.partition("@") if any(f"@{start}" in spec for start in ADDRESS) else spec.rpartition("@")
    if not mark:
        return spec, None
    if not model or not (door.startswith(ADDRESS) or door in EMBEDDINGS):
        doors = ", ".join(EMBEDDINGS)
        raise ParameterError(
            f"{spec!r} names no door that there is: write MODEL@door with one of {doors}, or an address"
        )
    return model, door


def _said(columns: Mapping[str, str], embed: Embed) -> tuple[str | None, dict[str, str]]:
    """Return what is said about all columns, and what about single ones."""
    if isinstance(embed, Mapping):
        default, named = None, dict(embed)
    else:
        default, named = None, dict[str, str]()
        if not isinstance(embed, str | Sequence | None):
            what = "write a model's name, a list of them, or columns with their models"
            raise ParameterError(f"embed is not a {type(embed).__name__}: {what}")
        for spec in [embed] if isinstance(embed, str) else embed or ():
            column = _column(spec, columns)
            if column is None and default is not None:
                raise ParameterError(f"{default} and {spec} are both said about all columns: write COLUMN=MODEL")
            if column is None:
                default = spec
            elif column in named:
                raise ParameterError(f"the column {column!r} is to be read by two models: choose one")
            else:
                named[column] = spec[len(column) + 1 :]
    for name, spec in named.items():
        if columns.get(name) not in EMBEDDED:
            kind = f"is of kind {columns[name]}" if name in columns else "is not there"
            raise ParameterError(f"no model can read the column {name!r}, which {kind}: texts and images can be read")
        if not isinstance(spec, str) or not spec:
            raise ParameterError(f"no model is named for the column {name!r}: write COLUMN=MODEL")
    return default, named


def _column(spec: str, columns: Mapping[str, str]) -> str | None:
    """Return the column of COLUMN=MODEL, None where there is none; both may have = in their names."""
    if "=" not in spec or Path(spec).exists():
        return None
    marks = [i for i, letter in enumerate(spec) if letter == "="]
    return next((spec[:i] for i in marks if spec[:i] in columns), spec[: marks[0]])


def _by_kind(spec: str | None, kinds: list[str], tell: Tell) -> dict[str, Embedding]:
    """Return the model that is meant for all columns, for each kind of them that it reads."""
    if spec is None:
        return {}
    if not kinds:
        raise ParameterError(f"there is no column of texts or images for the model {spec}: leave it out")
    found, trouble = dict[str, Embedding](), list[ParameterError]()
    for kind in kinds:
        try:
            found[kind] = _resolve(spec, kind, tell)
        except ParameterError as error:
            trouble.append(error)
    if not found:
        raise trouble[0]
    return found


def _resolve(spec: str, kind: str, tell: Tell) -> Embedding:
    """Find a model that is named, fetch it if need be, and take its digest."""
    model, door = split_door(spec)
    if door in (None, "folder") and os.path.isfile(model):
        what = "name the folder that it is in, with what belongs to it, such as tokenizer.json or config.json"
        raise ParameterError(f"--embed {model} is a file: {what}")
    if door is None and os.path.isdir(model):
        door = "folder"
    if door is None and FUNCTION.match(model):
        door = "function"
    if door == "folder":
        model = os.path.abspath(model)
    if door is not None:
        return _with_digest(Embedding(model=model, door=door), kind, tell)
    for name in _safe_doors():
        for here in EMBEDDINGS[name].found(kind):
            if _means(model, Embedding(model=here, door=name)):
                return _with_digest(Embedding(model=here, door=name), kind, tell)
    if not any(map(is_installed, RUNNERS)):
        raise ParameterError(f"the model {model!r} needs a package that runs it: {_INSTALL}, or name a folder")
    trouble = list[str]()
    for name in _safe_doors():
        if name != "folder" and kind in EMBEDDINGS[name].kinds:
            try:
                return _with_digest(Embedding(model=model, door=name), kind, tell)
            except ParameterError as error:
                trouble.append(str(error))
    raise ParameterError("; ".join(trouble) or f"no door reads {kind}s: name one, as {model}@door")


def _with_digest(found: Embedding, kind: str, tell: Tell) -> Embedding:
    digest = door_of(found).digest(address_of(found), kind, tell)
    return Embedding(model=found.model, door=found.door, digest=digest)


def _safe_doors() -> list[str]:
    """The doors that need nobody's leave.

    Folders are first: whoever put one there meant it to be used. The last is the one that takes any name.
    """
    order = {"folder": 0, "sentence-transformers": 2}
    return sorted((name for name in EMBEDDINGS if EMBEDDINGS[name].is_safe), key=lambda name: order.get(name, 1))


def _found(kind: str) -> Embedding | None:
    """Return the best model for a kind of column that could be used at once."""
    for door in _safe_doors():
        for model in EMBEDDINGS[door].found(kind)[:1]:
            return _with_digest(Embedding(model=model, door=door), kind, lambda _: None)
    return None


def _advice(kind: str) -> str:
    """Say what would be worth while where no model reads a column. What is saved was measured on texts only."""
    if not any(map(is_installed, RUNNERS)):
        return f"no model reads the {kind}s: {_INSTALL}" + (f"; {_SAVES}" if kind == "text" else "")
    if kind == "text":
        return f"no sentence model is on this machine: --embed {_FETCH} fetches one (some 90 MB); {_SAVES}"
    return ""
