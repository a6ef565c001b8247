"""Ask, tell, skip, undo, relabel."""

import numpy as np
import pytest

import bela
from bela.errors import LabelError, ParameterError, QuestionError
from bela.methods import METHODS
from bela.records import StopReason


def names(y: np.ndarray) -> np.ndarray:
    return np.array(["red", "green", "blue"])[y]


def test_asking_again_gives_the_same_questions(blobs):
    """Until it is told, a question stays the next question."""
    campaign = bela.Campaign(blobs[0])
    first = campaign.ask(9)
    assert len(first) == 9
    assert campaign.ask(9) == first
    assert campaign.ask(3) == first[:3]
    campaign.tell(first[4].id, "red")
    again = campaign.ask(9)
    assert again[:8] == first[:4] + first[5:]
    assert again[8].row not in {question.row for question in first}


def test_telling_twice_is_harmless_and_another_answer_is_an_error(blobs):
    """tell is idempotent; a change of mind is relabel."""
    campaign = bela.Campaign(blobs[0])
    question = campaign.ask()[0]
    campaign.tell(question.id, "red")
    campaign.tell(question.id, "red")
    assert campaign.n_asked == 1
    campaign.tell(campaign.ask()[0].id, "blue")
    with pytest.raises(QuestionError, match="relabel"):
        campaign.tell(question.id, "blue")
    campaign.relabel(question.row, "blue")
    assert campaign.result().labels[question.row] == "blue"
    assert campaign.n_asked == 2


def test_undo_takes_back_answers_one_by_one(blobs):
    """Undone answers and skips are asked again, the last first; undoing all leaves no answer."""
    X, y = blobs
    campaign = bela.Campaign(X)
    told = []
    for i in range(20):
        question = campaign.ask()[0]
        told.append(question)
        if i == 7:
            campaign.skip(question.id)
        else:
            campaign.tell(question.id, int(y[question.row]))
    for question in reversed(told):
        assert campaign.undo() == question
        assert campaign.ask()[0] == min(campaign.ask(30), key=lambda q: q.id)
    assert campaign.n_asked == 0
    assert (campaign.book.known == -1).all()
    with pytest.raises(QuestionError, match="nothing to undo"):
        campaign.undo()


def test_run_is_a_loop_over_ask_and_tell(blobs):
    """bela.label, Campaign.run and a loop by hand give the same result."""
    X, y = blobs
    by_label = bela.label(X, names(y), budget=60, seed=2)
    campaign = bela.Campaign(X, budget=60, seed=2)
    while campaign.stop_reason is None:
        for question in campaign.ask():
            campaign.tell(question.id, str(names(y)[question.row]))
    by_hand = campaign.result()
    assert (by_label.labels == by_hand.labels).all()
    assert by_label.certificate == by_hand.certificate
    assert by_label.n_asked == by_hand.n_asked == 60
    assert by_label.stop_reason == StopReason.BUDGET


@pytest.mark.parametrize("method", METHODS.names)
def test_results_hold_what_they_say(method, blobs):
    """labels, known, leaf and the counts fit together, for string labels and a callable oracle."""
    X, y = blobs
    options = {"predictions": {"model": np.roll(names(y), 1)}} if method == "audit" else {}
    result = bela.label(X, lambda rows: names(y)[rows], budget=80, method=method, **options)
    assert result.n_asked == result.known.sum() == 80
    assert (result.labels[result.known] == names(y)[result.known]).all()
    assert set(result.classes) == {"red", "green", "blue"}
    assert result.labels.shape == result.leaf.shape == (400,)
    assert result.method == method


def test_it_stops_at_the_target(blobs):
    """The target is a share of labels that the bound must reach."""
    X, y = blobs
    result = bela.label(X, y, target=0.7)
    assert result.stop_reason == StopReason.TARGET
    assert 0.7 <= result.certificate.lower <= (result.labels == y).mean()
    assert result.n_asked < 400


def test_it_stops_when_all_is_known(blobs):
    """A campaign without target or budget asks every row, as whoever answers says when it is enough."""
    X, y = blobs
    result = bela.Campaign(X[:50]).run(y[:50])
    assert result.stop_reason == StopReason.EXHAUSTED
    assert result.certificate.lower == 1


def test_label_does_not_ask_for_everything_unless_it_is_told_to(blobs):
    """Nobody is there to stop it, so without target or budget it stops as `bela run` does; a budget is kept."""
    X, y = blobs
    result = bela.label(X, y)
    assert result.stop_reason == StopReason.TARGET
    assert result.n_asked < len(y)
    assert result.certificate.lower >= 0.95
    assert bela.label(X[:150], y[:150], budget=150).n_asked == 150


def test_a_result_is_printed_in_a_line(blobs):
    """What there is, and what is certified, instead of arrays of all rows."""
    X, y = blobs
    result = bela.label(X, y, budget=30)
    assert repr(result) == f"<Result: 400 rows, {len(result.classes)} classes, 30 answers. {result.certificate.claim}>"


def test_labels_that_come_with_the_data_are_free(blobs):
    """Known labels are neither asked nor counted; if all are known nothing is asked."""
    X, y = blobs[0][:160], blobs[1][:160]
    campaign = bela.Campaign(X, labels={i: int(y[i]) for i in range(120)})
    result = campaign.run(y)
    assert result.n_asked == 40
    everything = bela.Campaign(X, labels=y.tolist(), target=0.99).run(y)
    assert everything.n_asked == 0
    assert everything.certificate.lower == 1
    partly = bela.Campaign(X, labels=[None if i % 2 else float(label) for i, label in enumerate(y)], budget=5).run(y)
    assert partly.known.sum() == 85


