"""The doors to embedding models: what each must keep to, and what none may do."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from bela.data import open_table
from bela.errors import BelaError, EmbeddingError, ParameterError
from bela.features import plan_features
from bela.features.embedding import EMBEDDED, EMBEDDINGS

TINY = runpy.run_path(str(Path(__file__).with_name("tiny_models.py")))


@pytest.mark.parametrize("name", EMBEDDINGS.names)
def test_the_contract(name):
    """Kinds that there are; nothing found where nothing is; one sentence for a model that there is not."""
    door = EMBEDDINGS[name]
    assert set(door.kinds) <= set(EMBEDDED)
    assert door.kinds
    said = []
    for kind in door.kinds:
        assert list(door.found(kind)) == []
        if name != "openai":  # where nobody can tell before the first row
            with pytest.raises((ParameterError, EmbeddingError)) as caught:
                door.digest("no-such-model-anywhere", kind, said.append)
            assert isinstance(caught.value, BelaError)
            assert "\n" not in str(caught.value)
    assert said == [] or name == "fastembed"  # which is told before it fails to fetch


def test_an_odd_kind_is_refused():
    """A door that has models for texts only, or for images only, says so."""
    for name, kind in (("timm", "text"), ("openai", "image")):
        with pytest.raises(ParameterError, match="another door"):
            EMBEDDINGS[name].digest("m", kind, print)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no model that can be read"),
        ({"pytorch_model.bin": "x"}, "pickle"),
        ({"model.safetensors": "x", "2_Dense/pytorch_model.bin": "x"}, "pickle"),
        ({"weights.pt": "x", "config.json": "{}"}, "pickle"),
        ({"model.safetensors": "x", "config.json": json.dumps({"auto_map": {"AutoModel": "evil.Model"}})}, "auto_map"),
        ({"model.safetensors": "x", "modules.json": json.dumps([{"type": "evil.Model"}])}, "evil.Model"),
        ({"model.safetensors": "x", "modules.json": "{"}, "modules.json"),
        ({"a.onnx": "x", "b.onnx": "x"}, "several ONNX"),
    ],
)
def test_what_is_not_read(tmp_path, files, words):
    """Pickles, code that a model brings, and folders in which nothing is clear are refused, before they are loaded."""
    for name, content in files.items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "model").mkdir(exist_ok=True)
    with pytest.raises(ParameterError, match=words):
        EMBEDDINGS["folder"].digest(str(tmp_path / "model"), "text", print)


def test_a_damaged_model(tmp_path):
    """A file that is no ONNX is one sentence."""
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(ParameterError, match="cannot be loaded as an ONNX model"):
        EMBEDDINGS["folder"].digest(str(tmp_path), "text", print)


def test_texts_are_not_shown_to_an_image_model(tmp_path):
    """What a folder's model reads is told from the model."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    model = TINY["write_image_model"](tmp_path / "tiny-colours")
    with pytest.raises(ParameterError, match="reads image, not text"):
        plan_features(open_table([{"text": f"this is text {i}"} for i in range(30)]), embed=str(model))


def test_sentence_transformers_reads_a_folder(tmp_path):
    """A tiny BERT as safetensors, made here; the same folder gives the same vectors and the same digest."""
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "dog"])
    )
    transformers.BertTokenizerFast(str(tmp_path / "bert" / "vocab.txt")).save_pretrained(tmp_path / "bert")
    config = transformers.BertConfig(
        vocab_size=7, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path / "bert", safe_serialization=True)
    door = EMBEDDINGS["folder"]
    assert door.digest(str(tmp_path / "bert"), "text", print) == door.digest(str(tmp_path / "bert"), "text", print)
    found = np.asarray(door.load(str(tmp_path / "bert"), "text")(["cat", "dog cat", "cat"]))
    assert found.shape == (3, 8)
    np.testing.assert_allclose(found[0], found[2], atol=1e-5)


def test_timm_reads_a_folder(tmp_path):
    """A small network with weights as safetensors and a config.json that names it."""
    timm = pytest.importorskip("timm")
    save = pytest.importorskip("safetensors.torch").save_file
    from PIL import Image

    model = timm.create_model("test_resnet", pretrained=False)
    save(model.state_dict(), str(tmp_path / "model.safetensors"))
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "test_resnet"}))
    door = EMBEDDINGS["folder"]
    door.digest(str(tmp_path), "image", print)
    found = np.asarray(door.load(str(tmp_path), "image")([Image.new("RGB", (30, 20), "red")] * 2))
    assert found.ndim == 2
    np.testing.assert_array_equal(found[0], found[1])


def test_nothing_is_fetched_in_silence():
    """Without a network a model that is not here is one sentence, with the way to go on."""
    pytest.importorskip("sentence_transformers")
    with pytest.raises(EmbeddingError, match="--embed none"):
        EMBEDDINGS["sentence-transformers"].digest("all-MiniLM-L6-v2", "text", print)
