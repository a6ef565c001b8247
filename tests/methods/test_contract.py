"""The laws that every method keeps."""

import numpy as np
import pytest

from bela.data import ArraySource
from bela.errors import ParameterError, ReplayError
from bela.methods import METHODS, make_method
from bela.protocols import Method, Setup
from bela.records import UNKNOWN, Role
from bela.storage import MemoryArrays

pytestmark = pytest.mark.parametrize("name", METHODS.names)


@pytest.fixture
def some(blobs):
    """Rows enough for several revisions, and few enough to be asked about to the last."""
    return blobs[0][:200], blobs[1][:200]


@pytest.mark.parametrize("batch", [1, 7])
def test_every_row_is_asked_once_and_then_all_is_certain(name, batch, some, play):
    """Asked to the end, a method asks each row once, labels it so, and its bound is one."""
    game = play(name, *some, seed=1)
    assert isinstance(game.method, Method)
    assert sorted(game.answer(10_000, batch)) == list(range(200))
    assert (game.codes == game.y).all()
    assert game.lower == pytest.approx(1.0)
    assert not game.ask()


def test_the_same_events_give_the_same_state(name, blobs, play):
    """A method is deterministic, and another key is another course."""
    games = [play(name, *blobs, seed=seed) for seed in (3, 3, 4)]
    rows = [game.answer(120, batch=3, skip=10) for game in games]
    assert rows[0] == rows[1] != rows[2]
    assert games[0].state == games[1].state


def second_thoughts(game, seed):
    """Let all sorts of things happen, and yield after each event."""
    rng, book = np.random.default_rng(seed), game.book
    for _ in range(120):
        game.ask(int(rng.integers(1, 4)))
        yield
        what, opened = rng.random(), list(book.open.values())
        label = book.code_now(int(rng.integers(3)))
        if opened and what < 0.6:
            question = opened[rng.integers(len(opened))]  # late answers, in any order
            game.tell(question, book.code_now(int(game.y[question.row])))
        elif opened and what < 0.67:
            game.skip(opened[rng.integers(len(opened))])
        elif what < 0.8 and book.steps:
            game.undo()
        elif what < 0.9 and book.answered:
            game.relabel(list(book.answered)[rng.integers(len(book.answered))], label)
        elif what < 0.94:
            game.relabel(rng.integers(200), label)  # perhaps one that nobody has asked for
        elif what < 0.97:
            game.set_target(float(rng.uniform(0.5, 1.0)), int(rng.integers(60, 200)))
        elif not any(book.merges()):
            game.merge(0, 1)
        yield


@pytest.mark.parametrize("looked_at", [True, False])
def test_events_make_it_again(name, looked_at, some, play):
    """At any time, a method that follows all events from the first says and proposes what the live one does."""
    game = play(name, *some, seed=2, target=0.9, given={row: some[1][row] for row in range(0, 200, 19)})
    for i, _ in enumerate(second_thoughts(game, seed=5)):
        if looked_at:
            assert game.assessment is game.assessment
        if i % 40 == 39:
            again = game.again()
            assert again.state == game.state
            assert again.ask(2) == game.ask(2)
    assert any(game.book.merges())
    assert game.book.n_skipped


def test_nothing_left_to_ask_leaves_no_trace(name, blobs, play):
    """Whoever asks in vain, while the last answers are on their way, finds and leaves all as it was."""
    game = play(name, blobs[0][:60], blobs[1][:60], seed=3)
    game.answer(52, batch=4)
    while game.ask(5):
        pass
    opened = list(game.book.open.values())
    assert len(opened) == 8
    for i, question in enumerate(opened):
        game.ask(3)
        if i in (0, 5):
            assert game.again().state == game.state
        if i % 4:
            game.tell(question)
        else:
            game.skip(question)
    game.ask()
    assert game.book.exhausted
    assert game.again().state == game.state


def test_looking_changes_nothing(name, blobs, play):
    """The questions are the same whether or not labels and certificate are read in between."""
    quiet, watched = (play(name, *blobs, seed=5) for _ in range(2))
    for _ in range(40):
        questions = quiet.ask(3)
        assert watched.ask(3) == questions
        for question in questions:
            quiet.tell(question)
            watched.tell(question)
            assert len(watched.codes) == 400
    assert quiet.state == watched.state


