"""Rows as the page shows them: names, values that JSON can hold, and which columns are pictures."""

import html
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bela._plain import to_plain
from bela.campaign import StoredCampaign
from bela.errors import QuestionError
from bela.features import FeaturePlan
from bela.protocols import Table
from bela.records import Json
from bela.views._labels import JsonLabel

LONGEST_TEXT = 20_000  # characters of a value in a list of rows; one row alone has more
LONGEST_ALONE = 500_000
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MOST_NUMBERS = 64  # of a vector, where there is nothing else to show


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row for people's eyes; `files` has the names of the files of its pictures, where they come from files."""

    row: int
    name: str | int
    record: Mapping[str, object]  # that is JSON, which pydantic's schema cannot say of a recursive type
    images: tuple[str, ...]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow(ShownRow):
    """A row with its label, and where that comes from: one of `SOURCES`, or `WAITS` where it must not be seen."""

    label: JsonLabel | None
    source: str
    probability: float | None


def check_row(records: Table, row: int) -> None:
    """Raise an error if there is no such row."""
    if not 0 <= row < records.n_rows:
        raise QuestionError(f"there is no row {row}: rows go from 0 to {records.n_rows - 1}")


class RowView:
    """Shows rows without the `hidden` columns, which must not be seen by whoever answers; `named` after a column."""

    def __init__(
        self, records: Table, plan: FeaturePlan, *, hidden: Collection[str | None] = (), named: str | None = None
    ) -> None:
        self._records = records
        self._id = None if named in hidden else named
        allowed = [name for name in plan.columns if name not in hidden]
        columns = [name for name in plan.shown if name not in hidden] or allowed
        self.columns: tuple[str, ...] = tuple(columns)
        self.kinds: dict[str, str] = {name: plan.columns[name] for name in self.columns}
        self.images: tuple[str, ...] = tuple(name for name in columns if plan.columns[name] == "image")
        self.offered: tuple[str, ...] = tuple(allowed)  # what may be looked at, shown beside the rows or not
        self._values = tuple(name for name in columns if name not in self.images)
        self.left_out: tuple[str, ...] = tuple(name for name in allowed if name not in (*columns, self._id))
        self._is_vector = not plan.shown
        first = self._records.record(0) if self.images and self._records.n_rows else {}
        self.filed: tuple[str, ...] = tuple(name for name in self.images if isinstance(first.get(name), str))
        # What is left out beside the rows, such as a number that each has of its own, is what people look for.
        texts = (name for name in allowed if plan.columns[name] not in ("image", "embedding"))
        self.searched: tuple[str, ...] = tuple(dict.fromkeys((*texts, *self.filed, *filter(None, [self._id]))))

    @classmethod
    def of(cls, stored: StoredCampaign) -> "RowView":
        """Return the rows of a campaign as those who answer may see them."""
        hidden = {*stored.hidden, stored.settings.prediction}  # a label under audit is shown beside the row
        return cls(stored.records, stored.plan, hidden=hidden, named=stored.settings.id_column)

    def check(self, row: int) -> None:
        """Raise an error if there is no such row."""
        check_row(self._records, row)

    def show(self, row: int, longest: int = LONGEST_TEXT) -> ShownRow:
        """Return a row as JSON can hold it; pictures are left out, as they have addresses of their own."""
        self.check(row)
        # Reading a row of nothing but pixels would turn them into lists for nothing.
        record = self._records.record(row) if self._values or self.filed or self._id is not None else {}
        shown = {name: self._readable(self._plain(record.get(name), longest)) for name in self._values}
        # Without its folder, which may be the label.
        files = {name: re.split(r"[/\\]", str(record[name]))[-1] for name in self.filed if record.get(name)}
        name = row if self._id is None else self._plain(record.get(self._id), 200)
        name = name if isinstance(name, (str, int)) else str(name)
        return ShownRow(row=row, name=name, record=shown, images=self.images, files=files)

    @staticmethod
    def _readable(value: Json) -> Json:
        """Return a text with the characters that HTML has names for in their place: &amp; means an ampersand."""
        return _ENTITY.sub(lambda found: html.unescape(found[0]), value) if isinstance(value, str) else value

    def _plain(self, value: object, longest: int) -> Json:
        if isinstance(value, (bytes, bytearray)):
            return f"({len(value):,} bytes)"
        if self._is_vector and isinstance(value, list) and len(value) > _MOST_NUMBERS:
            value = [*value[:_MOST_NUMBERS], f"and {len(value) - _MOST_NUMBERS:,} more"]
        plain = to_plain(value)
        if isinstance(plain, (dict, list)):
            text = json.dumps(plain, ensure_ascii=False)
            return plain if len(text) <= longest else f"{text[:longest]}…"
        if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > 2**53:
            return str(plain)  # a browser's numbers are not that exact
        return f"{plain[:longest]}…" if isinstance(plain, str) and len(plain) > longest else plain
