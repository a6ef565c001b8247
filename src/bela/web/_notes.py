"""What the page remembers in the cache of a campaign: points of its chart, and what was foretold before each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_MOST_POINTS = 1000


class Notes:
    """Lines of JSON in two files. They may be deleted at any time; what cannot be read or written is left out.

    Parameters
    ----------
    folder
        The cache of the campaign.
    """

    def __init__(self, folder: Path) -> None:
        self._points_file, self._foretold_file = folder / "points.jsonl", folder / "foretold.jsonl"
        self._points: dict[int, dict[str, Any]] = {}
        for line in _lines(self._points_file):
            if _is_point(line):
                self._points[line["answers"]] = line
        self.foretold: dict[int, Any] = {
            line["question"]: line["label"]
            for line in _lines(self._foretold_file)
            if isinstance(line.get("question"), int) and isinstance(line.get("label"), (str, int))
        }

    def mark(self, *, answers: int, lower: float, expected: float, at: float) -> None:
        """Keep a point of the chart, in place of an older one after as many answers."""
        point = {"answers": answers, "lower": lower, "expected": expected, "at": at}
        before = self._points.get(answers)
        if before is None or (before["lower"], before["expected"]) != (lower, expected):
            self._points[answers] = point
            _append(self._points_file, point)

    def foretell(self, question: int, label: Any) -> None:
        """Keep what was foretold about a question."""
        if self.foretold.get(question) != label:
            self.foretold[question] = label
            _append(self._foretold_file, {"question": question, "label": label})

    def points(self) -> list[dict[str, Any]]:
        """Return the points in the order of the answers, evenly thinned out if there are very many."""
        points = [self._points[answers] for answers in sorted(self._points)]
        if len(points) <= _MOST_POINTS:
            return points
        step = (len(points) - 1) / (_MOST_POINTS - 1)
        return [points[round(i * step)] for i in range(_MOST_POINTS)]


def _is_point(line: dict[str, Any]) -> bool:
    return isinstance(line.get("answers"), int) and all(
        isinstance(line.get(name), (int, float)) for name in ("lower", "expected", "at")
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError):  # cut short when the process was killed
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found


def _append(path: Path, line: dict[str, Any]) -> None:
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(line, ensure_ascii=False))  # a line cut short harms no other
