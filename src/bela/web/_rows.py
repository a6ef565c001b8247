"""Rows as the page shows them: names, values that JSON can hold, and which columns are pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bela.campaign import StoredCampaign
from bela.errors import QuestionError
from bela.oracles import to_json

LONGEST_TEXT = 20_000  # characters of a value in a list of rows; one row alone has more
LONGEST_ALONE = 500_000
_MOST_NUMBERS = 64  # of a vector, where there is nothing else to show


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row for people's eyes."""

    row: int
    name: str | int
    record: Mapping[str, Any]
    images: tuple[str, ...]


class RowView:
    """Shows rows of a campaign, without what must not be seen by whoever answers.

    Parameters
    ----------
    stored
        The campaign.
    """

    def __init__(self, stored: StoredCampaign) -> None:
        self._records, plan = stored.records, stored.plan
        hidden = set(stored.hidden)
        named = stored.settings.id_column
        self._id = None if named in hidden else named
        columns = [name for name in plan.shown if name not in hidden] or [
            name for name in plan.columns if name not in hidden
        ]
        self.columns: tuple[str, ...] = tuple(columns)
        self.kinds: dict[str, str] = {name: plan.columns[name] for name in self.columns}
        self.images: tuple[str, ...] = tuple(name for name in columns if plan.columns[name] == "image")
        self._values = tuple(name for name in columns if name not in self.images)
        self._is_vector = not plan.shown

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._records.n_rows

    def check(self, row: int) -> None:
        """Raise an error if there is no such row."""
        if not 0 <= row < self.n_rows:
            raise QuestionError(f"there is no row {row}: rows go from 0 to {self.n_rows - 1}")

    def show(self, row: int, longest: int = LONGEST_TEXT) -> ShownRow:
        """Return a row as JSON can hold it; pictures are left out, as they have addresses of their own."""
        self.check(row)
        # Reading a row of nothing but pixels would turn them into lists for nothing.
        record = self._records.record(row) if self._values or self._id is not None else {}
        shown = {name: self._plain(record.get(name), longest) for name in self._values}
        name = row if self._id is None else self._plain(record.get(self._id), 200)
        return ShownRow(
            row=row, name=name if isinstance(name, (str, int)) else str(name), record=shown, images=self.images
        )

    def _plain(self, value: Any, longest: int) -> Any:
        if isinstance(value, (bytes, bytearray)):
            return f"({len(value):,} bytes)"
        if self._is_vector and isinstance(value, list) and len(value) > _MOST_NUMBERS:
            value = [*value[:_MOST_NUMBERS], f"and {len(value) - _MOST_NUMBERS:,} more"]
        plain = to_json(value)
        if isinstance(plain, (dict, list)):
            text = json.dumps(plain, ensure_ascii=False)
            return plain if len(text) <= longest else f"{text[:longest]}…"
        if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > 2**53:
            return str(plain)  # a browser's numbers are not that exact
        if isinstance(plain, str):
            return plain if len(plain) <= longest else f"{plain[:longest]}…"
        return plain
