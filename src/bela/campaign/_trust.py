"""What a campaign would run when it is opened needs a yes of whoever opens it, as campaigns may come from anybody."""

import os
from collections.abc import Iterator
from pathlib import Path

from bela._functions import code_files
from bela.errors import ParameterError
from bela.features import FeaturePlan
from bela.storage import allow, digest_of, is_allowed


def check_allowed(path: Path, plan: FeaturePlan, *, allow_code: bool) -> None:
    """Refuse to open the campaign at a path if it wants to run what nobody has allowed; or take that as allowed."""
    for digest, what, advice in _wanted(plan):
        if allow_code:
            allow(digest, what)
        elif not is_allowed(digest):
            raise ParameterError(
                f"opening {path} would run {what}, which was not allowed or has changed since: {advice}, and allow it "
                "with --allow-code (allow_code=True in Python) if you trust it"
            )


def _wanted(plan: FeaturePlan) -> Iterator[tuple[str, str, str]]:
    """Yield what would run: its digest, what it is, and what to do about it."""
    if plan.function is not None:
        files = code_files(plan.function)
        # With their places: a module may import what lies beside it.
        content = [part for file in files for part in (os.fspath(file), _read(file))]
        where = f" of {files[-1]}" if files else ""
        yield digest_of("code", plan.function, *content), f"the function {plan.function}{where}", "look into that file"
    if plan.text_model is not None:
        place = os.path.realpath(plan.text_model) if os.path.exists(plan.text_model) else ""
        digest = digest_of("text model", plan.text_model, place)
        yield digest, f"the text model {plan.text_model}", "find out whose it is"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}") from None
