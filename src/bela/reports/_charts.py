"""The charts of a report: where lines, bars and numbers go, in the units of a drawing that the template makes of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from bela.shares import percent_text
from bela.views import ChartPoint

_WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 14, 44


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart in parts: rules with their numbers at the left, numbers below, and paths, each with its class."""

    words: str
    x: str
    y: str
    height: int
    rules: Sequence[tuple[float, str]]
    ticks: Sequence[tuple[float, str]]
    paths: Sequence[tuple[str, str]]
    target: tuple[float, str] | None = None
    width: int = _WIDTH
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT


def draw_course(course: Sequence[ChartPoint], target: float | None, words: str) -> Chart:
    """Draw what was certain and what was expected after how many answers."""
    height = 340
    most = max(1, *(point.answers for point in course))
    marks = [(_x(point.answers / most), point) for point in course]
    expected = [(x, _y(point.expected, height)) for x, point in marks if point.expected is not None]
    certain = "".join(f" H{x:.1f} V{_y(point.lower, height):.1f}" for x, point in marks)
    first = f"M{marks[0][0]:.1f},{_y(course[0].lower, height):.1f}"
    step = _round_step(most)
    return Chart(
        words=words, x="answers", y="share of all labels", height=height,
        rules=[(_y(share / 5, height), f"{20 * share} %") for share in range(6)],
        ticks=[(_x(at / most), f"{at:,}") for at in range(0, most + 1, step)],
        paths=[("expected", _line(expected)), ("certain", first + certain)],
        target=None if target is None else (_y(target, height), f"target {percent_text(target)}"),
    )  # fmt: skip


def draw_sureness(counts: Sequence[int], words: str) -> Chart:
    """Draw how many rows have labels of which probability."""
    height, n, most = 240, len(counts), max(1, *counts)
    width = (_x(1.0) - _x(0.0)) / n
    bars = [
        f"M{_x(i / n) + 0.04 * width:.1f},{_y(0.0, height):.1f} V{_y(n_rows / most, height):.1f} h{0.92 * width:.1f} "
        f"V{_y(0.0, height):.1f} Z"
        for i, n_rows in enumerate(counts)
        if n_rows
    ]
    return Chart(
        words=words, x="probability of a label", y="rows", height=height,
        rules=[(_y(0.0, height), "0"), (_y(1.0, height), f"{most:,}")],
        ticks=[(_x(share / 5), f"{20 * share} %") for share in range(6)],
        paths=[("bars", " ".join(bars))],
    )  # fmt: skip


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float, height: int) -> float:
    return height - _BOTTOM - share * (height - _TOP - _BOTTOM)


def _line(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if i else 'M'}{x:.1f},{y:.1f}" for i, (x, y) in enumerate(places))


def _round_step(most: int) -> int:
    """Return a round number that goes into another some five times.

    >>> [_round_step(most) for most in (3, 60, 99, 1234)]
    [1, 20, 20, 500]
    """
    steps = (step * int(10**power) for power in count() for step in (1, 2, 5))
    return next(step for step in steps if most <= 5 * step)
