"""Models that cut a leaf."""

from bela.splitters._best_classifier import fit_best_classifier
from bela.splitters._estimator import SPLITTERS, ClassifierSplitter, ClustererSplitter, PCAKMeans, make_splitter
from bela.splitters._linear_svm import LinearSVM
from bela.splitters._questions import Picks
from bela.splitters._transductive import Fit, TransductiveLearner

__all__ = [
    "SPLITTERS",
    "ClassifierSplitter",
    "ClustererSplitter",
    "Fit",
    "LinearSVM",
    "PCAKMeans",
    "Picks",
    "TransductiveLearner",
    "fit_best_classifier",
    "make_splitter",
]
