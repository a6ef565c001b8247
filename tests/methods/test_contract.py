"""The laws that every method keeps."""

import numpy as np
import pytest

import bela.methods
from bela.methods import METHODS, make_method
from bela.protocols import Method
from bela.records import UNKNOWN, Role
from bela.sources import ArraySource

pytestmark = pytest.mark.parametrize("name", METHODS)


def answer(method: Method, y: np.ndarray, n: int, batch: int = 1, skip: int = 0) -> list[int]:
    """Ask and answer n questions, skipping every skip-th one; return the rows in order."""
    rows = []
    while len(rows) < n:
        proposals = method.propose(min(batch, n - len(rows)))
        if not proposals:
            break
        for proposal in proposals:
            rows.append(proposal.row)
            if skip and len(rows) % skip == 0:
                method.skip(proposal.row, proposal.role)
            else:
                method.observe(proposal.row, proposal.role, int(y[proposal.row]))
    return rows


def state(method: Method) -> tuple:
    labelling, certificate = method.labelling(), method.certificate()
    return labelling.codes.tolist(), labelling.leaf.tolist(), labelling.n_leaves, certificate


@pytest.mark.parametrize("batch", [1, 7])
def test_every_row_is_asked_once_and_then_all_is_certain(name, batch, blobs):
    """Asked to the end, a method asks each row once, labels it so, and its bound is one."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=1)
    rows = answer(method, y, 10_000, batch)
    assert sorted(rows) == list(range(400))
    assert (method.labelling().codes == y).all()
    assert method.certificate().lower == pytest.approx(1.0)
    assert not method.propose(1)


def test_the_same_calls_give_the_same_state(name, blobs):
    """A method is deterministic, and another seed is another course."""
    X, y = blobs
    methods = [make_method(name, ArraySource(X), seed=seed) for seed in (3, 3, 4)]
    rows = [answer(method, y, 120, batch=3, skip=10) for method in methods]
    assert rows[0] == rows[1] != rows[2]
    assert state(methods[0]) == state(methods[1])


def test_labels_are_learnt(name, blobs):
    """A quarter of the answers on clusters that are classes is enough for nearly all labels."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=0, budget=100)
    answer(method, y, 100)
    labelling = method.labelling()
    assert (labelling.codes == y).mean() > 0.9
    assert labelling.leaf.min() == 0
    assert labelling.leaf.max() + 1 == labelling.n_leaves
    assert 0.2 < method.certificate().lower <= (labelling.codes == y).mean()


def test_no_answer_no_label(name, blobs):
    """Before the first answer every row is UNKNOWN and nothing is certified."""
    method = make_method(name, ArraySource(blobs[0]), seed=0)
    assert (method.labelling().codes == UNKNOWN).all()
    assert method.certificate().lower == 0


def test_answers_are_kept_and_skipped_rows_are_not_asked_again(name, blobs):
    """An answered row has its answer for a label, whatever its leaf says; a skipped one is left alone."""
    X, y = blobs
    noisy = y.copy()
    noisy[::9] = (noisy[::9] + 1) % 3
    method = make_method(name, ArraySource(X), seed=0)
    rows = answer(method, noisy, 10_000, batch=4, skip=5)
    assert len(set(rows)) == len(rows) == 400
    answered = [row for i, row in enumerate(rows) if (i + 1) % 5]
    assert (method.labelling().codes[answered] == noisy[answered]).all()
    assert method.certificate().lower < 1


def test_known_rows_cost_nothing(name, blobs):
    """Labels that the data bring are kept, never asked for, and count as right."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=0)
    known = np.arange(0, 400, 2)
    method.know(known, y[known])
    rows = answer(method, y, 10_000)
    assert sorted(rows) == list(range(1, 400, 2))
    assert method.certificate().lower == pytest.approx(1.0)


def test_an_open_question_is_not_proposed_again(name, blobs):
    """Questions asked without waiting for answers are different rows."""
    method = make_method(name, ArraySource(blobs[0]), seed=0)
    rows = [proposal.row for _ in range(20) for proposal in method.propose(2)]
    assert len(set(rows)) == len(rows) >= 20


def test_a_retracted_answer_is_open_again(name, blobs):
    """After retract and the same answer, all is as it was before."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=0)
    answer(method, y, 150, batch=2)
    proposal = method.propose(1)[0]
    method.observe(proposal.row, proposal.role, int(y[proposal.row]))
    before = state(method)
    method.retract(proposal.row, proposal.role)
    assert proposal.row not in [again.row for again in method.propose(5)]
    method.observe(proposal.row, proposal.role, int(y[proposal.row]))
    after = state(method)
    assert after[0] == before[0]
    assert after[3] == before[3]


