"""What is asked of a helper, and what it teaches: all of it a function of training, as if no draw existed."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from bela.book import Book
from bela.features import is_many
from bela.learning import Answers
from bela.methods.bela._looks import Epoch
from bela.protocols import Setup
from bela.records import BoolArray, IntArray, Label

_STREAM = 13  # of its own: which rows are put to the helper may predict no draw
_EACH = 10  # rows for the helper for each that training picks
_MOST = 30_000  # rows for the helper, of very many
_JUDGED = 20  # rows that people have answered and the helper was asked about, before it is judged
_SILENT = 0.1  # of these, that it must have told: one that tells fewer is paid for nothing


def rows_for_helper(book: Book, setup: Setup, epoch: Epoch, teaches: Mapping[int, int], n_learnt: int) -> list[int]:
    """Return the rows that the helper shall say something about before the next revision is made.

    These are the rows that training has picked, so that people and helper meet on them, and others by chance. Whether
    any of them was drawn makes no difference. One that is worthless by the batches that were learnt is asked no more.
    """
    learnt = learnt_answers(epoch, teaches, n_learnt)
    if book.help.name is None or is_worthless(book, setup, epoch, learnt):
        return []
    return [row for row in _wanted(setup, epoch) if row not in book.help.said]


def learnt_answers(epoch: Epoch, teaches: Mapping[int, int], n_learnt: int) -> Answers:
    """Return what the last revision has learnt from, whatever else was answered since."""
    return epoch.training({row: code for row, code in teaches.items() if epoch.batch_of.get(row, 0) <= n_learnt})


def examples_for_helper(book: Book, epoch: Epoch, teaches: Mapping[int, int], n_learnt: int) -> dict[int, Label]:
    """Return rows that a helper may be shown with their labels: what the last revision has learnt from.

    Not what was answered since: who is asked what first depends on draws, and so would what the helper says.
    """
    learnt = learnt_answers(epoch, teaches, n_learnt)
    classes = book.codes.classes
    return {row: classes[code] for row, code in zip(learnt.rows.tolist(), learnt.codes.tolist(), strict=True)}


def declined_rows(book: Book, setup: Setup, epoch: Epoch | None, taken: BoolArray) -> IntArray:
    """Return the rows that the helper could not tell, in an order that nothing but chance has decided.

    People are asked about them next, a quarter of what they are asked to teach at most: on others both must meet.
    Training in an `epoch` hears of no others than of those that it hears answers about.
    """
    heard = None if epoch is None else _heard(setup, epoch)
    rows = [r for r, label in book.help.said.items() if label is None and (heard is None or r in heard)]
    if not rows:
        return np.array([], dtype=np.intp)
    order = _order(setup, book.n_rows)
    order = order[np.isin(order, rows)]
    return np.asarray(order[~taken[order]], dtype=np.intp)


def _order(setup: Setup, n_rows: int) -> IntArray:
    """Return the rows by which a helper comes to others than those that training has picked."""
    rng = setup.rng(_STREAM, 0)
    return rng.choice(n_rows, min(_MOST, n_rows), replace=False) if is_many(n_rows) else rng.permutation(n_rows)


def _wanted(setup: Setup, epoch: Epoch) -> list[int]:
    """Return all rows that an epoch has had a helper asked about so far."""
    order = _order(setup, epoch.drawable.n_rows)
    chosen = order[epoch.drawable.inside(order)][: _EACH * (len(epoch.base.rows) + len(epoch.picks))]
    return list(dict.fromkeys([*epoch.picks, *chosen.tolist()]))


def _heard(setup: Setup, epoch: Epoch) -> frozenset[int]:
    """Return the rows of which training may hear in an epoch what a helper says.

    What was asked before the epoch and is answered in it comes at some moment, while draws are made or after them, and
    so it is not heard before everything is released, unless the epoch asks for it too and therefore waits for it.
    """
    return epoch.spoken.union(_wanted(setup, epoch))


def is_worthless(book: Book, setup: Setup, epoch: Epoch, learnt: Answers) -> bool:
    """Whether the helper has agreed with people no more often than the most common answer would have, or told nothing.

    A label that is no class is a disagreement like any other: whether it is one by now, draws may have decided.
    """
    said, heard = book.help.codes(book.codes, book.steps), _heard(setup, epoch)
    met = [(row, code) for row, code in zip(learnt.rows.tolist(), learnt.codes.tolist(), strict=True)
           if row in heard and row in book.help.said]  # fmt: skip
    pairs = [(said.get(row), code) for row, code in met if book.help.said[row] is not None]
    if len(met) >= _JUDGED and len(pairs) < _SILENT * len(met):
        return True
    if len(pairs) < _JUDGED:
        return False
    most_common = Counter(code for _, code in pairs).most_common(1)[0][1]
    return bool(sum(one == other for one, other in pairs) <= most_common)


def helped_answers(book: Book, setup: Setup, epoch: Epoch | None) -> Answers | None:
    """Return what the helper has said that an epoch may learn from, as class codes; all of it for a release."""
    said = book.help.codes(book.codes, book.steps)
    if epoch is not None and said:
        heard = _heard(setup, epoch)
        said = {row: code for row, code in said.items() if row in heard}
    rows, codes = np.array(list(said), dtype=np.intp), np.array(list(said.values()), dtype=np.int32)
    return Answers(rows=rows, codes=codes) if len(rows) else None
