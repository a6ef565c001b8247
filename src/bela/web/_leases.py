"""Who has which question before them, kept in a file: pages that are open go on when the server is started anew."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from bela.storage import open_fresh


class Seat(NamedTuple):
    """Where somebody sits: a browser, which the server knows by a cookie, and a tab of it; programs have neither."""

    browser: str = ""
    tab: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A question that somebody has before them in one tab of a browser, until its time is over."""

    by: str
    at: Seat
    until: float
    second: bool = False
    again: bool = False
    grid: bool = False


class _KeptLease(NamedTuple):
    question: int
    by: str
    browser: str
    tab: str
    seconds: float  # that are left
    marks: tuple[bool, bool, bool]


_LEASES = TypeAdapter(list[_KeptLease])


class KeptLeases:
    """A file of leases. It may be lost, as when the power fails: then some questions are put to two people.

    What is kept is the time that they had left, so that none ends while there is no server to answer to.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self, clock: float, most_seconds: float) -> dict[int, Lease]:
        """Return the leases as of when they were written, none of them for longer than leases are given."""
        try:
            found = _LEASES.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return {}
        return {
            one.question: Lease(
                by=one.by, at=Seat(one.browser, one.tab), until=clock + min(one.seconds, most_seconds),
                second=one.marks[0], again=one.marks[1], grid=one.marks[2],
            )
            for one in found
        }  # fmt: skip

    def write(self, leases: Mapping[int, Lease], clock: float) -> None:
        """Keep leases; a process that is killed loses none, and nobody waits for the disk."""
        kept = [
            _KeptLease(question, one.by, *one.at, one.until - clock, (one.second, one.again, one.grid))
            for question, one in leases.items()
            if one.until > clock
        ]
        new = self._file.with_name(f"{self._file.name}.{secrets.token_hex(8)}.part")
        try:
            with open_fresh(new, 0o600) as file:
                file.write(_LEASES.dump_json(kept))
            os.replace(new, self._file)
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
