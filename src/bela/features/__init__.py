"""Rows of any kind to numbers: images, texts, tables, embeddings."""

from bela.features._images import ImageFeatures, fit_image_features, image_features
from bela.features._plan import KINDS, FeaturePlan, named_features, pin_plan, plan_features
from bela.features._prepare import PreparedData, compute_features, prepare, without_features
from bela.features._rows import LearnerRows, ReadySource, is_many
from bela.features._scaling import Prepared, prepare_features
from bela.features._source import FeatureSource, NoFeatures, image_shape, kept_in, learner_features, learner_rows
from bela.features.embedding import EMBEDDED, EMBEDDINGS, Embed, Embedding, agrees

__all__ = [
    "EMBEDDED", "EMBEDDINGS", "KINDS", "Embed", "Embedding", "FeaturePlan", "FeatureSource", "ImageFeatures",
    "LearnerRows", "NoFeatures", "Prepared", "PreparedData", "ReadySource", "agrees", "compute_features",
    "fit_image_features", "image_features", "image_shape", "is_many", "kept_in", "learner_features",
    "learner_rows", "named_features", "pin_plan", "plan_features", "prepare", "prepare_features", "without_features",
]  # fmt: skip
