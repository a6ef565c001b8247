"""Columns of images: paths, bytes, Hugging Face's structs, of any size and mode."""

import io
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from bela.errors import DataError
from bela.features import compute_features, image_features, plan_features, prepare

RECORDS = runpy.run_path(str(Path(__file__).with_name("table_records.py")))
ArrowTable = RECORDS["ArrowTable"]


def noise(seed, size=(40, 30), mode="RGB"):
    shape = (size[1], size[0], 3)
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, np.uint8)).convert(mode)


def encoded(image, form="PNG"):
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def features(data, root=None):
    records = ArrowTable(data, root=root)
    return compute_features(records, plan_features(records))


def test_small_images_of_one_size_stay_as_they_are(tmp_path):
    """Files, bytes and structs of 8 x 8 pixels have the features of the array of their pixels."""
    images = (load_digits().images[:120] * 15).astype(np.uint8)
    files = []
    for i, image in enumerate(images):
        files.append(f"d/{i}.png")
        (tmp_path / "d").mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / files[-1])
    content = [(tmp_path / file).read_bytes() for file in files]
    expected = image_features(images)
    expected /= np.sqrt(np.mean((expected**2).sum(axis=1)))
    structs = [{"bytes": b if i % 2 else None, "path": files[i]} for i, b in enumerate(content)]
    for data in ({"file": files}, {"image": content}, {"image": structs}):
        np.testing.assert_allclose(features(data, tmp_path).prepared.dense, expected, atol=1e-4)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_any_format_and_size(form):
    """Images of unequal sizes are brought to one."""
    sizes = [(10, 90), (300, 200), (64, 64), (1, 1), (33, 500)]
    source = features({"image": [encoded(noise(i, size), form) for i, size in enumerate(sizes * 2)]})
    assert source.n_rows == 10
    assert np.isfinite(source.prepared.dense).all()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16", "CMYK", "F"])
def test_any_mode(mode):
    """Black and white, grey, palettes, transparency, 16 bits and four colours are images too."""
    if mode == "I;16":
        levels = np.random.default_rng(0).integers(0, 65536, (6, 20, 20), np.uint16)
        images = [Image.fromarray(level) for level in levels]
    else:
        images = [noise(i, (20, 20), mode) for i in range(6)]
    form = "TIFF" if mode in ("CMYK", "F", "I", "LA") else "PNG"
    dense = features({"image": [encoded(image, form) for image in images]}).prepared.dense
    assert np.isfinite(dense).all()
    assert np.ptp(dense, axis=0).max() > 0.01


def test_deep_greys_are_not_cut_off():
    """16 bits of grey give the features of the same picture with 8 bits."""
    levels = np.random.default_rng(0).integers(0, 256, (20, 24, 24), np.uint16)
    shallow = features({"image": [encoded(Image.fromarray(level.astype(np.uint8))) for level in levels]})
    deep = features({"image": [encoded(Image.fromarray(level * 257)) for level in levels]})
    np.testing.assert_allclose(deep.prepared.dense, shallow.prepared.dense, atol=0.02)


def test_colours_count_where_there_are_any():
    """Red and green squares of one brightness are told apart."""
    colours = [(200, 0, 0), (0, 102, 0)]
    rng = np.random.default_rng(0)
    images = []
    for i in range(40):
        pixels = np.full((16, 16, 3), colours[i % 2], np.int16) + rng.integers(-9, 10, (16, 16, 1))
        images.append(encoded(Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))))
    dense = features({"image": images}).prepared.dense
    nearest = (dense @ dense.T - 99 * np.eye(40)).argmax(axis=1)
    assert np.mean(nearest % 2 == np.arange(40) % 2) == 1


