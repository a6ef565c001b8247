"""Which questions go to whom: to each person their own, for a while, and some to a second person."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from bela.book import opinions, people_who_said
from bela.campaign import Campaign, Repeats
from bela.records import Question, Role
from bela.views import Labels
from bela.web._leases import KeptLeases, Lease, Seat

_AT_MOST = 64  # questions that are asked ahead
_ALONE = 8  # questions that are asked ahead where a grid has to wait for draws
_LEAST_AHEAD, _MOST_AHEAD = 4, 10  # times the rows of a grid, to find enough of one label
_KEPT = 2  # rows that a page keeps for itself: the one on its screen, and the one that comes next


class Choice(NamedTuple):
    """A question for somebody.

    It is put to a `second` person, or to the same one `again`, or may be confirmed in a `grid`.
    """

    question: Question
    second: bool = False
    again: bool = False
    grid: bool = False


class Assignments:
    """Leases questions to people, so that no two people, and no two browsers or tabs of one, have the same before them.

    Leases are `kept`, if that is wanted, so that pages which are open when the server starts anew go on with what they
    have. Whoever calls holds the campaign's lock, and puts questions that something was said about on the list `heard`.
    `overlap` is the share of questions that a second person sees, `again` that of draws that are asked twice (whoever
    answered first, if people go `by_name`), `seconds` how long a question is kept for whoever has it. With
    `blind_draws`, no draw is ever part of a grid.
    """

    def __init__(
        self, campaign: Campaign, *, overlap: float, seconds: float, clock: Callable[[], float], again: float = 0.0,
        by_name: bool = True, blind_draws: bool = True, kept: KeptLeases | None = None,
    ) -> None:  # fmt: skip
        self._campaign, self._overlap, self.seconds, self._clock = campaign, overlap, seconds, clock
        self._repeats, self._by_name, self._blind_draws = Repeats(campaign.book, again), by_name, blind_draws
        self._kept = kept
        self._leases: dict[int, Lease] = {} if kept is None else self._taken_up(kept)
        self._wanted: dict[int, None] = {}  # questions that a second person should see, the oldest first
        self.heard = [found.question for found in opinions(campaign.book)] if overlap else []

    def choose(self, by: str, at: Seat, n: int) -> list[Choice]:
        """Lease up to n questions: those that somebody has, some that others have answered, and new ones."""
        self.catch_up()
        chosen = [choice._replace(grid=False) for choice in self._held(by, at)[:n]]
        chosen += [Choice(question, second=True) for question in self._answered(by, (n - len(chosen) + 1) // 2)]
        chosen += self._repeated(by, chosen, n)
        chosen += [Choice(question) for question in self._fresh(n - len(chosen))]
        return self._lease_all(chosen or self._shared_out(by, n), by, at)

    def choose_for_grid(self, by: str, at: Seat, n: int, labels: Labels | None) -> list[Choice]:
        """Lease questions for a grid: rows of one suggested label, or draws that are answered one by one.

        Which of the two, and which label, is as what somebody has already, or else as the oldest question: draws count
        in their order, up to the first that is unanswered, so one that is put off for ever would keep all later ones
        from counting.
        """
        self.catch_up()
        held = [choice for choice in self._held(by, at) if not choice.second]
        first = held[:1] or [Choice(question) for question in self._fresh(1)]
        if any(choice.again or self._is_blind(choice.question) for choice in first):
            chosen = [choice for choice in held if choice.again or self._is_blind(choice.question)]
            chosen += self._repeated(by, chosen, n)
            self._fresh(min(n, _ALONE) - len(chosen))  # so that somebody who answers one by one need not wait
            chosen += [Choice(question) for question in self._free() if self._is_blind(question)]
            chosen = chosen[:n]
        else:
            mine = [choice for choice in held if not (choice.again or self._is_blind(choice.question))]
            chosen = [Choice(question, grid=True) for question in self._alike(mine, n, labels)]
        self.release({one.question.id for one in held} - {one.question.id for one in chosen}, by, at)
        return self._lease_all(chosen or self._shared_out_alike(by, n, labels), by, at)

    def _alike(self, mine: Sequence[Choice], n: int, labels: Labels | None) -> list[Question]:
        """Return up to n questions of one suggested label: that of most that somebody has, or that of the oldest.

        What is in a grid already stays in it: it was alike when it was put on the screen, and labels go on changing.
        """
        held, together = [choice.question for choice in mine], {choice.question.id for choice in mine if choice.grid}
        if labels is None:
            fresh = (question for question in self._fresh(n - len(held)) if not self._is_blind(question))
            return [*held, *fresh][:n]
        free = self._free()
        for n_ahead in (0, self._n_ahead(n)):
            free = self._fresh(n_ahead) if n_ahead else free
            free = [question for question in free if not self._is_blind(question)]
            counts = Counter(labels.label(question.row) for question in held or free[:1])
            label = counts.most_common(1)[0][0] if counts else None
            alike = (one for one in (*held, *free) if one.id in together or labels.label(one.row) == label)
            chosen = list(alike)
            if len(chosen) >= n or together:
                break
        return chosen[:n]

    def give_back(self, question: int, kind: str, by: str, at: Seat, *, grid: bool) -> Choice:
        """Let somebody have the question again that they took a step of this kind back for, before all others."""
        self.heard.append(question)
        self.catch_up()
        second, again, asked = kind == "opinion", kind == "again", self._campaign.question(question)
        choice = Choice(asked, second, again, grid and not (second or again or self._is_blind(asked)))
        others = self._leases
        self._leases = {}
        self._lease_all([choice], by, at)
        self._leases |= {other: lease for other, lease in others.items() if other != question}
        return choice

    def _is_blind(self, question: Question) -> bool:
        """Whether a question is answered alone and without a suggestion, as people agree more with what they see."""
        return self._blind_draws and question.role is Role.BOUNDS

    def _repeated(self, by: str, chosen: Sequence[Choice], n: int) -> list[Choice]:
        """Return a draw to ask once more, if it is time; one at most among those that somebody has before them."""
        if len(chosen) >= n or any(choice.again for choice in chosen):
            return []
        free = (one for one in self._repeats.due(self._who(by)) if self.holder(one.id) is None)
        return [Choice(question, again=True) for question in islice(free, 1)]

    def _who(self, by: str) -> str | None:
        """Return whose answers somebody can be asked about again: their own, or all where nobody has a name."""
        return by if self._by_name else None

    def _lease_all(self, chosen: list[Choice], by: str, at: Seat) -> list[Choice]:
        """Let somebody have questions, or have them for longer."""
        until = self._clock() + self.seconds
        for question, second, again, grid in chosen:
            self._leases[question.id] = Lease(by=by, at=at, until=until, second=second, again=again, grid=grid)
        self._keep()
        return chosen

    def _keep(self) -> None:
        if self._kept is not None:
            self._kept.write(self._leases, self._clock())

    def _taken_up(self, kept: KeptLeases) -> dict[int, Lease]:
        """Return the leases that were kept, of questions that there are."""
        found, n_questions = kept.read(self._clock(), self.seconds), len(self._campaign.book.questions)
        return {question: lease for question, lease in found.items() if 0 <= question < n_questions}

    def release(self, questions: Iterable[int], by: str, at: Seat) -> None:
        """Let others have questions that somebody had in a tab; those of other people and tabs stay theirs."""
        for question in questions:
            lease = self._leases.get(question)
            if lease is not None and (lease.by, lease.at) == (by, at):
                del self._leases[question]
        self._keep()

    def move(self, by: str, was: Seat, at: Seat) -> None:
        """Let a tab that was loaded anew, under another name, go on with its questions.

        What it gives back under the old name may come in later: that must not take them from it.
        """
        for question, lease in self._leases.items():
            if (lease.by, lease.at) == (by, was):
                self._leases[question] = replace(lease, at=at)

    def release_gone(self, by: str, at: Seat, gone: Collection[Seat]) -> bool:
        """Let everybody have what somebody has in pages that are gone; whether there was anything.

        A browser that is closed or killed need not get to say that its questions are free.
        """
        left = [one for one, lease in self._leases.items() if lease.by == by and lease.at in gone and lease.at != at]
        for question in left:
            del self._leases[question]
        return bool(left)

    def holder(self, question: int) -> str | None:
        """Return who has a question, None if nobody."""
        self.catch_up()
        lease = self._leases.get(question)
        return None if lease is None or lease.until <= self._clock() else lease.by

    def waiting(self, by: str) -> dict[int, str]:
        """Return the rows that somebody is, or will be, asked about, and for what: "answer", "opinion" or "again".

        Whoever has the question now, all that are open count: nobody may have seen their labels before them.
        """
        self.catch_up()
        rows = {question.row: "again" for question in self._repeats.coming(self._who(by))}
        wanted = (one for one in self._wanted if self._waits(one, by, second=True))
        rows |= {self._campaign.question(question).row: "opinion" for question in wanted}
        return rows | {question.row: "answer" for question in self._campaign.book.open.values()}

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

    def _held(self, by: str, at: Seat) -> list[Choice]:
        """Return the questions that somebody has and that still wait for them, in the order in which they got them."""
        now, found = self._clock(), []
        for question, lease in list(self._leases.items()):
            if (lease.by, lease.at) != (by, at) or lease.until <= now:
                continue
            if self._waits(question, by, second=lease.second, again=lease.again):
                found.append(Choice(self._campaign.question(question), lease.second, lease.again, lease.grid))
            else:
                del self._leases[question]
        return found

    def _waits(self, question: int, by: str, *, second: bool = False, again: bool = False) -> bool:
        if again:
            return self._repeats.waits(self._campaign.question(question), self._who(by))
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

    def _shared_out(self, by: str, n: int) -> list[Choice]:
        """Return what somebody who has nothing may take over from the page of whoever has most: the last half of it.

        Before a revision nothing new is asked until all is answered: nobody is to wait for what others have ahead. What
        they may have on the screen stays theirs, and the row after it, which is there before their page has asked for
        more and hears of the rest; a program, which sits nowhere, would not.
        """
        held: dict[tuple[str, Seat], list[int]] = {}
        for question, lease in self._leases.items():
            takes_over = lease.by != by and lease.at.tab and not (lease.second or lease.again or lease.grid)
            if takes_over and question in self._campaign.book.open:
                held.setdefault((lease.by, lease.at), []).append(question)
        most = max(held.values(), key=len, default=[])
        kept = max((len(most) + 1) // 2, _KEPT)
        return [Choice(self._campaign.question(question)) for question in most[kept:][-n:]]

    def _shared_out_alike(self, by: str, n: int, labels: Labels | None) -> list[Choice]:
        """Return what somebody may take over for a grid: draws, or rows of one suggested label, as the first is."""

        def key(choice: Choice) -> tuple[bool, object]:
            blind = self._is_blind(choice.question)
            return blind, None if blind or labels is None else labels.label(choice.question.row)

        shared = [choice._replace(grid=not self._is_blind(choice.question)) for choice in self._shared_out(by, n)]
        return [choice for choice in shared if key(choice) == key(shared[0])]

    def _answered(self, by: str, n: int) -> list[Question]:
        """Return questions that others have answered, for an opinion of somebody else."""
        wanted = (one for one in self._wanted if self.holder(one) is None and self._waits(one, by, second=True))
        return [self._campaign.question(question) for question in islice(wanted, n)]


def _share(seed: int, question: int) -> float:
    """Return a number between 0 and 1 that is as good as random, always the same for a question."""
    digest = hashlib.blake2b(f"{seed} {question}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