def test_proposing_again_gives_the_same(name, blobs, play):
    """Until questions are in the book, a method proposes the same ones."""
    game = play(name, *blobs)
    game.answer(30)
    game.revise()
    assert list(game.method.propose(game.book, 3)) == list(game.method.propose(game.book, 3))


def test_labels_are_learnt(name, blobs, play):
    """A quarter of the answers on clusters that are classes is enough for nearly all labels."""
    game = play(name, *blobs, budget=100)
    game.answer(100)
    labelling = game.assessment.labelling
    assert game.accuracy > 0.9
    assert labelling.leaf.min() == 0
    assert labelling.leaf.max() + 1 == labelling.n_leaves
    assert 0.2 < game.lower <= game.accuracy


def test_no_answer_no_label(name, blobs, play):
    """Before the first answer nothing is certified, and every row is UNKNOWN unless its label is under audit."""
    game = play(name, *blobs)
    assert (game.codes == (game.y if name == "audit" else UNKNOWN)).all()
    assert game.lower == 0


def test_answers_are_kept_and_skipped_rows_are_not_asked_again(name, some, play):
    """An answered row has its answer for a label, whatever its leaf says; a skipped one is left alone."""
    X, y = some
    noisy = y.copy()
    noisy[::9] = (noisy[::9] + 1) % 3
    game = play(name, X, noisy)
    rows = game.answer(10_000, batch=4, skip=5)
    assert len(set(rows)) == len(rows) == 200
    answered = [row for i, row in enumerate(rows) if (i + 1) % 5]
    assert (game.codes[answered] == noisy[answered]).all()
    assert game.lower < 1


def test_known_rows_cost_nothing(name, some, play):
    """Labels that the data bring are kept, never asked for, and count as right; a relabelled one is what it is now."""
    X, y = some
    game = play(name, X, y, given={row: y[row] for row in range(0, 200, 2)})
    known = np.arange(0, 200, 2)
    assert (game.codes[known] == y[known]).all()
    assert sorted(game.answer(10_000)) == list(range(1, 200, 2))
    assert game.lower == pytest.approx(1.0)
    game.relabel(0, 5)
    assert game.codes[0] == 5


def test_all_rows_given(name, blobs, play):
    """Where every label is known there is nothing to ask, and all is certain."""
    X, y = blobs
    game = play(name, X, y, given=dict(enumerate(y)), target=0.9)
    assert not game.ask()
    assert (game.codes == y).all()
    assert game.lower == pytest.approx(1.0)


def test_an_open_question_is_not_proposed_again(name, blobs, play):
    """Questions asked without waiting for answers are different rows."""
    game = play(name, *blobs)
    rows = [question.row for _ in range(20) for question in game.ask(2)]
    assert len(set(rows)) == len(rows) >= 20


def test_an_undone_answer_is_open_again(name, blobs, play):
    """After undo and the same answer, all is as it was before."""
    game = play(name, *blobs)
    game.answer(150, batch=2)
    [question] = game.ask()
    game.tell(question)
    before = game.state
    game.undo()
    assert question.row not in [again.row for again in game.ask(5)]
    game.tell(question)
    after = game.state
    assert after[0] == before[0]
    assert after[3] == before[3]


def test_an_undone_skip_can_be_answered(name, blobs, play):
    """A skip can be taken back, and the answer then counts."""
    game = play(name, *blobs)
    game.answer(50)
    [question] = game.ask()
    game.skip(question)
    game.undo()
    game.tell(question, 2)
    assert game.codes[question.row] == 2


def test_a_relabelled_answer_is_as_if_given_at_first(name, blobs, play):
    """The last answer, changed, leaves the labels as if it had been given so, and the bound no higher."""
    states = []
    for first in (0, 2):
        game = play(name, *blobs)
        game.answer(100)
        [question] = game.ask()
        game.tell(question, first)
        if first == 0:
            game.relabel(question.row, 2)
        states.append(game.state)
    assert states[0][0] == states[1][0]
    # what counts as wrong if any of its answers was may lower the bound, and nothing raises it
    assert states[0][3].lower <= states[1][3].lower + 1e-9


def test_merged_classes_are_one(name, blobs, play):
    """After a merge no row has the old class, and undo brings it back."""
    game = play(name, *blobs)
    game.answer(120)
    before = game.codes.copy()
    game.merge(0, 1)
    answered = list(game.book.answered)
    assert (game.codes[answered] == np.where(before == 0, 1, before)[answered]).all()
    game.undo()
    assert (game.codes[answered] == before[answered]).all()


