"""Which questions go to whom: to each person their own, for a while, and some to a second person."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from bela.book import opinions, people_who_said
from bela.campaign import Campaign
from bela.records import Label, Question
from bela.views import Labels

_AT_MOST = 64  # questions that are asked ahead
_LEAST_AHEAD, _MOST_AHEAD = 4, 10  # times the rows of a grid, to find enough of one label

Choice = tuple[Question, bool]
"""A question, and whether it is put to a second person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A question that somebody has before them in one tab of their browser, until its time is over."""

    by: str
    tab: str
    until: float
    second: bool


class Assignments:
    """Leases questions to people, so that no two people, and no two tabs of one, have the same before them.

    Leases are in memory: when the server starts anew, all questions are free. Whoever calls holds the campaign's lock,
    and puts questions that something was said about on the list `heard`. `overlap` is the share of questions that a
    second person sees, `seconds` how long a question is kept for whoever has it.
    """

    def __init__(self, campaign: Campaign, *, overlap: float, seconds: float, clock: Callable[[], float]) -> None:
        self._campaign, self._overlap, self.seconds, self._clock = campaign, overlap, seconds, clock
        self._leases: dict[int, Lease] = {}
        self._wanted: dict[int, None] = {}  # questions that a second person should see, the oldest first
        self.heard = [found.question for found in opinions(campaign.book)] if overlap else []

    def choose(self, by: str, tab: str, n: int) -> list[Choice]:
        """Lease up to n questions: those that somebody has, some that others have answered, and new ones."""
        self.catch_up()
        chosen = self._held(by, tab)[:n]
        chosen += [(question, True) for question in self._answered(by, (n - len(chosen) + 1) // 2)]
        chosen += [(question, False) for question in self._fresh(n - len(chosen))]
        for question, second in chosen:
            self.lease(question.id, by, tab, second=second)
        return chosen

    def choose_alike(self, by: str, tab: str, n: int, labels: Labels | None) -> list[Choice]:
        """Lease new questions of one suggested label: that of most that somebody has, or the one the oldest has.

        By the oldest, not by what there is most of: draws count in their order, up to the first that is unanswered, so
        one that is put off for ever would keep all later ones from counting.
        """
        self.catch_up()
        held = [question for question, second in self._held(by, tab) if not second]
        if labels is None:
            chosen = [*held, *self._fresh(n - len(held))][:n]
        else:
            free = self._free()
            counts = Counter(labels.label(question.row) for question in held or free[:1])
            label = counts.most_common(1)[0][0] if counts else None
            chosen = _alike([*held, *free], labels, label)
            if len(chosen) < n and not held:
                free = self._fresh(self._n_ahead(n))
                label = labels.label(free[0].row) if free else None
                chosen = _alike(free, labels, label)
            chosen = chosen[:n]
        self.release({question.id for question in held} - {question.id for question in chosen}, by, tab)
        for question in chosen:
            self.lease(question.id, by, tab)
        return [(question, False) for question in chosen]

    def lease(self, question: int, by: str, tab: str, *, second: bool = False) -> None:
        """Let somebody have a question, or have it for longer."""
        self._leases[question] = Lease(by=by, tab=tab, until=self._clock() + self.seconds, second=second)

    def release(self, questions: Iterable[int], by: str, tab: str) -> None:
        """Let others have questions that somebody had in a tab; those of other people and tabs stay theirs."""
        for question in questions:
            lease = self._leases.get(question)
            if lease is not None and (lease.by, lease.tab) == (by, tab):
                del self._leases[question]

    def move(self, by: str, was: str, tab: str) -> None:
        """Let a tab that was loaded anew, under another name, go on with its questions.

        What it gives back under the old name may come in later: that must not take them from it.
        """
        for question, lease in self._leases.items():
            if (lease.by, lease.tab) == (by, was):
                self._leases[question] = replace(lease, tab=tab)

    def release_unseen(self, by: str, tab: str, in_sight: Collection[str]) -> bool:
        """Let everybody have what somebody has in other tabs that are out of sight; whether there was anything.

        A browser that is closed or killed need not get to say that its questions are free. Programs, whose tab has no
        name, are never in sight, and keep theirs.
        """
        kept = {tab, "", *in_sight}
        left = [question for question, lease in self._leases.items() if lease.by == by and lease.tab not in kept]
        for question in left:
            del self._leases[question]
        return bool(left)

    def holder(self, question: int) -> str | None:
        """Return who has a question, None if nobody."""
        self.catch_up()
        lease = self._leases.get(question)
        return None if lease is None or lease.until <= self._clock() else lease.by

    def catch_up(self) -> None:
        """Take note of what was said: a second person should see some of the questions that one has seen."""
        for question in self.heard:
            if question not in self._campaign.book.open:
                self._leases.pop(question, None)
            alone = len(people_who_said(self._campaign.book, question)) == 1
            if alone and _share(self._campaign.seed, question) < self._overlap:
                self._wanted[question] = None
            else:
                self._wanted.pop(question, None)
        self.heard.clear()

    def _n_ahead(self, n: int) -> int:
        """Return how many questions to ask ahead for a grid of n rows: the more, the larger the groups of one label.

        All that are asked have to be answered for the last of them to count, so only as many as are half of what it
        probably takes to reach the target.
        """
        forecast = self._campaign.forecast
        likely = 0 if forecast is None else forecast.answers // 2
        return min(max(likely, _LEAST_AHEAD * n), _MOST_AHEAD * n)

    def _held(self, by: str, tab: str) -> list[Choice]:
        """Return the questions that somebody has and that still wait for them, in the order in which they got them."""
        now, found = self._clock(), []
        for question, lease in list(self._leases.items()):
            if (lease.by, lease.tab) != (by, tab) or lease.until <= now:
                continue
            if self._waits(question, by, second=lease.second):
                found.append((self._campaign.question(question), lease.second))
            else:
                del self._leases[question]
        return found

    def _waits(self, question: int, by: str, *, second: bool) -> bool:
        if second:
            said = people_who_said(self._campaign.book, question)
            return bool(said) and by not in said
        return question in self._campaign.book.open

    def _fresh(self, n: int) -> list[Question]:
        """Return up to n open questions that nobody has, asking ahead for more where there are too few.

        Each asking plans anew and is written down, so with many people many are asked at once.
        """
        if n < 1:
            return []
        free = self._free()
        if len(free) < n:
            n_people = len({lease.by for lease in self._leases.values()})
            more = max(n - len(free), min(self._campaign.assessment.batch, _AT_MOST), n_people)
            self._campaign.ask(len(self._campaign.open_questions) + more, wait=False)
            free = self._free()
        return free[:n]

    def _free(self) -> list[Question]:
        now = self._clock()
        self._leases = {question: lease for question, lease in self._leases.items() if lease.until > now}
        return [question for question in self._campaign.open_questions if question.id not in self._leases]

    def _answered(self, by: str, n: int) -> list[Question]:
        """Return questions that others have answered, for an opinion of somebody else."""
        wanted = (one for one in self._wanted if self.holder(one) is None and self._waits(one, by, second=True))
        return [self._campaign.question(question) for question in islice(wanted, n)]


def _alike(questions: Sequence[Question], labels: Labels, label: Label | None) -> list[Question]:
    return [question for question in questions if labels.label(question.row) == label]


def _share(seed: int, question: int) -> float:
    """Return a number between 0 and 1 that is as good as random, always the same for a question."""
    digest = hashlib.blake2b(f"{seed} {question}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
