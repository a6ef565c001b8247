"""Learning from answers: graph, kernels, propagation, trees, their stack, and the choice of questions."""

from bela.learning._best_classifier import fit_best_classifier
from bela.learning._cluster_trees import NO_NODE, ClusterTree, pca_kmeans_tree, ward_tree
from bela.learning._fit import Fit
from bela.learning._helped import Answers
from bela.learning._predicted import PredictionLearner
from bela.learning._questions import Picks
from bela.learning._sampled import SampledLearner
from bela.learning._sampled_predicted import SampledPredictionLearner
from bela.learning._scanned import ScannedFit
from bela.learning._transductive import TransductiveLearner

__all__ = [
    "NO_NODE", "Answers", "ClusterTree", "Fit", "Picks", "PredictionLearner", "SampledLearner",
    "SampledPredictionLearner", "ScannedFit", "TransductiveLearner", "fit_best_classifier", "pca_kmeans_tree",
    "ward_tree",
]  # fmt: skip