def test_an_oracle_may_decline(blobs):
    """None from an oracle skips the row."""
    X, y = blobs[0][:160], blobs[1][:160]
    result = bela.label(X, lambda rows: [None if row % 3 == 0 else int(y[row]) for row in rows], budget=len(y))
    assert result.stop_reason == StopReason.EXHAUSTED
    assert result.n_asked == sum(i % 3 != 0 for i in range(160))
    assert (result.labels == y).mean() > 0.95


def test_declared_classes_are_the_only_ones(blobs):
    """A label outside the declared classes is refused and nothing changes."""
    campaign = bela.Campaign(blobs[0], classes=["red", "green"])
    question = campaign.ask()[0]
    with pytest.raises(LabelError, match="blue"):
        campaign.tell(question.id, "blue")
    assert campaign.ask()[0] == question
    campaign.tell(question.id, "red")
    assert campaign.classes == ("red", "green")


@pytest.mark.parametrize("pair", [("red", 1), (1, "1"), (True, 1), (0, False)])
def test_labels_of_mixed_types_are_refused(blobs, pair):
    """A label of another type than the first is an error, not another class."""
    campaign = bela.Campaign(blobs[0])
    first, second = campaign.ask(2)
    campaign.tell(first.id, pair[0])
    with pytest.raises(LabelError):
        campaign.tell(second.id, pair[1])


@pytest.mark.parametrize("bad", [None, float("nan"), 1.5, ["a"], b"a"])
def test_what_is_no_label_is_refused(blobs, bad):
    """None, NaN, fractions, lists and bytes are no labels."""
    campaign = bela.Campaign(blobs[0])
    with pytest.raises(LabelError):
        campaign.tell(campaign.ask()[0].id, bad)
    assert campaign.n_asked == 0


@pytest.mark.parametrize("label", ["-1", "nan", "", "🐈", -1, True, np.str_("x"), np.int8(3), np.float64(2.0)])
def test_odd_labels_are_labels(blobs, label):
    """Any string, integer or boolean is a label, minus one and "nan" too."""
    campaign = bela.Campaign(blobs[0])
    campaign.tell(campaign.ask()[0].id, label)
    assert (campaign.result().labels == label).all()


@pytest.mark.parametrize(
    "options",
    [
        {"target": 0},
        {"target": 1.1},
        {"budget": -1},
        {"budget": 401},
        {"budget": 2.5},
        {"confidence": 0},
        {"confidence": 1},
        {"seed": -1},
        {"method": "magic"},
        {"splitter": "magic"},
        {"method": "hsal", "splitter": "svm"},
        {"nonsense": 1},
    ],
)
def test_parameters_outside_their_range_are_refused(blobs, options):
    """One sentence that says what is wrong."""
    with pytest.raises(ParameterError) as caught:
        bela.Campaign(blobs[0], **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("question_id", [-1, 5, "x", None, 2.5])
def test_unknown_questions_are_refused(blobs, question_id):
    """Only questions that were asked can be told or skipped."""
    campaign = bela.Campaign(blobs[0])
    campaign.ask(2)
    with pytest.raises(QuestionError):
        campaign.tell(question_id, 1)
    with pytest.raises(QuestionError):
        campaign.skip(question_id)


@pytest.mark.parametrize("row", [-1, 400, "x", None])
def test_unknown_rows_are_refused(blobs, row):
    """Only rows that there are can be relabelled."""
    campaign = bela.Campaign(blobs[0])
    campaign.tell(campaign.ask()[0].id, 1)
    with pytest.raises(QuestionError):
        campaign.relabel(row, 1)


def test_a_correction_that_nobody_asked_for_changes_its_row_alone(blobs):
    """Nobody knows what a volunteered label was chosen by: it trains nothing and bounds nothing, and answers itself."""
    X, y = blobs
    campaigns = [bela.Campaign(X, seed=1) for _ in range(2)]
    for campaign in campaigns:
        for _ in range(40):
            question = campaign.ask()[0]
            campaign.tell(question.id, int(y[question.row]))
    corrected, plain = campaigns
    asked = {question.row for question in corrected.book.questions}
    row = next(row for row in range(len(y)) if row not in asked)
    corrected.relabel(row, 7)
    assert corrected.certificate == plain.certificate
    assert corrected.result().labels[row] == 7
    assert (np.delete(corrected.result().labels, row) == np.delete(plain.result().labels, row)).all()
    corrected.undo()
    assert corrected.result().labels[row] == plain.result().labels[row]
    for other in range(len(y)):
        if other not in asked:
            corrected.relabel(other, int(y[other]))
    assert not corrected.ask()
    assert corrected.stop_reason is bela.StopReason.EXHAUSTED


def test_no_result_before_the_first_answer(blobs):
    """With nothing known there is nothing to label with."""
    with pytest.raises(LabelError, match="first"):
        bela.Campaign(blobs[0]).result()


def test_budget_of_zero(blobs):
    """Nothing may be asked; labels that came with the data still label the rest."""
    X, y = blobs
    assert bela.Campaign(X, budget=0).ask(5) == []
    result = bela.Campaign(X, budget=0, labels={0: 1}).run(y)
    assert result.stop_reason == StopReason.BUDGET
    assert (result.labels == 1).all()


@pytest.mark.parametrize(
    "oracle", [None, "labels.npy", np.zeros(3), np.zeros((400, 2)), lambda rows: 5, lambda rows: []]
)
def test_what_is_no_oracle_is_refused(blobs, oracle):
    """An oracle is one label for each row, or a callable that returns as many labels as rows."""
    with pytest.raises(bela.BelaError):
        bela.label(blobs[0], oracle, budget=5)
