"""What a campaign would run when it is opened needs a yes of whoever opens it, as campaigns may come from anybody."""

import os
from collections.abc import Iterator
from pathlib import Path

from bela._functions import code_files
from bela.data import is_address
from bela.errors import ParameterError
from bela.features import FeaturePlan
from bela.features.embedding import door_of
from bela.storage import allow, digest_of, is_allowed


def check_allowed(path: Path, data: str, plan: FeaturePlan, *, allow_code: bool) -> bool:
    """Refuse to open the campaign at a path if it wants to run what nobody has allowed; or take that as allowed.

    Say whether functions and addresses may read texts and images too: they are needed where rows are new only.
    """
    if is_address(data):
        digest = digest_of("address", data)
        if allow_code:
            allow(digest, f"the data at {data}")
        elif not is_allowed(digest):
            raise ParameterError(
                f"opening {path} would read from {data}, which was not allowed: allow it with --allow-code "
                "(allow_code=True in Python) if you know that place"
            )
    for digest, what in _features(plan):
        if allow_code:
            allow(digest, what)
        elif not is_allowed(digest):
            raise ParameterError(
                f"opening {path} would run {what}, which was not allowed or has changed since: look into that file, "
                "and allow it with --allow-code (allow_code=True in Python) if you trust it"
            )
    readers = list(_readers(plan))
    if allow_code:
        for digest, what in readers:
            allow(digest, what)
    return all(is_allowed(digest) for digest, _ in readers)


def _features(plan: FeaturePlan) -> Iterator[tuple[str, str]]:
    """Yield what would run to compute the features: its digest, and what it is."""
    if plan.function is not None:
        files = code_files(plan.function)
        where = f" of {files[-1]}" if files else ""
        yield digest_of("code", plan.function, *_contents(files)), f"the function {plan.function}{where}"


def _readers(plan: FeaturePlan) -> Iterator[tuple[str, str]]:
    """Yield the models that run code of somebody's own, or that rows are sent to."""
    for model in plan.embed.values():
        if not door_of(model).is_safe:
            files = code_files(model.model) if ":" in model.model else []
            yield digest_of("model", model.door, model.model, *_contents(files)), f"the model {model.title}"


def _contents(files: list[Path]) -> list[str | bytes]:
    # With their places: a module may import what lies beside it.
    return [part for file in files for part in (os.fspath(file), _read(file))]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}") from None
