"""What the person at this machine has said yes to, such as code that somebody else's campaign wants to run.

A yes is for a digest: what has changed by a byte needs another. They are kept in one file of the user's own, never in a
campaign or beside data, which may come from anybody.
"""

import hashlib
import time
from contextlib import suppress

from bela.records import Json
from bela.storage._atomic import lock_file
from bela.storage._own import config_folder, read_own, write_own

_FILE = "allowed.json"


def digest_of(kind: str, *parts: str | bytes) -> str:
    """Return the digest that a yes is for: of a kind of thing, such as "code" or "address", and what makes it that one.

    >>> digest_of("code", "a", "b") == digest_of("code", "ab")
    False
    """
    result = hashlib.sha256()
    for part in (kind, *parts):
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        result.update(f"{len(content)}:".encode() + content)
    return result.hexdigest()


def is_allowed(digest: str) -> bool:
    """Whether there is a yes for this digest; none where the file is damaged or belongs to somebody else."""
    return digest in _read()


def allow(digest: str, about: str) -> None:
    """Keep a yes; `about` says in words for what. Where it cannot be kept, it is good for this once only."""
    with suppress(OSError):
        folder = config_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_file(folder / f"{_FILE}.lock"):
            known = _read()
            if digest not in known:
                write_own(folder / _FILE, {**known, digest: [about, time.time()]})


def _read() -> dict[str, Json]:
    return read_own(config_folder() / _FILE) or {}