def test_a_deleted_class_is_on_no_row(name, blobs, play):
    """After a deletion no row has the class, its questions are open again, and undo brings all of it back."""
    if name == "audit":
        pytest.skip("labels under audit are fixed")
    game = play(name, *blobs, target=0.9)
    game.answer(120, batch=3, skip=10)
    before, lower, answered = game.codes.copy(), game.lower, dict(game.book.answered)
    of_it = {row for row in answered if game.book.known[row] == 0}
    n_steps = len(game.book.steps)
    game.delete(0)
    assert {question.row for question in game.book.open.values()} >= of_it
    assert len(game.book.answered) == len(answered) - len(of_it)
    assert (game.codes != 0).all()
    assert game.lower <= lower + 1e-9
    for row in sorted(of_it):
        game.tell(game.book.questions[answered[row]], 1 + row % 2)
    for _ in range(20):
        for question in game.ask(3):
            game.tell(question, max(1, int(game.y[question.row])))
    assert (game.codes != 0).all()
    again = game.again()
    assert again.state == game.state
    assert again.ask(2) == game.ask(2)
    while len(game.book.steps) > n_steps or 0 not in game.book.codes.names:
        game.undo()
    rows = list(answered)
    assert (game.codes[rows] == before[rows]).all()
    assert game.again().state == game.state


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_handful_of_rows_is_enough(name, n_rows, play):
    """One, two or three rows are a dataset."""
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    game = play(name, X, np.arange(n_rows))
    assert sorted(game.answer(10)) == list(range(n_rows))
    assert game.lower == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [1, 5])
def test_rows_that_are_all_the_same(name, classes, play):
    """Identical rows cannot be told apart, with one class or several; the method still gets to the end."""
    game = play(name, np.ones((60, 4)), np.arange(60) % classes)
    assert len(game.answer(100, batch=5)) == 60
    assert (game.codes == game.y).all()


def test_one_class(name, blobs, play):
    """With a single class every label is right from the first answer on, and the bound climbs."""
    game = play(name, blobs[0], np.zeros(400, dtype=int), budget=80)
    game.answer(80)
    assert (game.codes == 0).all()
    assert game.lower > 0.19


def test_many_classes_and_sparse_rows(name, play):
    """A hundred classes, half of them seen once, in a sparse matrix."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(100), rng.integers(0, 50, 200)])
    X = sparse.random_array((300, 40), density=0.1, rng=rng, format="csr") + sparse.csr_array(
        (np.ones(300), (np.arange(300), y % 40)), shape=(300, 40)
    )
    game = play(name, X, y)
    assert len(game.answer(1000, batch=3)) == 300
    assert (game.codes == y).all()


def test_roles_are_roles(name, blobs, play):
    """Every proposal has a role, and the certificate counts answers by it."""
    game = play(name, *blobs)
    game.answer(90)
    certificate, counts = game.assessment.certificate, game.count_roles()
    assert (certificate.n_training, certificate.n_bounds) == (counts[Role.TRAINING], counts[Role.BOUNDS])
    assert sum(counts.values()) == 90


def test_questions_of_another_course_are_refused(name, blobs, play):
    """A method that decides again what was asked says so when a record has something else."""
    game, other = play(name, *blobs, seed=1), play(name, *blobs, seed=2)
    game.answer(20)
    asked = [event for event in game.events if event.kind == "asked"]
    if name == "bela":
        pytest.skip("it takes what was asked from the record")
    with pytest.raises(ReplayError, match="recorded"):
        other.record(asked[0])


def test_only_one_method_has_a_splitter(name):
    """Whoever gives a splitter to another method is told that it has none; "auto" is what each does by itself."""
    setup = Setup(source=ArraySource(np.ones((3, 2))), arrays=MemoryArrays())
    if name not in ("audit", "bela-paper"):
        assert isinstance(make_method(name, setup, splitter="auto"), Method)
        with pytest.raises(ParameterError, match="does not split leaves"):
            make_method(name, setup, splitter="svm")
    with pytest.raises(ParameterError, match="does not take this option"):
        make_method(name, setup, colour="blue")


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_nothing_is_certain_and_nothing_impossible(name, confidence, blobs, play):
    """Confidence lies strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="confidence"):
        play(name, *blobs, confidence=confidence)
