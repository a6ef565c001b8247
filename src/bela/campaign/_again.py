"""Which draws are put to people a second time, to see how far they agree with themselves."""

import hashlib

from bela.book import Book, events
from bela.errors import ParameterError
from bela.records import Question, Role

APART = 20  # answers that lie between the two times, so that nobody answers from memory
_BETWEEN = 5  # answers between two draws that are asked again, so that they are mixed in with the others


class Repeats:
    """Finds the draws to ask again: a `share` of them that follows from the campaign's key, not from any answer.

    So nothing can be learnt from being asked again, and nobody can choose what is.
    """

    def __init__(self, book: Book, share: float = 0.0) -> None:
        if not 0 <= share <= 1:
            raise ParameterError(f"the share of draws to ask again lies between 0 and 1, not {share}")
        self._book, self._share = book, share
        self._chosen: list[Question] = []
        self._n_seen = 0  # questions that were chosen or not

    def due(self, by: str | None = None) -> list[Question]:
        """Return the draws that somebody may be asked again, the oldest first; None where there are no names.

        Whoever has a name is asked about their own answers, and about those of nobody knows whom.
        """
        self._choose()
        if not self._chosen:
            return []
        recent = self._recent(by)
        return [] if recent is None else [one for one in self._chosen if one.id not in recent and self.waits(one, by)]

    def coming(self, by: str | None = None) -> list[Question]:
        """Return the draws that somebody will be asked again, be it due or not."""
        self._choose()
        return [one for one in self._chosen if self.waits(one, by)]

    def waits(self, question: Question, by: str | None = None) -> bool:
        """Whether a draw can be put to somebody again: answered once, by them or by nobody knows whom."""
        book = self._book
        if question.row not in book.answered or question.id in book.again:
            return False
        return by is None or next(iter(book.said[question.id])) in (by, None)

    def _choose(self) -> None:
        questions = self._book.questions
        if self._share and self._book.began is not None:
            key = self._book.began.key
            fresh = (one for one in questions[self._n_seen :] if one.role is Role.BOUNDS)
            self._chosen += [one for one in fresh if _place(key, one.id) < self._share]
        self._n_seen = len(questions)

    def _recent(self, by: str | None) -> set[int] | None:
        """Return the last questions that anybody and that this person answered; None if it is too early for any."""
        recent: set[int] = set()
        n_all = n_own = 0
        for step in reversed(self._book.steps):
            event = step.event
            own = isinstance(event, (events.Answered, events.Rejected, events.AnsweredAgain)) and by in (None, event.by)
            if isinstance(event, events.AnsweredAgain) and own and n_own < _BETWEEN:
                return None
            if isinstance(event, (events.Answered, events.Rejected)) and (n_all < APART or own):
                recent.add(event.question)
                n_all, n_own = n_all + 1, n_own + own
            if min(n_all, n_own) >= APART:
                break
        return recent


def _place(key: str, question: int) -> float:
    """Return a number between 0 and 1 that is as good as random, always the same for a question of a campaign."""
    digest = hashlib.blake2b(str(question).encode(), key=key.encode()[:64], person=b"again", digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
