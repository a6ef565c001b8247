"""What a method does when a journal is replayed, classes are merged or the target moves, if nothing special."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bela.errors import ReplayError
from bela.records import Proposal, Role


class _Proposer(Protocol):
    @property
    def n_revisions(self) -> int: ...

    def propose(self, n: int) -> Sequence[Proposal]: ...

    def revise(self, row: int, role: Role, code: int) -> None: ...


class PlainReplay:
    """Replays by proposing again, and merges classes by changing answers."""

    def repeat(self: _Proposer, n: int, proposals: Sequence[Proposal], n_revisions: int) -> None:
        again = self.propose(n) if n else ()
        if list(again) != list(proposals):
            raise ReplayError(tuple(p.row for p in proposals), tuple(p.row for p in again))

    def aim(self, target: float | None, budget: int | None) -> None:
        """Go on as before: when to stop is the campaign's business."""

    def merge(self: _Proposer, rows: Sequence[int], roles: Sequence[Role], code: int, into: int) -> None:
        for row, role in zip(rows, roles, strict=True):
            self.revise(row, role, into)

    def unmerge(self: _Proposer, rows: Sequence[int], roles: Sequence[Role], code: int) -> None:
        for row, role in zip(rows, roles, strict=True):
            self.revise(row, role, code)
