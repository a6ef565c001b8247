"""How much a packed file may unpack to: a file of some kilobytes could fill a disk."""

ROOM = 2 << 30  # bytes that anything may unpack to
_TIMES = 100  # what texts and tables pack to at best, but for those that say the same again and again


def most_unpacked(n_bytes: int) -> int:
    """Return how many bytes a file of this size may unpack to.

    >>> most_unpacked(1000) == ROOM, most_unpacked(10**9) == 10**11
    (True, True)
    """
    return max(ROOM, _TIMES * n_bytes)
