"""Parts that the sections of a report are made of: tables, lists, pictures, shares."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from xml.etree.ElementTree import Element

from bela.records import Label
from bela.reports._elements import Child, h


def table(head: Sequence[str], rows: Sequence[Sequence[Child]], numbers: Collection[int] = ()) -> Element:
    """Return a table whose first named column names its rows."""

    def cell(tag: str, at: int, content: Child) -> Element:
        return h(f"{tag}.n" if at in numbers else tag, content)

    first = 0 if not head or head[0] else 1  # the column that names the row
    body = [
        h("tr", [cell("th" if at == first else "td", at, content) for at, content in enumerate(row)]) for row in rows
    ]
    for row in body:
        row[first].set("scope", "row")
    heads = [cell("th" if name else "td", at, name) for at, name in enumerate(head)]
    return h("div.wide", h("table", h("thead", h("tr", heads)), h("tbody", body)), tabindex="0", role="group",
             aria_label="Table")  # fmt: skip


def terms(pairs: Sequence[tuple[str, str]]) -> Element:
    """A list of names and values, those without a value left out."""
    return h("dl", [(h("dt", name), h("dd", value, dir_="auto")) for name, value in pairs if value])


def picture(address: str) -> Element:
    """A picture, whose row is named beside it; addresses that do not hold their content are none of ours."""
    if not address.startswith(("data:image/png;base64,", "data:image/jpeg;base64,")):
        return h("span.soft", "(no picture)")
    return h("img.small" if address.startswith("data:image/png") else "img", src=address, alt="")


def label_name(label: Label) -> Element:
    """Return a label as it is written."""
    return named(str(label).lower() if isinstance(label, bool) else str(label))


def named(text: str) -> Element:
    """Return a text that runs in its own direction."""
    return h("span", text, dir_="auto")


def percent(share: float, digits: int = 10) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f} %" if digits < 10 else f"{100 * share:.10g} %"


def percent_floor(share: float) -> str:
    """Return a share that is certified in per cent, never more than it is."""
    return f"{math.floor(1000 * share + 1e-9) / 10:.1f} %"


def width(share: float) -> str:
    """Return the style of a bar."""
    return f"width: {100 * min(max(share, 0.0), 1.0):.2f}%"
