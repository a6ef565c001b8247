"""Rows of any kind to numbers: images, texts, tables, embeddings."""

from bela.features._compute import compute_features
from bela.features._images import ImageFeatures, fit_image_features, image_features
from bela.features._kinds import KINDS
from bela.features._of_source import image_shape, learner_features
from bela.features._plan import FeaturePlan, plan_features
from bela.features._scaling import Prepared, prepare_features
from bela.features._source import FeatureSource

__all__ = [
    "KINDS",
    "FeaturePlan",
    "FeatureSource",
    "ImageFeatures",
    "Prepared",
    "compute_features",
    "fit_image_features",
    "image_features",
    "image_shape",
    "learner_features",
    "plan_features",
    "prepare_features",
]
