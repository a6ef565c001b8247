"""What the person at this machine has allowed: an address that a campaign's file names may be somebody else's."""

import json
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bela.errors import ParameterError
from bela.storage import write_durably


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Knows which campaigns may send rows where, by their digests, from a file that only this person can read.

    `allowed` are addresses that were allowed just now, and `ask` puts a question to whoever can say yes or no; None
    where nobody can. Without a `path`, nothing is remembered.
    """

    path: Path | None = None
    allowed: Collection[str] = ()
    ask: Callable[[str], bool] | None = None

    def check(self, address: str, what: str, digest: str) -> None:
        """Raise a ParameterError unless somebody has said yes; a yes is remembered for this digest."""
        if digest in self._remembered():
            return
        if address not in self.allowed and not (self.ask is not None and self.ask(f"{what}. Do you allow that?")):
            raise ParameterError(f"{what}: nothing is sent before you allow it with --allow {address}")
        self.remember(digest)

    def remember(self, digest: str) -> None:
        """Take note that a yes was said."""
        known = self._remembered()
        if self.path is None or digest in known:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(self.path, json.dumps(sorted({*known, digest}), indent=1).encode())
            os.chmod(self.path, 0o600)
        except OSError as error:
            raise ParameterError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def _remembered(self) -> set[str]:
        with suppress(OSError, ValueError):
            if self.path is not None:
                found = json.loads(self.path.read_text(encoding="utf-8"))
                return {str(digest) for digest in found} if isinstance(found, list) else set()
        return set()
