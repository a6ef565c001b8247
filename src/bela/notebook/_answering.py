"""What the widget is told and what it asks for, as plain values: questions as they are seen, answers, certainty."""

import base64
from collections.abc import Callable, Collection, Mapping

from bela.campaign import Campaign
from bela.errors import BelaError, DataError, ParameterError, QuestionError
from bela.labels import label_from_text, label_to_text
from bela.records import Json, Label, Question
from bela.shares import percent_text
from bela.views import Pictures, RowView

_MOST_TEXT = 20_000


class NotebookAnswering:
    """Puts the questions of a campaign to somebody in a notebook.

    An answer is acknowledged when the campaign has it, which is when it is on disk. A question is shown without its
    role and without a suggestion, and the classes are always in the same order: draws are answered blind.
    """

    def __init__(self, campaign: Campaign, *, by: str | None = None, hide: Collection[str] = ()) -> None:
        table, plan = campaign.prepared.table, campaign.prepared.plan
        unknown = [name for name in hide if name not in table.columns]
        if unknown:
            raise ParameterError(f"there is no column {unknown[0]!r} to hide: there are {', '.join(table.columns)}")
        self._campaign, self._by = campaign, by
        self._view = RowView(table, plan, hidden={*hide, *campaign.unseen})
        self._pictures = Pictures(table, self._view.images)
        self._shown: Question | None = None
        self._actions: dict[str, Callable[[Mapping[str, Json]], None]] = {
            "show": lambda message: None, "answer": self._answer, "skip": self._skip, "undo": self._undo,
            "add class": self._add_class,
        }  # fmt: skip

    def handle(self, message: object) -> dict[str, Json]:
        """Do what the widget asks for, and return how things are then, with the number that the message had."""
        reply: dict[str, Json] = {"number": message.get("number") if isinstance(message, dict) else None}
        try:
            if not isinstance(message, dict) or message.get("action") not in self._actions:
                raise ParameterError(f"the widget can {', '.join(self._actions)}, and nothing else")
            self._actions[str(message["action"])](message)
        except BelaError as error:
            reply["error"] = str(error)
        try:
            return reply | self._state()
        except BelaError as error:  # such as a revision that cannot be written
            return reply | {"error": reply.get("error", str(error))}

    def _answer(self, message: Mapping[str, Json]) -> None:
        self._campaign.tell(self._question(message), self._label(message), by=self._by)

    def _skip(self, message: Mapping[str, Json]) -> None:
        self._campaign.skip(self._question(message), by=self._by)

    def _undo(self, message: Mapping[str, Json]) -> None:
        self._shown = self._campaign.undo(by=self._by) or self._shown

    def _add_class(self, message: Mapping[str, Json]) -> None:
        self._campaign.add_class(self._label(message), by=self._by)

    @staticmethod
    def _question(message: Mapping[str, Json]) -> int:
        question = message.get("question")
        if not isinstance(question, int) or isinstance(question, bool):
            raise QuestionError(f"there is no question {question!r}")
        return question

    def _label(self, message: Mapping[str, Json]) -> Label:
        text = message.get("label")
        if not isinstance(text, str) or not text.strip():
            raise ParameterError("a class has a name")
        return label_from_text(text, self._campaign.classes)

    def _state(self) -> dict[str, Json]:
        """Say all that the widget shows."""
        campaign, book = self._campaign, self._campaign.book
        if self._shown is None or self._shown.id not in book.open:
            self._shown = next(iter(campaign.ask(1)), None) if campaign.stop_reason is None else None
        certificate, forecast = campaign.certificate, campaign.forecast
        stopped = campaign.stop_reason
        return {
            "question": None if self._shown is None else self._show(self._shown),
            "classes": [label_to_text(label) for label in campaign.classes],
            "claim": certificate.claim, "lower": float(certificate.lower), "worth": certificate.guarantee.sentence,
            "target": campaign.target, "answers": campaign.n_asked, "rows": campaign.n_rows,
            "skipped": book.n_skipped, "budget": campaign.budget, "closed": book.codes.closed,
            "left": None if forecast is None else forecast.answers, "can_undo": self._can_undo(),
            "stopped": None if stopped is None else _WHY[stopped.value](campaign),
        }  # fmt: skip

    def _can_undo(self) -> bool:
        try:
            self._campaign.book.step_to_undo(self._by)
        except QuestionError:
            return False
        return True

    def _show(self, question: Question) -> dict[str, Json]:
        shown = self._view.show(question.row, _MOST_TEXT)
        images: list[Json] = []
        for column in shown.images:
            try:
                content, kind = self._pictures.picture(question.row, column)
                address: Json = f"data:{kind};base64,{base64.b64encode(content).decode()}"
            except (DataError, QuestionError) as error:
                images.append({"name": column, "error": str(error)})
            else:
                images.append({"name": column, "source": address, "file": shown.files.get(column)})
        values: list[Json] = [{"name": name, "value": _text(value)} for name, value in shown.record.items()]
        left_out: list[Json] = [*self._view.left_out]
        return {"id": question.id, "row": question.row, "images": images, "values": values, "left_out": left_out}


_WHY: dict[str, Callable[[Campaign], str]] = {
    "target": lambda campaign: f"The target of {percent_text(campaign.target or 1.0)} is reached.",
    "refuted": lambda campaign: "The labels do not meet the target.",
    "budget": lambda campaign: f"All {campaign.budget:,} answers of the budget are given.",
    "exhausted": lambda campaign: "There is nothing left to ask.",
}


def _text(value: object) -> str:
    """Return a value as a text: names and numbers as they are, nothing for nothing."""
    return "" if value is None else value if isinstance(value, str) else label_to_text(value)
