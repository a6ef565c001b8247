"""Models of a few numbers each, written as real ones are, for the code that loads real ones."""

import json
from pathlib import Path

import numpy as np

WORDS = ["[PAD]", "[UNK]", "cat", "dog", "sings", "barks", "loud", "red"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)


def expected(text: str) -> np.ndarray:
    """Return the vector that the tiny text model gives to a text, of length 1."""
    known = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]
    mean = TABLE[known].mean(axis=0)
    return mean / np.linalg.norm(mean)


def write_text_model(folder: Path) -> Path:
    """Write a text model: each token has a vector, their mean is that of the text."""
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers

    ids, mask = (
        helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in ("input_ids", "attention_mask")
    )
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 6])
    look_up = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    _save([look_up], [ids, mask], [out], [numpy_helper.from_array(TABLE, "table")], folder)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    modules = ["Transformer", "Pooling", "Normalize"]
    listed = [{"type": f"sentence_transformers.models.{name}", "path": ""} for name in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


def write_image_model(folder: Path) -> Path:
    """Write an image model: the vector of an image is its mean colour."""
    from onnx import TensorProto, helper

    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n", 3, 8, 8])
    out = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 3, 1, 1])
    _save([helper.make_node("GlobalAveragePool", ["pixel_values"], ["features"])], [pixels], [out], [], folder)
    said = {"image_mean": [0, 0, 0], "image_std": [1, 1, 1]}
    (folder / "preprocessor_config.json").write_text(json.dumps(said))
    return folder


def _save(nodes: list, inputs: list, outputs: list, tensors: list, folder: Path) -> None:
    from onnx import helper, save

    graph = helper.make_graph(nodes, "tiny", inputs, outputs, initializer=tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    save(model, str(folder / "model.onnx"))
