"""Ridge regression on class indicators, tuned by leave-one-out in closed form: cheap, hard to beat with few answers.

One factorisation gives the fit, and what it would have said of each answer without having seen it. An RBF kernel is for
features in which distances mean something, a linear one for the many weak columns of texts and tables.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from bela.learning._graph import Doubles, Floats, Rows
from bela.learning._stack import sharpen, vanishing
from bela.records import FloatArray, Matrix

WIDTHS = tuple(2.0**e for e in range(-3, 4))  # gamma times the median squared distance
RIDGES = tuple(10.0 ** (e / 2) for e in range(-8, 2))  # on top of a kernel with mean diagonal 1
UNTUNED = 1e-2  # the ridge where nothing can be judged
TUNING_ROWS = 400  # or a third of the answers if that is more: what is best for these is good for all
EXACT_ROWS = 5_000  # beyond, answers are seen through landmarks
LANDMARKS = 2_500
_BLOCK = 128  # rows of a triangular matrix that are inverted at once
BLOCK_ENTRIES = 2_000_000
SAME = 1e-5  # squared distances that single precision cannot tell from 0, in features of mean squared norm 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """A fitted model: scores the rows of any matrix of the same features, highest for the likeliest class.

    `left_out` has the scores of each answer by the fit without it; `gamma` is None for the linear kernel, whose `scale`
    divides the products.
    """

    basis: Matrix
    coefficients: Floats
    left_out: Floats
    gamma: float | None
    ridge: float
    scale: float = 1.0

    def score(self, X: Matrix) -> Floats:
        """Score rows, one column for each class."""
        if self.gamma is None:
            return np.asarray(X @ (self.basis.T @ (self.coefficients / np.float32(self.scale))), np.float32)
        scores = np.empty((X.shape[0], self.coefficients.shape[1]), np.float32)
        block = max(1, BLOCK_ENTRIES // self.basis.shape[0])
        for start in range(0, len(scores), block):
            kernel = squared_distances(X[start : start + block], self.basis)
            kernel *= np.float32(-self.gamma)
            np.exp(kernel, out=kernel)
            np.matmul(kernel, self.coefficients, out=scores[start : start + block])
        return scores


def fit_kernel_ridge(X: Floats, classes: Rows, n_classes: int, rng: np.random.Generator) -> Ridge:
    """Fit an RBF model to answers, its width and its ridge chosen by leave-one-out log-loss on some of them."""
    target = _indicators(classes, n_classes)
    some = _some(len(X), max(TUNING_ROWS, min(len(X) // 3, 1_000)), rng)
    gamma, ridge = _search(_among(X[some]), target[some], classes[some])
    if len(X) > EXACT_ROWS:
        return _fit_landmarks(X, target, gamma, ridge, rng)
    coefficients, left_out = _solve(np.exp(-gamma * _among(X)), target, ridge)
    return Ridge(basis=X, coefficients=coefficients, left_out=left_out, gamma=gamma, ridge=ridge)


def fit_linear_ridge(X: Matrix, classes: Rows, n_classes: int, rng: np.random.Generator) -> Ridge:
    """Fit a linear model to answers, dense or sparse, its ridge chosen by leave-one-out log-loss on some of them."""
    chosen = _some(X.shape[0], EXACT_ROWS, rng)
    if len(chosen) < X.shape[0]:  # so many answers that other members have the say
        fitted = fit_linear_ridge(X[chosen], classes[chosen], n_classes, rng)
        left_out = fitted.score(X)
        left_out[chosen] = fitted.left_out
        return replace(fitted, left_out=left_out)
    target = _indicators(classes, n_classes)
    products = X @ X.T
    products = np.asarray(products.todense() if hasattr(products, "todense") else products, np.float64)
    scale = float(np.mean(np.diag(products))) or 1.0
    kernel = products / scale
    some = _some(len(kernel), TUNING_ROWS, rng)
    _, ridge = _tune(kernel[np.ix_(some, some)].astype(np.float32), target[some], classes[some])
    coefficients, left_out = _solve(kernel, target, ridge)
    return Ridge(basis=X, coefficients=coefficients, left_out=left_out, gamma=None, ridge=ridge, scale=scale)


def squared_distances(X: Floats, Y: Floats) -> Floats:
    """The squared distances of all pairs, as one matrix product."""
    distances = X @ Y.T
    distances *= np.float32(-2)
    distances += np.einsum("ij,ij->i", Y, Y)
    distances += np.einsum("ij,ij->i", X, X)[:, None]
    np.maximum(distances, 0, out=distances)
    return np.asarray(distances)


def _solve(kernel: Doubles, target: Doubles, ridge: float) -> tuple[Floats, Floats]:
    """Coefficients, and scores of each row by the fit without it: y_i - c_i / (K + ridge)^-1_ii."""
    kernel[np.diag_indices_from(kernel)] += ridge
    inverse = _inverse_of_lower(np.linalg.cholesky(kernel))
    diagonal = np.einsum("ij,ij->j", inverse, inverse)
    coefficients = inverse.T @ (inverse @ target)
    return coefficients.astype(np.float32), (target - coefficients / diagonal[:, None]).astype(np.float32)


def _inverse_of_lower(factor: FloatArray) -> Doubles:
    """The inverse of a lower triangular matrix, by products of ever larger blocks.

    SciPy's own keeps all other threads waiting until it is done, which on a labelling page is everybody; NumPy's
    products do not. So nothing large in this module is left to SciPy.
    """
    n = len(factor)
    if n <= _BLOCK:
        return np.asarray(linalg.lapack.dtrtri(factor, lower=1)[0])
    half = n // 2
    inverse: Doubles = np.zeros(factor.shape)
    inverse[:half, :half] = _inverse_of_lower(factor[:half, :half])
    inverse[half:, half:] = _inverse_of_lower(factor[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (factor[half:, :half] @ inverse[:half, :half])
    return inverse


def _fit_landmarks(X: Floats, target: Doubles, gamma: float, ridge: float, rng: np.random.Generator) -> Ridge:
    """The same model with functions spanned by some of the answers (Nystroem)."""
    marks = X[_some(len(X), LANDMARKS, rng)]
    among = np.exp(-gamma * _among(marks))
    among[np.diag_indices_from(among)] += 1e-6
    whiten = _inverse_of_lower(np.linalg.cholesky(among)).T
    design = np.exp(-gamma * squared_distances(X, marks).astype(np.float64)) @ whiten
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += ridge
    inverse = np.linalg.inv(gram)
    weights = inverse @ (design.T @ target)
    leverage = np.minimum(np.einsum("ij,ij->i", design @ inverse, design), 1 - 1e-9)[:, None]
    left_out = (design @ weights - leverage * target) / (1 - leverage)
    coefficients, left_out = (whiten @ weights).astype(np.float32), left_out.astype(np.float32)
    return Ridge(basis=marks, coefficients=coefficients, left_out=left_out, gamma=gamma, ridge=ridge)


def _search(distances: Doubles, target: Doubles, classes: Rows) -> tuple[float, float]:
    """The gamma and the ridge with the least leave-one-out log-loss: on a coarse grid, then around its best."""
    above = distances[np.triu_indices(len(distances), 1)]
    above = above[above > SAME]
    unit = float(np.median(above)) if len(above) else 1.0
    width, ridge, least = 1.0, UNTUNED, np.inf
    for around in (False, True):
        for trial in (width * 0.7, width * 1.4) if around else WIDTHS:
            kernel = np.exp(distances * (-trial / unit)).astype(np.float32)
            loss, best = _tune(kernel, target, classes)
            if loss < least:
                least, width, ridge = loss, trial, best
    return width / unit, ridge


def _tune(kernel: Floats, target: Doubles, classes: Rows) -> tuple[float, float]:
    """The least leave-one-out log-loss and the ridge that has it, from one factorisation."""
    judged = ~vanishing(classes)
    if judged.sum() < 2:  # an answer of each class: nothing to judge by
        return np.inf, UNTUNED
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0)
    projected = vectors.T @ target.astype(np.float32)
    squares = vectors * vectors
    losses = []
    for ridge in RIDGES:
        inverse = 1 / (values + np.float32(ridge))
        left_out = target - (vectors @ (inverse[:, None] * projected)) / (squares @ inverse)[:, None]
        losses.append(sharpen(left_out[judged], classes[judged])[1])
    best = int(np.argmin(losses))
    return losses[best], RIDGES[best]


def _indicators(classes: Rows, n_classes: int) -> Doubles:
    """One for the class and zero for the others, less the mean, so that far from all answers no class is favoured."""
    return np.asarray(np.eye(n_classes)[classes] - 1 / n_classes)


def _among(X: Floats) -> Doubles:
    """Squared distances between answers, in double precision: the kernel must stay positive."""
    rows = X.astype(np.float64)
    rows -= rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    distances = np.maximum(norms + norms[:, None] - 2 * (rows @ rows.T), 0)
    np.fill_diagonal(distances, 0)
    return np.asarray(distances)


def _some(n: int, most: int, rng: np.random.Generator) -> Rows:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
