"""Images to numbers."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bela.errors import DataError
from bela.features import fit_image_features, image_features, prepare_features
from bela.features._images import SHIFT, _Grid, _warping
from bela.features._scaling import Components


def noise(n, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), np.uint8)


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 3), (5, 40), (8, 8), (28, 28), (64, 64), (256, 256), (16, 16, 3), (9, 9, 1)]
)
def test_any_size_will_do(shape):
    """Images of any size, grey or coloured, become finite features, as many rows as images."""
    features = image_features(noise(12, *shape))
    assert features.shape[0] == 12
    assert features.dtype == np.float32
    assert np.isfinite(features).all()


def test_features_do_not_depend_on_the_other_images_of_the_call():
    """A fitted transform gives an image the same features alone and among others."""
    images = noise(700, 28, 28)
    fitted = fit_image_features(images)
    np.testing.assert_allclose(fitted.transform(images)[650:], fitted.transform(images[650:]), atol=1e-5)


def test_a_change_of_the_pixels_unit_changes_nothing():
    """Brightness from 0 to 255 and from 0 to 1 are the same picture."""
    images = noise(200, 12, 12)
    images[0, 0, 0] = 255
    np.testing.assert_allclose(image_features(images), image_features(images / 255), atol=1e-3)


def test_a_direction_votes_for_the_two_nearest_bins():
    """A ramp's gradient goes to the bin of its angle, and half and half to two when it lies between them."""
    y, x = np.mgrid[:28, :28].astype(np.float32) / 28
    grid = _Grid.of((28, 28))
    for turn in (0.0, 0.5, 3.0, 8.5):
        angle = turn * np.pi / 9
        ramp = np.cos(angle) * x + np.sin(angle) * y
        histogram = grid.hog(ramp[None, None])[0, : 36 * 9].reshape(3, 3, 4, 9)[1, 1, 0]
        low = int(turn)
        expected = {low} if turn == low else {low, (low + 1) % 9}
        assert {int(b) for b in np.flatnonzero(histogram > 0.02)} == expected
        values = histogram[sorted(expected)]
        np.testing.assert_allclose(values, values[0], rtol=0.02)


def test_digits_have_neighbours_of_their_class():
    """The nearest other image shows the same digit more often than by raw pixels."""
    digits = load_digits()
    shares = []
    for X in (image_features(digits.images), digits.data):
        distance = ((X[:600, None] - X[None, :600]) ** 2).sum(axis=2)
        np.fill_diagonal(distance, np.inf)
        shares.append(np.mean(digits.target[distance.argmin(axis=1)] == digits.target[:600]))
    assert shares[0] >= max(shares[1], 0.97)


def test_prepared_image_features_stay_as_they_are():
    """Features that are principal components already keep the ratios of their scales."""
    features = image_features(load_digits().images)
    dense = prepare_features(features).dense
    ratio = dense.std(axis=0) / features.std(axis=0)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


def test_constant_images_say_nothing_and_break_nothing():
    """Images that are all the same get features that are all the same."""
    features = image_features(np.full((30, 10, 10), 7, np.uint8))
    assert np.ptp(features, axis=0).max() < 1e-6


@pytest.mark.parametrize(
    "images", [np.zeros((3, 4)), np.zeros((0, 4, 4)), np.zeros((3, 4, 4), str), np.full((3, 4, 4), np.nan)]
)
def test_what_is_no_image_is_refused(images):
    """Wrong shapes, no images, letters and NaN get one sentence."""
    with pytest.raises(DataError):
        image_features(images)


def test_thousands_of_images_a_second():
    """At least 5,000 images of 28 x 28 a second of one core's time."""
    images = noise(3000, 28, 28)
    fitted = fit_image_features(images[:1500])
    times = []
    for _ in range(3):
        start = time.process_time()
        fitted.transform(images)
        times.append(time.process_time() - start)
    assert len(images) / min(times) > 5000


def test_small_moves_count_for_less_than_other_differences():
    """A picture that is shifted or turned a little is closer to itself, beside others, than without the metric."""
    images = load_digits().images[:600]
    fitted = fit_image_features(images)
    grid, scale = fitted.grid, fitted.scale
    hogs = grid.hog(grid.resize(images, scale))
    plain = Components.fit(hogs, fitted.hog.n_components)
    shift = _warping(grid.side, np.eye(2), (0.0, SHIFT))
    flat = grid.resize(images, scale).reshape(len(images), -1)
    moved = grid.hog(np.ascontiguousarray((shift @ flat.T).T).reshape(len(images), 1, *grid.side))

    def beside_others(components):
        here, there = components.transform(hogs), components.transform(moved)
        return np.mean((here - there) ** 2) / np.mean((here - here[::-1]) ** 2)

    assert beside_others(fitted.hog) < 0.9 * beside_others(plain)


def test_a_shift_moves_pixels_by_whole_ones_where_it_is_whole():
    """Warping by a quarter of four pixels takes the pixel beside, and repeats the border."""
    picture = np.arange(12.0).reshape(3, 4)
    moved = (_warping((3, 4), np.eye(2), (0.0, 0.25)) @ picture.ravel()).reshape(3, 4)
    np.testing.assert_allclose(moved, picture[:, [1, 2, 3, 3]])


def test_a_turn_by_a_half_reverses_a_picture():
    """A matrix acts about the middle of the picture."""
    picture = np.arange(20.0).reshape(4, 5)
    np.testing.assert_allclose(
        (_warping((4, 5), -np.eye(2), (0.0, 0.0)) @ picture.ravel()).reshape(4, 5), picture[::-1, ::-1]
    )
