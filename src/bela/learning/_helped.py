"""What a helper teaches: models of its own, of which the stack takes as much as people's answers bear out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bela.learning._graph import Doubles, Floats, Graph, Rows, propagate
from bela.learning._kernel_ridge import fit_kernel_ridge
from bela.records import UNKNOWN, IntArray

_VIEW = "clusters"  # in which single errors of a helper are outvoted by the rows around them
_LEAST = 20  # rows that it must have spoken about
_RIGHT, _OF = 3.0, 4.0  # how often it is expected to be right before anything is known, and how firmly
_FIRM = 5.0  # answers that its overall agreement is worth for each class that it names


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Rows, and what each of them teaches: class codes."""

    rows: IntArray
    codes: IntArray


def helper_scores(
    helped: Answers, answers: Answers, views: Mapping[str, Floats], graph: Graph, *, n_classes: int, seed: int
) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield scores of all rows by what a helper says, and of the rows that people have answered, each with a name.

    Models that have learnt from the helper alone, for all rows: a row that it has spoken about is scored by one that
    has not heard that, so that the answers of people, by which the model is judged, are like all other rows. And its
    word on a row itself, for what people say where it says that; where it has said nothing, what it says of the rows
    around, as this member may be the only one that counts.
    """
    rows: Rows = np.asarray(helped.rows, np.intp)
    codes: Rows = np.asarray(helped.codes, np.intp)
    if len(rows) < _LEAST or len(np.unique(codes)) < 2:
        return
    rng = np.random.default_rng([seed, len(rows), n_classes])
    ridge = fit_kernel_ridge(views[_VIEW][rows], codes, n_classes, rng)
    scores = ridge.score(views[_VIEW])
    scores[rows] = ridge.left_out
    yield "helper", scores, scores[answers.rows]
    everywhere, left_out = propagate(graph, rows, codes, n_classes, rng)
    spread = everywhere.copy()
    spread[rows] = left_out
    yield "helper's graph", spread, spread[answers.rows]
    word, of_answers = _word(helped, answers, n_classes, graph.n_rows)
    silent = np.ones(graph.n_rows, dtype=bool)
    silent[rows] = False
    word[silent], of_answers[silent[answers.rows]] = spread[silent], spread[answers.rows[silent[answers.rows]]]
    yield "helper's word", word, of_answers


def _word(helped: Answers, answers: Answers, n_classes: int, n_rows: int) -> tuple[Floats, Floats]:
    """Return the log of the chance of each class where the helper has said something, 0 elsewhere; without itself, too.

    How often people say what where the helper says c is counted, with what it is like overall standing in for answers.
    """
    said: Rows = np.full(n_rows, UNKNOWN, np.intp)
    said[helped.rows] = helped.codes
    there = np.flatnonzero(said[answers.rows] != UNKNOWN)
    word, truth = said[answers.rows[there]], np.asarray(answers.codes, np.intp)[there]
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (word, truth), 1.0)
    agreed, n = float(np.trace(counts)), float(len(there))

    def chances(found: Doubles, words: Rows, share: Doubles) -> Floats:
        """Return the log-chances for words, from what was found where each was said, and the share that is right."""
        prior = np.repeat(((1.0 - share) / max(n_classes - 1, 1))[:, None], n_classes, axis=1)
        prior[np.arange(len(words)), words] = share
        total = found + _FIRM * prior
        return np.asarray(np.log(total / total.sum(axis=1, keepdims=True)), np.float32)

    everywhere, left_out = (
        np.zeros((n_rows, n_classes), np.float32),
        np.zeros((len(answers.rows), n_classes), np.float32),
    )
    names: Rows = np.arange(n_classes)
    table = chances(counts, names, np.full(n_classes, (agreed + _RIGHT) / (n + _OF)))
    everywhere[helped.rows] = table[helped.codes]
    others = counts[word] - np.eye(n_classes)[truth]
    left_out[there] = chances(others, word, (agreed - (word == truth) + _RIGHT) / (n - 1.0 + _OF))
    return everywhere, left_out
