"""The features of a source, in the form that its rows call for."""

from __future__ import annotations

import numpy as np

from bela.features._components import Floats
from bela.features._images import image_features
from bela.features._scaling import Prepared, prepare_features
from bela.protocols import Source


def learner_features(source: Source, seed: int = 0) -> Prepared | Floats:
    """Return the features of a source that has them ready, those of images, or the matrix prepared as it suggests."""
    prepared = getattr(source, "prepared", None)
    if isinstance(prepared, Prepared):
        return prepared
    X = source.take(np.arange(source.n_rows))
    shape = image_shape(source)
    return prepare_features(X, seed=seed) if shape is None else image_features(X.reshape(-1, *shape))


def image_shape(source: Source) -> tuple[int, ...] | None:
    """Return height, width and channels where the rows of a source are images."""
    shape: tuple[int, ...] | None = getattr(source, "image_shape", None)
    return shape
