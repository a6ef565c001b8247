"""What a number is worth, in the words in which people are told."""

from enum import StrEnum
from typing import Self

from bela.shares import percent_text, round_bound, share_text

_PUBLISHED = "This is the bound that was published with the method. It is seldom wrong, but it is {}."


class Guarantee(StrEnum):
    """What the bound of a certificate is worth, and the words in which people are told.

    ANYTIME holds at all times at once, LOOKS for all looks over which the allowed error is divided, ONE_LOOK for
    one sample of a size fixed beforehand. PAPER, HSAL and PLAL are the bounds of the published methods, which are
    not a guarantee under their own adaptive choices; nor is NONE, whatever it comes from.

    >>> Guarantee.ANYTIME.claim(0.9509, 0.95)
    'Certified: at least 95.0 % of the labels are right (confidence 95 %).'
    >>> Guarantee.HSAL.claim(0.9509, 0.95)
    'Estimated: 95.0 % of the labels are right, which is not a guarantee.'
    """

    holds: bool  # whether it is a guarantee at all
    word: str  # for a number of this worth
    sentence: str  # what the number is worth, in plain words

    def __new__(cls, value: str, holds: bool = False, sentence: str = "") -> Self:
        """Make one of them, with its words."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.holds, member.word, member.sentence = holds, "certified" if holds else "estimated", sentence
        return member

    ANYTIME = (
        "anytime", True,
        "The confidence is over the random draws, and the number holds at every moment at once: looking often, and "
        "stopping when it is high enough, does not make it less true.",
    )  # fmt: skip
    LOOKS = (
        "looks", True,
        "The confidence is over the random draws, and is divided over all looks at the rows that were held out: "
        "stopping at the first that is good enough does not make the number less true.",
    )  # fmt: skip
    ONE_LOOK = (
        "one-look", True,
        "The confidence is over the random draws: one sample, whose size was fixed before its first row was drawn. "
        "The number is about these labels; others, made after the sample was seen, would need another.",
    )  # fmt: skip
    PAPER = "paper", False, _PUBLISHED.format("not proved for leaves and labels that the counted answers have chosen")
    HSAL = "hsal", False, _PUBLISHED.format("not proved for clusters and labels that the counted answers have chosen")
    PLAL = "plal", False, _PUBLISHED.format("proved only where every question is answered, and no answer is taken back")
    NONE = "none", False, "This number rests on no inequality: take it as a hint."

    def claim(self, lower: float, confidence: float) -> str:
        """Say what is known of the labels, by a bound of this worth."""
        if round_bound(lower, 3) <= 0:  # a bound that would be shown as 0.0 % says nothing
            return f"Nothing is {self.word} yet: the answers so far are too few for a number that can be trusted."
        if not self.holds:
            return f"Estimated: {share_text(lower)} of the labels are right, which is not a guarantee."
        sure = percent_text(confidence)
        return f"Certified: at least {share_text(lower)} of the labels are right (confidence {sure})."
