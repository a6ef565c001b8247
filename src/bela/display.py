"""How values show themselves in a notebook: a card of HTML with a small drawing.

Everything that comes from data is escaped. Nothing but attributes carries the style, as some pages that show notebooks
take style sheets out; text and lines have the colour that they find there, so that a card is at home in light and dark.
"""

from collections.abc import Iterable, Sequence
from html import escape

from bela.shares import percent_text, share_text

ACCENT = "#3b82f6"  # can be read on white and on black
_WIDTH, _HEIGHT = 340, 96
_CARD = "border:1px solid rgba(128,128,128,.35);border-radius:8px;padding:10px 14px;max-width:420px;line-height:1.45"
_MOST_BARS = 8
_LONGEST = 24  # characters of a name in a drawing


def card(title: str, sentence: str, drawings: Iterable[str] = (), facts: Iterable[tuple[str, object]] = ()) -> str:
    """Return a card: what it is, what is to be known first, drawings, and facts by name."""
    cells = "".join(
        f'<tr><td style="text-align:left;opacity:.7;padding:0 1em 0 0">{escape(name)}</td>'
        f'<td style="text-align:left;padding:0">{escape(str(value))}</td></tr>'
        for name, value in facts
        if value is not None
    )
    table = f'<table style="border:none;margin:6px 0 0;background:none">{cells}</table>' if cells else ""
    return (
        f'<div class="bela-card" style="{_CARD}"><div style="font-weight:600">{escape(title)}</div>'
        f"<div>{escape(sentence)}</div>{''.join(drawings)}{table}</div>"
    )


def draw_share(lower: float, target: float | None = None) -> str:
    """Draw a share that is certain, as a bar, with a mark at the target."""
    aim = f", target {percent_text(target)}" if target is not None else ""
    mark = (
        ""
        if target is None
        else f'<path d="M{_WIDTH * target:.1f},0 V16" stroke="currentColor" stroke-width="2" fill="none"/>'
    )
    filled = _WIDTH * lower
    return _drawing(
        f"at least {share_text(lower)}{aim}", 16,
        f'<rect y="3" width="{_WIDTH}" height="10" rx="3" fill="currentColor" opacity=".15"/>'
        f'<rect y="3" width="{filled:.1f}" height="10" rx="3" fill="{ACCENT}"/>{mark}',
    )  # fmt: skip


def draw_counts(counts: Sequence[tuple[object, int]]) -> str:
    """Draw how many rows have each label: the most common ones, and how many others there are."""
    if not counts:
        return ""
    ordered = sorted(counts, key=lambda pair: -pair[1])
    shown, rest = ordered[:_MOST_BARS], ordered[_MOST_BARS:]
    lines = [(short_name(name), n) for name, n in shown]
    if rest:
        lines.append((f"{len(rest):,} others", sum(n for _, n in rest)))
    most = max(1, *(n for _, n in lines))
    widths = [max(1.0, 160 * n / most) for _, n in lines]
    parts = [
        f'<text x="118" y="{16 * i + 12}" text-anchor="end" font-size="11" fill="currentColor">{escape(name)}</text>'
        f'<rect x="124" y="{16 * i + 3}" width="{width:.1f}" height="10" rx="2" fill="{ACCENT}" '
        f'opacity="{0.5 if rest and i == len(lines) - 1 else 0.9}"/>'
        f'<text x="{130 + width:.1f}" y="{16 * i + 12}" font-size="11" fill="currentColor">{n:,}</text>'
        for i, ((name, n), width) in enumerate(zip(lines, widths, strict=True))
    ]
    words = ", ".join(f"{name}: {n:,}" for name, n in lines)
    return _drawing(words, 16 * len(lines) + 2, "".join(parts))


def draw_courses(courses: Sequence[tuple[str, Sequence[tuple[int, float]]]]) -> str:
    """Draw shares over numbers of answers: the first course as a line, the others dashed."""
    most = max((x for _, points in courses for x, _ in points), default=0)
    if not most:
        return ""
    top, bottom = 6, _HEIGHT - 14
    paths = []
    for i, (_, points) in enumerate(courses):
        path = " ".join(
            f"{'L' if j else 'M'}{_WIDTH * x / most:.1f},{bottom - (bottom - top) * y:.1f}"
            for j, (x, y) in enumerate(points)
        )
        style = f'stroke="{ACCENT}"' if i == 0 else 'stroke="currentColor" stroke-dasharray="4 3" opacity=".7"'
        paths.append(f'<path d="{path}" fill="none" stroke-width="2" {style}/>')
    ends = ", ".join(f"{name} {share_text(points[-1][1])}" for name, points in courses if points)
    axis = f'<path d="M0,{bottom} H{_WIDTH}" stroke="currentColor" opacity=".3" fill="none"/>'
    number = (
        f'<text x="{_WIDTH}" y="{_HEIGHT - 2}" text-anchor="end" font-size="11" fill="currentColor">{most:,}</text>'
    )
    return _drawing(f"after {most:,} answers: {ends}", _HEIGHT, axis + "".join(paths) + number)


def short_name(name: object) -> str:
    """Return a name that is not too long for a line."""
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _drawing(words: str, height: int, inside: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(words)}" style="display:block;max-width:100%;margin:6px 0">{inside}</svg>'
    )
