"""Events as text, and the digests that chain them together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bela.errors import JournalError


def event_text(kind: str, data: Mapping[str, Any]) -> str:
    """Return the particulars of an event as one line of JSON.

    Examples
    --------
    >>> event_text("answered", {"question": 3, "label": "Käfer"})
    '{"question":3,"label":"Käfer"}'
    """
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # halves of characters, as in names from a system that has no UTF-8
            text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise JournalError(f"an event {kind!r} cannot be written down: {error}") from None
    return text


def event_data(text: str) -> dict[str, Any] | None:
    """Return the particulars of an event again; None if that is no text of an event."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def chain_digest(before: bytes, seq: int, at: float, kind: str, text: str) -> bytes:
    """Return the digest of an event and all events before it."""
    line = f"{seq}\n{at!r}\n{kind}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(before + line, digest_size=16).digest()