def test_a_missing_image_is_a_row_too():
    """None, an empty path and an empty struct lie in the middle of all."""
    images = [encoded(noise(i)) for i in range(8)]
    dense = features({"image": [None, *images]}).prepared.dense
    np.testing.assert_array_equal(dense[0], 0)
    assert len(dense) == 9
    structs = pa.array([{"bytes": image, "path": None} for image in images] + [None], pa.struct(
        [("bytes", pa.binary()), ("path", pa.string())]
    ))  # fmt: skip
    assert len(features({"image": structs}).prepared.dense) == 9


def test_a_broken_image_is_set_aside(tmp_path):
    """It is named, with its file where there is one, has no features, and changes nothing for the others."""
    names = []
    for i in range(12):
        names.append(f"{i}.png")
        noise(i).save(tmp_path / names[-1])
    records = ArrowTable({"file": names}, root=tmp_path)
    plan = plan_features(records)
    whole = (tmp_path / "7.png").read_bytes()
    for content in (whole[:200], b"", b"no image at all"):
        (tmp_path / "7.png").write_bytes(content)
        cache = tmp_path / str(len(content))
        for data in (compute_features(records, plan, cache=cache), compute_features(records, plan, cache=cache)):
            assert list(data.unreadable) == [7]
            assert "7.png (row 7 of column 'file') is no image" in data.unreadable[7]
            assert np.flatnonzero((data.take(np.arange(12)) == 0).all(axis=1)).tolist() == [7]
    (tmp_path / "7.png").unlink()
    assert "there is no image" in compute_features(records, plan).unreadable[7]
    images = [encoded(noise(i)) for i in range(12)]
    images[0] = images[0][:300]
    assert "row 0 of column 'image'" in features({"image": images}).unreadable[0]
    assert "1 row is set aside" in prepare(ArrowTable({"image": images})).notices[0]


def test_the_number_of_threads_changes_nothing(tmp_path, monkeypatch):
    """Features and what is set aside are the same, bit by bit, and in the same order."""
    for i in range(300):
        noise(i, (20 + i % 3, 20)).save(tmp_path / f"{i}.png")
    records = ArrowTable({"file": [f"{i}.png" for i in range(300)]}, root=tmp_path)
    plan = plan_features(records)
    for i in (3, 230, 299):
        (tmp_path / f"{i}.png").write_bytes(b"gone")
    found = []
    for n_threads in (1, 2, 7):
        monkeypatch.setattr("bela.features._pictures.count_threads", lambda n=n_threads: n)
        found.append(compute_features(records, plan))
    assert list(found[0].unreadable) == [3, 230, 299]
    for other in found[1:]:
        np.testing.assert_array_equal(other.prepared.dense, found[0].prepared.dense)
        assert list(other.unreadable.items()) == list(found[0].unreadable.items())


def test_mostly_broken_images_are_an_error(tmp_path):
    """Then it is no accident."""
    records = ArrowTable({"file": [f"{i}.png" for i in range(12)]}, root=tmp_path)
    for i in range(12):
        noise(i).save(tmp_path / f"{i}.png")
    plan = plan_features(records)
    for i in range(8):
        (tmp_path / f"{i}.png").write_bytes(b"gone")
    with pytest.raises(DataError, match=r"8 of 12 images cannot be read, such as .*0\.png"):
        compute_features(records, plan)


def test_images_beside_other_columns(tmp_path):
    """An image and a number each have a say, and nothing of it depends on the blocks."""
    rng = np.random.default_rng(0)
    for i in range(150):
        noise(i, (12, 12)).save(tmp_path / f"{i}.png")
    table = pa.table({"file": [f"{i}.png" for i in range(150)], "price": rng.normal(size=150)})
    sources = []
    for block in (11, 1000):
        records = ArrowTable(table, root=tmp_path, block=block)
        plan = plan_features(records)
        assert dict(plan.columns) == {"file": "image", "price": "number"}
        assert plan.shown == ("file", "price")
        sources.append(compute_features(records, plan))
    np.testing.assert_array_equal(sources[0].prepared.dense, sources[1].prepared.dense)
    assert sources[0].prepared.columns.shape == (150, 1)
