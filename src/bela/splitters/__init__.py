"""Models that cut a leaf."""

from bela.splitters._best_classifier import fit_best_classifier
from bela.splitters._estimator import SPLITTERS, ClassifierSplitter, ClustererSplitter, PCAKMeans, make_splitter
from bela.splitters._linear_svm import LinearSVM

__all__ = [
    "SPLITTERS",
    "ClassifierSplitter",
    "ClustererSplitter",
    "LinearSVM",
    "PCAKMeans",
    "fit_best_classifier",
    "make_splitter",
]
