"""Who may come in to a campaign that is served: an owner and annotators, each by a token of their own.

Tokens are kept in a file of the user's own (mode 0600), not in the campaign: whoever is given a copy or a backup of
a campaign gets no token with it, and whoever sends a campaign cannot let anybody in to the server that opens it. In the
campaign's folder there is only a number that nobody can guess, by which the file is found; it goes into backups, so a
campaign that was put back on the same machine knows its people.
"""

import hashlib
import json
import os
import re
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bela.errors import ParameterError
from bela.storage import config_folder, lock_file, read_own, write_durably, write_own

LONGEST_NAME = 60
OWNER = "owner"  # what the first owner is called who gives no other name
_RESERVED = ("me",)  # whoever answered without a name
_NUMBER, _FOLDER = "team", "teams"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who may come in, or was: an owner decides about the campaign, others answer.

    `at_machine` is the owner who started the server: known by the token only, and never by a name.
    """

    id: str
    name: str
    is_owner: bool
    token: str
    revoked: bool = False
    at_machine: bool = False
    since: float = 0.0


class _TeamFile(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    address: str = ""
    members: tuple[Member, ...] = ()


class Team:
    """The people of one campaign; may be used by several threads, and the file by several processes.

    Without a file, they are known for as long as this object is there.
    """

    def __init__(self, file: Path | None = None, *, number: str = "") -> None:
        self._file, self.number = file, number or secrets.token_hex(16)
        self._lock = threading.RLock()
        self._kept = _TeamFile()
        self._seen: tuple[int, int, int] | None = None
        self._by_token: dict[bytes, Member] = {}
        self.reread()

    @classmethod
    def of(cls, folder: Path) -> "Team":
        """Return the people of the campaign in a folder."""
        number = _number(folder)
        return cls(config_folder() / _FOLDER / f"{number}.json", number=number)

    @staticmethod
    def can_be_kept() -> bool:
        """Whether links outlive the process: not where the user has no folder to write to."""
        folder = config_folder() / _FOLDER
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(folder, os.W_OK)

    @property
    def members(self) -> tuple[Member, ...]:
        """All people, also those who may not come in any more, in the order in which they came."""
        return self._kept.members

    @property
    def address(self) -> str:
        """Where the page was served last, "" if it never was."""
        return self._kept.address

    def by_token(self, token: str) -> Member | None:
        """Return whose token it is, be it revoked or not; how long that takes says nothing about any token."""
        return self._by_token.get(_digest(token))

    def named(self, name: str) -> Member | None:
        """Return who is called that, None if nobody is."""
        found = (member for member in self.members if _same(member.name) == _same(name))
        return next(found, None)

    def owner(self, name: str | None = None) -> Member:
        """Return the owner at the machine, under another name if one is given; made up if there is none yet."""
        wanted = None if name is None else clean_name(name)
        with self._changing():
            found = next((member for member in self.members if member.at_machine), None)
            if found is not None and wanted in (None, found.name):
                return found
            new = found or _new(wanted or OWNER, is_owner=True, at_machine=True)
            other = self.named(wanted or new.name)
            if other is not None and other is not found:
                raise ParameterError(f"{other.name} is somebody else here: choose another name for the owner")
            return self._put(replace(new, name=wanted or new.name))

    def add(self, name: str, *, is_owner: bool = False) -> Member:
        """Let somebody come in, who gets a token; somebody who was there before gets another."""
        name = clean_name(name)
        with self._changing():
            known = self.named(name)
            if known is not None and not known.revoked:
                raise ParameterError(f"{known.name} is there already: nobody else can have that name")
            new = _new(name, is_owner=is_owner)
            return self._put(new if known is None else replace(new, id=known.id, name=known.name))

    def renew(self, name: str) -> Member:
        """Give somebody another token; the one that they had is worth nothing from now on."""
        return self._change(name, lambda member: replace(member, token=_token()))

    def revoke(self, name: str) -> Member:
        """Let somebody in no longer; what they have answered stays."""
        return self._change(name, lambda member: replace(member, revoked=True))

    def set_role(self, name: str, *, is_owner: bool) -> Member:
        """Make somebody an owner, or an annotator."""
        return self._change(name, lambda member: replace(member, is_owner=is_owner))

    def serve_at(self, address: str) -> None:
        """Remember where the page is, for whoever wants to know the whole link."""
        with self._changing():
            self._write(_TeamFile(address=address, members=self.members))

    def reread(self) -> bool:
        """Take in what another process has changed; whether there was anything."""
        with self._lock:
            if self._file is None or (signature := _signature(self._file)) == self._seen:
                return False
            content = read_own(self._file)
            if content is None and signature is not None:
                raise ParameterError(_unreadable(self._file))
            try:
                kept = _TeamFile.model_validate_json(json.dumps(content or {}))
            except ValidationError:
                raise ParameterError(_unreadable(self._file)) from None
            self._seen = signature
            self._take(kept)
            return True

    def _change(self, name: str, change: Callable[[Member], Member]) -> Member:
        with self._changing():
            known = self.named(name)
            if known is None or known.revoked:
                raise ParameterError(f"there is nobody called {name!r} to whom a link was given")
            new = change(known)
            if known.at_machine and (new.revoked or not new.is_owner):
                raise ParameterError(f"{known.name} owns the campaign and stays: a new link ends the one that there is")
            return self._put(new)

    def _put(self, member: Member) -> Member:
        """Keep somebody in place of who had the same number; within `_changing`."""
        known = [other.id for other in self.members]
        place = known.index(member.id) if member.id in known else len(known)
        self._write(
            _TeamFile(address=self.address, members=(*self.members[:place], member, *self.members[place + 1 :]))
        )
        return member

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let one thread of one process change something at a time, from what the one before has left."""
        with ExitStack() as held:
            held.enter_context(self._lock)
            if self._file is not None:
                try:
                    self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    held.enter_context(lock_file(self._file.with_suffix(".lock")))
                except OSError as error:
                    raise ParameterError(_unwritable(self._file, error)) from None
                self.reread()
            yield

    def _write(self, kept: _TeamFile) -> None:
        if self._file is not None:
            try:
                write_own(self._file, kept.model_dump(mode="json"))
            except OSError as error:
                raise ParameterError(_unwritable(self._file, error)) from None
            self._seen = _signature(self._file)
        self._take(kept)

    def _take(self, kept: _TeamFile) -> None:
        self._by_token = {_digest(member.token): member for member in kept.members}
        self._kept = kept


