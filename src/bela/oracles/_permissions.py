"""What the person at this machine has allowed: an address that a campaign's file names may be somebody else's."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from bela.errors import ParameterError
from bela.storage import allow, is_allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Knows which campaigns may send rows where, by their digests.

    `allowed` are addresses that were allowed just now, and `ask` puts a question to whoever can say yes or no; None
    where nobody can.
    """

    allowed: Collection[str] = ()
    ask: Callable[[str], bool] | None = None

    def check(self, address: str, what: str, digest: str) -> None:
        """Raise a ParameterError unless somebody has said yes; a yes is remembered for this digest."""
        if is_allowed(digest):
            return
        if address not in self.allowed and not (self.ask is not None and self.ask(f"{what}. Do you allow that?")):
            raise ParameterError(f"{what}: nothing is sent before you allow it with --allow {address}")
        self.remember(address, digest)

    def remember(self, address: str, digest: str) -> None:
        """Take note that a yes was said."""
        allow(digest, f"rows are sent to {address}")
