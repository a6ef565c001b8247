"""What to tell people who cannot reach what they want by asking alone."""

from collections.abc import Iterable

from bela.records import Prospect, Rung

_ENOUGH_ROWS = 20  # that may be wrong: with fewer, a share may be out of reach by how few rows there are
_OTHER_WAYS = "Other ways may get further: a model of sentences or images (--embed){}, in a new campaign."
_PREDICTED = ", or labels that a model has given (--prediction)"


def other_ways(ladder: Iterable[Rung], n_rows: int, *, predicted: bool = False) -> str | None:
    """Say what else to try where a share is out of reach by how little the rows say, and not by how few there are.

    Where something is `predicted` already, that is no other way.

    >>> other_ways([Rung(share=0.9, prospect=Prospect.OUT_OF_REACH)], 1000, predicted=True)
    'Other ways may get further: a model of sentences or images (--embed), in a new campaign.'
    """
    closed = (rung.share for rung in ladder if rung.prospect is Prospect.OUT_OF_REACH)
    if not any((1.0 - share) * n_rows >= _ENOUGH_ROWS for share in closed):
        return None
    return _OTHER_WAYS.format("" if predicted else _PREDICTED)
