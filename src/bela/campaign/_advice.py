"""What to tell people who cannot reach what they want by asking alone."""

from collections.abc import Iterable

from bela.records import Prospect, Rung

_ENOUGH_ROWS = 20  # that may be wrong: with fewer, a share may be out of reach by how few rows there are
_OTHER_WAYS = (
    "Other ways may get further: a model of sentences or images (--embed), or labels that a model has given "
    "(--prediction), in a new campaign."
)


def other_ways(ladder: Iterable[Rung], n_rows: int) -> str | None:
    """Say what else to try where a share is out of reach by how little the rows say, and not by how few there are."""
    closed = (rung.share for rung in ladder if rung.prospect is Prospect.OUT_OF_REACH)
    return _OTHER_WAYS if any((1.0 - share) * n_rows >= _ENOUGH_ROWS for share in closed) else None