def clean_name(name: str) -> str:
    """Return a name as it is kept; an error if it cannot be one.

    >>> clean_name("  Ann  Lee ")
    'Ann Lee'
    """
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ParameterError(f"a name has 1 to {LONGEST_NAME} characters that can be seen")
    if _same(name) in _RESERVED:
        raise ParameterError(f"{name!r} stands for whoever gave no name: choose another")
    return name


def _same(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _new(name: str, *, is_owner: bool, at_machine: bool = False) -> Member:
    return Member(
        id=secrets.token_hex(4), name=name, is_owner=is_owner, token=_token(), at_machine=at_machine, since=time.time()
    )


def _token() -> str:
    return secrets.token_urlsafe(24)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _signature(file: Path) -> tuple[int, int, int] | None:
    """Return what differs whenever a file was written anew; None if it is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _unreadable(file: Path) -> str:
    return (
        f"{file}, which holds the links of a campaign, is damaged or open to others: delete it and hand out new links"
    )


def _unwritable(file: Path, error: OSError) -> str:
    why = error.strerror or error
    return f"{file}, which holds the links of a campaign, cannot be written: {why}; BELA_CONFIG names another folder"


def _number(folder: Path) -> str:
    """Return the number that tells a campaign from all others; made up when it is first asked for."""
    file, folder_of_files = folder / _NUMBER, config_folder() / _FOLDER
    if not file.exists():
        try:
            folder_of_files.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock_file(folder_of_files / "new.lock"):
                if not file.exists():  # or somebody was quicker
                    write_durably(file, secrets.token_hex(16).encode(), mode=0o600)
        except OSError as error:
            raise ParameterError(_unwritable(folder_of_files, error)) from None
    number = file.read_text(encoding="ascii", errors="replace").strip()
    if not re.fullmatch(r"[0-9a-f]{32}", number):
        raise ParameterError(f"{file} is damaged: delete it and hand out new links")
    return number
