"""What the page keeps in the folder of a campaign: guidelines, points of its chart, predictions before answers."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from markdown_it import MarkdownIt
from pydantic import TypeAdapter

from bela.errors import ExportError
from bela.records import Label
from bela.storage import write_durably
from bela.views._labels import ChartPoint, JsonLabel

_GUIDELINES = "guidelines.md"
# Addresses of scripts are refused by markdown-it itself; pictures would have to come from elsewhere.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_MOST_POINTS = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prediction:
    question: int
    label: JsonLabel


_POINTS = TypeAdapter(ChartPoint)
_PREDICTIONS = TypeAdapter(_Prediction)


class Notes:
    """Lines of JSON in two files of the campaign's cache: they may be deleted, and what cannot be read is left out."""

    def __init__(self, folder: Path) -> None:
        self._points_file, self._predicted_file = folder / "points.jsonl", folder / "predicted.jsonl"
        self._points = {point.answers: point for point in _read(self._points_file, _POINTS)}
        found = _read(self._predicted_file, _PREDICTIONS)
        self.predicted: dict[int, Label] = {one.question: one.label for one in found}

    def mark(self, point: ChartPoint) -> None:
        """Keep a point of the chart, in place of an older one after as many answers."""
        before = self._points.get(point.answers)
        if before is None or (before.lower, before.expected) != (point.lower, point.expected):
            self._points[point.answers] = point
            _append(self._points_file, _POINTS.dump_json(point))

    def predict(self, question: int, label: Label) -> None:
        """Keep what the labels said about a question before it was answered."""
        if self.predicted.get(question) != label:
            self.predicted[question] = label
            _append(self._predicted_file, _PREDICTIONS.dump_json(_Prediction(question=question, label=label)))

    def points(self) -> list[ChartPoint]:
        """Return the points in the order of the answers, evenly thinned out if there are very many."""
        points = [self._points[answers] for answers in sorted(self._points)]
        if len(points) <= _MOST_POINTS:
            return points
        step = (len(points) - 1) / (_MOST_POINTS - 1)
        return [points[round(i * step)] for i in range(_MOST_POINTS)]


def read_guidelines(folder: Path) -> str:
    """Return the guidelines of a campaign, "" where there are none."""
    try:
        return (folder / _GUIDELINES).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def write_guidelines(folder: Path, markdown: str) -> None:
    """Keep guidelines, whole or not at all."""
    try:
        write_durably(folder / _GUIDELINES, markdown.encode())
    except OSError as error:
        raise ExportError(f"the guidelines cannot be written: {error.strerror or error}") from None


def guidelines_html(markdown: str) -> str:
    """Return guidelines as HTML in which nothing of the text is HTML.

    >>> guidelines_html("**cat** <script>alert(1)</script>")
    '<p><strong>cat</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    html: str = _MARKDOWN.render(markdown)
    return html


def _read(path: Path, adapter: TypeAdapter[T]) -> Iterator[T]:
    with suppress(OSError), path.open("rb") as file:
        for line in file:
            with suppress(ValueError):  # cut short when the process was killed
                yield adapter.validate_json(line, strict=True)


def _append(path: Path, line: bytes) -> None:
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(b"\n" + line)  # a line cut short harms no other
