"""What is asked of a helper, and what it teaches: all of it a function of training, as if no draw existed."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from bela.book import Book
from bela.features import is_many
from bela.learning import Answers
from bela.methods.bela._looks import Epoch
from bela.protocols import Setup

_STREAM = 13  # of its own: which rows are put to the helper may predict no draw
_EACH = 10  # rows for the helper for each that training picks
_MOST = 30_000  # rows for the helper, of very many
_JUDGED = 20  # rows that both have answered, before the helper is judged


def rows_for_helper(book: Book, setup: Setup, epoch: Epoch, teaches: Mapping[int, int], n_learnt: int) -> list[int]:
    """Return the rows that the helper shall say something about before the next revision is made.

    These are the rows that training has picked, so that people and helper meet on them, and others by chance. Whether
    any of them was drawn makes no difference. One that is worthless by the batches that were learnt is asked no more.
    """
    if book.help.name is None:
        return []
    n_base = len(epoch.base.rows)
    learnt = epoch.training({row: code for row, code in teaches.items() if epoch.batch_of.get(row, 0) <= n_learnt})
    if is_worthless(book, learnt):
        return []
    rng = setup.rng(_STREAM, 0)
    many = is_many(book.n_rows)
    order = rng.choice(book.n_rows, min(_MOST, book.n_rows), replace=False) if many else rng.permutation(book.n_rows)
    chosen = order[epoch.drawable.inside(order)][: _EACH * (n_base + len(epoch.picks))]
    return [row for row in dict.fromkeys([*epoch.picks, *chosen.tolist()]) if row not in book.help.said]


def is_worthless(book: Book, learnt: Answers) -> bool:
    """Whether the helper has agreed with people no more often than the most common answer would have.

    A label that is no class is a disagreement like any other: whether it is one by now, draws may have decided.
    """
    said = book.help.codes(book.codes, book.steps)
    pairs = [(said.get(row), code) for row, code in zip(learnt.rows.tolist(), learnt.codes.tolist(), strict=True)
             if book.help.said.get(row) is not None]  # fmt: skip
    if len(pairs) < _JUDGED:
        return False
    most_common = Counter(code for _, code in pairs).most_common(1)[0][1]
    return bool(sum(one == other for one, other in pairs) <= most_common)


def helped_answers(book: Book) -> Answers | None:
    """Return what the helper has said, as class codes; None if nothing."""
    said = book.help.codes(book.codes, book.steps)
    rows, codes = np.array(list(said), dtype=np.intp), np.array(list(said.values()), dtype=np.int32)
    return Answers(rows=rows, codes=codes) if len(rows) else None
