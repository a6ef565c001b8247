"""Labels of rows that were not in a campaign: by the same learner, from all its answers, outside of its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.book import codes_by_name
from bela.campaign._inputs import check_predictions, split_predictions
from bela.data import open_table, stack_tables
from bela.errors import LabelError, ParameterError
from bela.features import NoFeatures, prepare
from bela.labels import is_missing, label_to_text
from bela.methods._deciding import codes_now
from bela.methods.bela import make_learner
from bela.protocols import Setup, Source, Table
from bela.records import UNKNOWN, NewLabels, Prediction
from bela.storage import MemoryArrays

if TYPE_CHECKING:
    from bela.campaign._campaign import Campaign


def predict_new(campaign: Campaign, data: object, predictions: Mapping[str, Any] | None = None) -> NewLabels:
    """Label new rows, which have the columns of the old ones, and the predictions that these had.

    Old and new rows are prepared together, and the learner of the certified method sees them all.
    """
    source, n_new = _join(campaign, data, predictions)
    book, n_old = campaign.book, campaign.n_rows
    joined = _join_predictions(campaign, predictions or {}, n_new)
    known = book.known.copy()
    known[list(book.corrections)] = list(book.corrections.values())
    rows = np.flatnonzero(known != UNKNOWN)
    if not len(rows) and all((one.codes == UNKNOWN).all() for one in joined.values()):
        raise LabelError("no label is known yet: answer at least one question first")
    learner = make_learner(Setup(source=source, seed=campaign.seed, arrays=MemoryArrays(), predictions=joined))
    fit = learner.fit(rows, known[rows], *([[one.codes for one in joined.values()]] if joined else []))
    labels, chances = fit.say(1.0)
    return NewLabels(labels=book.codes.decode(labels[n_old:]), probability=chances[n_old:], classes=book.codes.names)


def _join(campaign: Campaign, data: object, predictions: Mapping[str, Any] | None) -> tuple[Source, int]:
    prepared, n_old = campaign.prepared, campaign.n_rows
    check_predictions(predictions)
    if isinstance(prepared.source, NoFeatures):
        if not predictions:
            raise ParameterError("nothing but predictions was learnt from: give those of the new rows")
        first = next(iter(predictions.values()))
        n_new = len(first[0]) if isinstance(first, tuple) and len(first) == 2 else len(first)
        return NoFeatures(n_old + n_new), n_new
    if prepared.plan.file is not None:
        raise ParameterError(f"features came from {prepared.plan.file}, which has none of new rows: begin with numbers")
    table = data if isinstance(data, Table) else open_table(data)
    columns, images = list(prepared.plan.columns), prepared.plan.of_kind("image")
    joined = stack_tables(prepared.table, table, columns, images)
    both = prepare(  # nothing that a model has read already is read again, or by what nobody has allowed
        joined, plan=prepared.plan, vectors=prepared.vectors, seed=campaign.seed, allowed=prepared.allowed
    )
    return both.source, table.n_rows


def _join_predictions(campaign: Campaign, predictions: Mapping[str, Any], n_new: int) -> dict[str, Prediction]:
    missing = [name for name in campaign.predictions if name not in predictions]
    if missing:
        raise ParameterError(f"the labels rest on the prediction {missing[0]!r}: give that of the new rows as well")
    joined, said = {}, split_predictions({name: predictions[name] for name in campaign.predictions}, n_new)
    book = campaign.book
    code_of = codes_by_name(book.codes, book.steps)  # earlier names too: whoever predicts has not heard of others
    for name, old in campaign.predictions.items():
        labels, scores = said[name]
        new = labels.table_of(
            [UNKNOWN if is_missing(one) else code_of.get(label_to_text(one), UNKNOWN) for one in labels.values]
        )
        both = None
        if old.scores is not None:
            both = np.concatenate([old.scores, np.full(n_new, np.nan) if scores is None else scores])
        joined[name] = Prediction(codes=codes_now(book, np.concatenate([old.codes, new])), scores=both)
    return joined