def test_a_retracted_skip_can_be_answered(name, blobs):
    """A skip can be taken back, and the answer then counts."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=0)
    answer(method, y, 50)
    proposal = method.propose(1)[0]
    method.skip(proposal.row, proposal.role)
    method.retract(proposal.row, proposal.role)
    method.observe(proposal.row, proposal.role, 2)
    assert method.labelling().codes[proposal.row] == 2


def test_a_revised_answer_is_as_if_given_at_first(name, blobs):
    """The last answer, changed, leaves the labels and the bound as if it had been given so."""
    X, y = blobs
    states = []
    for first in (0, 2):
        method = make_method(name, ArraySource(X), seed=0)
        answer(method, y, 100)
        proposal = method.propose(1)[0]
        method.observe(proposal.row, proposal.role, first)
        if first == 0:
            method.revise(proposal.row, proposal.role, 2)
        states.append(state(method))
    assert states[0][0] == states[1][0]
    assert states[0][3].lower == pytest.approx(states[1][3].lower)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_handful_of_rows_is_enough(name, n_rows):
    """One, two or three rows are a dataset."""
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    method = make_method(name, ArraySource(X), seed=0)
    assert sorted(answer(method, np.arange(n_rows), 10)) == list(range(n_rows))
    assert method.certificate().lower == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [1, 5])
def test_rows_that_are_all_the_same(name, classes):
    """Identical rows cannot be told apart, with one class or several; the method still gets to the end."""
    X, y = np.ones((60, 4)), np.arange(60) % classes
    method = make_method(name, ArraySource(X), seed=0)
    assert len(answer(method, y, 100, batch=5)) == 60
    assert (method.labelling().codes == y).all()


def test_one_class(name, blobs):
    """With a single class every label is right from the first answer on, and the bound climbs."""
    X, _ = blobs
    method = make_method(name, ArraySource(X), seed=0, budget=80)
    answer(method, np.zeros(400, dtype=int), 80)
    assert (method.labelling().codes == 0).all()
    assert method.certificate().lower > 0.19


def test_many_classes_and_sparse_rows(name):
    """A hundred classes, half of them seen once, in a sparse matrix."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(100), rng.integers(0, 50, 200)])
    X = sparse.random_array((300, 40), density=0.1, rng=rng, format="csr") + sparse.csr_array(
        (np.ones(300), (np.arange(300), y % 40)), shape=(300, 40)
    )
    method = make_method(name, ArraySource(X), seed=0)
    assert len(answer(method, y, 1000, batch=3)) == 300
    assert (method.labelling().codes == y).all()


def test_roles_are_roles(name, blobs):
    """Every proposal has a role, and the certificate counts answers by it."""
    X, y = blobs
    method = make_method(name, ArraySource(X), seed=0)
    counts = {Role.TRAINING: 0, Role.BOUNDS: 0}
    for _ in range(90):
        proposal = method.propose(1)[0]
        counts[proposal.role] += 1
        method.observe(proposal.row, proposal.role, int(y[proposal.row]))
    certificate = method.certificate()
    assert (certificate.n_training, certificate.n_bounds) == (counts[Role.TRAINING], counts[Role.BOUNDS])


def test_no_exported_method_is_left_out(name):
    """Every class that the package exports and that is a Method is reached by a name of METHODS."""
    made = {type(make_method(n, ArraySource(np.ones((3, 2))))) for n in METHODS}
    exported = {getattr(bela.methods, n) for n in bela.methods.__all__}
    assert made == {item for item in exported if isinstance(item, type)}
