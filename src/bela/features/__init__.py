"""Rows of any kind to numbers: images, texts, tables, embeddings."""

from bela.features._images import ImageFeatures, fit_image_features, image_features
from bela.features._of_source import image_shape, learner_features
from bela.features._scaling import Prepared, prepare_features

__all__ = [
    "ImageFeatures",
    "Prepared",
    "fit_image_features",
    "image_features",
    "image_shape",
    "learner_features",
    "prepare_features",
]
