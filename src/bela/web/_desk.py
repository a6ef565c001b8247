"""The desk where questions are handed out: to each person their own, and to some a second time."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from bela.campaign import Campaign, answered_by, find_question, has_said, is_waiting, opinions
from bela.records import Label, Question
from bela.web._labels import Labels
from bela.web._leases import Leases

_AT_MOST = 64  # questions that are asked ahead
_LEAST_AHEAD, _MOST_AHEAD = 4, 10  # times the rows of a grid, to find enough of one label

Choice = tuple[Question, bool]
"""A question, and whether it is put to a second person."""


class Desk:
    """Chooses questions for people. Whoever calls it holds the campaign's lock.

    Parameters
    ----------
    campaign
        Whose questions they are.
    leases
        Who has which.
    overlap
        The share of questions that are put to a second person.
    """

    def __init__(self, campaign: Campaign, leases: Leases, *, overlap: float) -> None:
        self._campaign, self._leases, self._overlap = campaign, leases, overlap
        self._wanted: dict[int, None] = {}  # questions that a second person should see, the oldest first
        for found in opinions(campaign) if overlap else ():
            self.note(found.question)

    def choose(self, by: str, n: int) -> list[Choice]:
        """Choose up to n questions: those that somebody has, some that others have answered, and new ones."""
        chosen = self._held(by)[:n]
        chosen += [(question, True) for question in self._answered(by, (n - len(chosen) + 1) // 2)]
        chosen += [(question, False) for question in self._fresh(n - len(chosen))]
        self._hand_out(chosen, by)
        return chosen

    def choose_alike(self, by: str, n: int, labels: Labels | None) -> list[Choice]:
        """Choose new questions of one presumed label: that of most that somebody has already, or the oldest one has.

        By the oldest, not by what there is most of: draws count in their order, up to the first that is unanswered, so
        one that is put off for ever would keep all later ones from counting.
        """
        held = [question for question, second in self._held(by) if not second]
        if labels is None:
            chosen = [*held, *self._fresh(n - len(held))][:n]
        else:
            free = self._free()
            label = _most_common(held, labels) if held else labels.label(free[0].row) if free else None
            chosen = _alike([*held, *free], labels, label)
            if len(chosen) < n and not held:
                free = self._fresh(self._n_ahead(n))
                label = labels.label(free[0].row) if free else None
                chosen = _alike(free, labels, label)
            chosen = chosen[:n]
        self._leases.give_back({question.id for question in held} - {question.id for question in chosen}, by)
        self._hand_out([(question, False) for question in chosen], by)
        return [(question, False) for question in chosen]

    def _n_ahead(self, n: int) -> int:
        """Return how many questions to ask ahead for a grid of n rows: the more, the larger the groups of one label.

        All that are asked have to be answered for the last of them to count, so only as many as are half of what it
        probably takes to reach the target.
        """
        forecast = self._campaign.forecast
        likely = 0 if forecast is None else forecast.answers // 2
        return min(max(likely, _LEAST_AHEAD * n), _MOST_AHEAD * n)

    def note(self, question_id: int) -> None:
        """Take note of what was said about a question: a second person should see some of those that one has seen."""
        alone = len(answered_by(self._campaign, question_id)) == 1
        if alone and _share(self._campaign.seed, question_id) < self._overlap:
            self._wanted[question_id] = None
        else:
            self._wanted.pop(question_id, None)

    def _hand_out(self, chosen: Sequence[Choice], by: str) -> None:
        for question, second in chosen:
            self._leases.take(question.id, by, second=second)

    def _held(self, by: str) -> list[Choice]:
        """Return the questions that somebody has and that still wait for them."""
        found = []
        for question_id, lease in self._leases.held(by).items():
            if self._waits(question_id, by, second=lease.second):
                found.append((find_question(self._campaign, question_id), lease.second))
            else:
                self._leases.end(question_id)
        return found

    def _waits(self, question_id: int, by: str, *, second: bool) -> bool:
        if second:
            return bool(answered_by(self._campaign, question_id)) and not has_said(self._campaign, question_id, by)
        return is_waiting(self._campaign, question_id)

    def _fresh(self, n: int) -> list[Question]:
        """Return up to n open questions that nobody has, asking ahead for more where there are too few.

        Each asking plans anew and is written down, so with many people many are asked at once.
        """
        if n < 1:
            return []
        free = self._free()
        if len(free) < n:
            more = max(n - len(free), min(self._campaign.method.batch, _AT_MOST), self._leases.n_people)
            self._campaign.ask(len(self._campaign.open_questions) + more, wait=False)
            free = self._free()
        return free[:n]

    def _free(self) -> list[Question]:
        taken = self._leases.taken()
        return [question for question in self._campaign.open_questions if question.id not in taken]

    def _answered(self, by: str, n: int) -> list[Question]:
        """Return questions that others have answered, for an opinion of somebody else."""
        found: list[Question] = []
        for question_id in self._wanted:
            if len(found) >= n:
                break
            if self._leases.holder(question_id) is None and self._waits(question_id, by, second=True):
                found.append(find_question(self._campaign, question_id))
        return found


def _alike(questions: Sequence[Question], labels: Labels, label: Label | None) -> list[Question]:
    return [question for question in questions if labels.label(question.row) == label]


def _most_common(questions: Sequence[Question], labels: Labels) -> Label:
    counts = Counter(labels.label(question.row) for question in questions)
    return counts.most_common(1)[0][0]


def _share(seed: int, question_id: int) -> float:
    """Return a number between 0 and 1 that is as good as random, always the same for a question."""
    digest = hashlib.blake2b(f"{seed} {question_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
