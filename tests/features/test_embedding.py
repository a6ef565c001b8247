"""Texts and images that a model reads: once each, kept, and beside what else is computed of them."""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bela
from bela.data import open_table
from bela.errors import DataError, EmbeddingError, ParameterError
from bela.features import FeaturePlan, compute_features, plan_features, prepare
from bela.features.embedding import EMBEDDINGS, Embedding, Reading

TINY = runpy.run_path(str(Path(__file__).with_name("tiny_models.py")))
WORDS = ["cat", "dog", "sings", "barks", "loud", "red"]
FUNCTION = """
import os, signal
calls, stop = [], int(os.environ.get("STOP_AT", 0))

def embed(texts):
    calls.append(list(texts))
    if stop and len(calls) == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    return [[len(t), t.count("a"), t.count("o"), 1.0] for t in texts]

def fails(texts):
    if len(calls) == 2:
        raise RuntimeError("out of coffee")
    return embed(texts)

def holes(texts):
    return [[float("nan")]] * len(texts)

def short(texts):
    return [[1.0]] * (len(texts) - 1)

def colours(images):
    return [image.resize((1, 1)).getpixel((0, 0)) for image in images]
"""


def texts(n: int, seed: int = 0) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    return [{"text": " ".join(rng.choice(WORDS, 3 + i % 4)) + f" {i}"} for i in range(n)]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the present folder, with a user's cache of its own."""
    name = f"embedding_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("STOP_AT", raising=False)
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def real():
    """What runs ONNX models, and what tests write them with."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)


def vectors_of(records, model: Path, column: str, kind: str, kept: Path) -> np.ndarray:
    digest = EMBEDDINGS["folder"].digest(str(model), kind, print)
    chosen = Embedding(model=str(model), door="folder", digest=digest)
    reading = Reading(records=records, column=column, kind=kind, embedding=chosen, kept=kept, allowed=False)
    return np.asarray(reading.write(kept.parent / "out.npy", lambda share: None))


def test_a_folder_with_a_text_model(real, tmp_path):
    """ONNX with its tokenizer: each text gets the mean of its tokens, of length 1; an empty one the mean of all."""
    model = TINY["write_text_model"](tmp_path / "tiny-words")
    said = ["cat sings", "dog barks loud loud", "", "red", "cat sings", "something else"]
    found = vectors_of(open_table([{"text": text} for text in said]), model, "text", "text", tmp_path / "kept")
    for text, vector in zip(said, found, strict=True):
        if text:
            np.testing.assert_allclose(vector, TINY["expected"](text), atol=1e-5)
    np.testing.assert_allclose(found[2], found[[0, 1, 3, 4, 5]].mean(axis=0), atol=1e-5)


def test_a_folder_with_an_image_model(real, tmp_path):
    """Images by their paths: squashed, scaled as the folder says; one that is no image is like the mean of all."""
    model = TINY["write_image_model"](tmp_path / "tiny-colours")
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 51)]
    for i, colour in enumerate(colours):
        Image.new("RGB", (20 + i, 9), colour).save(tmp_path / f"{i}.png")
    (tmp_path / "3.png").write_text("no image")
    table = tmp_path / "images.csv"
    table.write_text("picture\n" + "".join(f"{i}.png\n" for i in range(4)))
    found = vectors_of(open_table(table), model, "picture", "image", tmp_path / "kept")
    np.testing.assert_allclose(found[:3], np.array(colours) / 255, atol=1e-5)
    np.testing.assert_allclose(found[3], found[:3].mean(axis=0), atol=1e-5)


def test_models_are_beside_what_else_is_computed(real, tmp_path):
    """The words of a text stay: the learner sees both, together and each by itself; the plan says so and is kept."""
    model = TINY["write_text_model"](tmp_path / "tiny-words")
    table = open_table(texts(90))
    plan = plan_features(table, embed=str(model))
    assert plan.describe()[0].startswith("'text': text (tiny-words and TF-IDF)")
    assert FeaturePlan.from_dict(plan.to_dict()) == plan
    source = compute_features(table, plan, cache=tmp_path / "cache")
    alone = compute_features(table, plan_features(table, embed="none"), cache=tmp_path / "other")
    assert source.prepared.linear is not None
    assert source.prepared.dense.shape[1] == alone.prepared.dense.shape[1] + 6
    assert [view.shape[0] for view in source.prepared.views] == [90, 90]
    assert [view.shape[1] for view in source.prepared.views] == [alone.prepared.dense.shape[1], 6]
    assert alone.prepared.views == ()


def test_a_campaign_by_a_model(real, tmp_path, monkeypatch):
    """In Python: `embed=` in a campaign, in `bela.label`, and in the estimator."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    model = str(TINY["write_text_model"](tmp_path / "tiny-words"))
    rows = [row["text"] for row in texts(80)]
    truth = ["cat" if "cat" in text else "none" for text in rows]
    result = bela.label(rows, truth, embed=model, budget=30)
    assert result.n_asked == 30
    labeler = bela.BelaLabeler(oracle=truth, budget=30, embed={"text": model}).fit(rows)
    assert (labeler.transduction_ == result.labels).all()
    assert list((tmp_path / "user" / "bela" / "embeddings").glob("*.vectors"))


def test_what_is_here_is_used(real, tmp_path, monkeypatch):
    """Auto takes a model of $BELA_MODELS for the columns that it reads, unless it is told otherwise."""
    TINY["write_text_model"](tmp_path / "models" / "tiny-words")
    (tmp_path / "models" / "empty").mkdir()
    (tmp_path / "models" / "a-folder" / "within").mkdir(parents=True)  # what is needed lies deeper, or is missing
    (tmp_path / "models" / "a-folder" / "within" / "model.safetensors").write_bytes(b"0")
    (TINY["write_text_model"](tmp_path / "models" / "a-model") / "tokenizer.json").unlink()
    monkeypatch.setenv("BELA_MODELS", str(tmp_path / "models"))
    table = open_table([{"a": row["text"], "b": row["text"] + " red", "n": i} for i, row in enumerate(texts(60))])
    auto = plan_features(table)
    assert {name: model.title for name, model in auto.embed.items()} == {"a": "tiny-words", "b": "tiny-words"}
    assert auto.embed == plan_features(table, embed="tiny-words").embed
    for name, words in (("a-folder", "name the folder that has both"), ("a-model", "has no tokenizer.json")):
        with pytest.raises(ParameterError, match=words):
            plan_features(table, embed=str(tmp_path / "models" / name))
    assert plan_features(table, embed="none").embed == {}
    assert set(plan_features(table, embed="a=none").embed) == {"b"}
    assert set(plan_features(table, embed=["none", "b=tiny-words"]).embed) == {"b"}


def test_where_nothing_is_here_it_is_said(monkeypatch):
    """One line says what to install; none where there are no texts, or where somebody does not want it."""
    monkeypatch.setattr("bela.features.embedding._choice.is_installed", lambda *_: False)
    table = open_table(texts(60))
    (line,) = plan_features(table).notices
    assert 'pip install "bela[embed]"' in line
    assert plan_features(table, embed="none").notices == ()
    assert plan_features(open_table([{"n": i} for i in range(60)])).notices == ()
    with pytest.raises(ParameterError, match=r'pip install "bela\[embed\]"'):
        plan_features(table, embed="all-MiniLM-L6-v2")


def test_equal_rows_are_read_once(module, tmp_path):
    """And long ones first, so that a batch has texts of like length; a missing text is not read."""
    rows = [{"text": text} for text in ["cat", "a longer text", "cat", None, "cat", "dog"]]
    prepare(rows, embed=f"{module}:embed", kinds={"text": "text"}, cache=tmp_path / "cache")
    assert sys.modules[module].calls == [["a longer text", "cat", "dog"]]


def test_only_what_has_changed_is_read_again(module, tmp_path):
    """The same rows in another order, and one that is new: the model reads that one."""
    cache, rows = tmp_path / "cache", texts(50)
    before = prepare(rows, embed=f"{module}:embed", cache=cache)
    calls = sys.modules[module].calls
    calls.clear()
    after = prepare([*rows[::-1], {"text": "brand new"}], embed=f"{module}:embed", cache=cache)
    assert calls == [["brand new"]]
    assert after.source.n_rows == before.source.n_rows + 1
    calls.clear()
    prepare(rows, plan=before.plan, cache=cache)  # without anybody's leave: nothing is to be read
    assert calls == []


def test_another_version_of_a_function_reads_anew(module, tmp_path):
    """Its code is part of its digest, and a plan with the old one says so rather than mix the two."""
    first = plan_features(open_table(texts(20)), embed=f"{module}:embed")
    (tmp_path / f"{module}.py").write_text(FUNCTION + "\n# another\n")
    second = plan_features(open_table(texts(20)), embed=f"{module}:embed")
    assert first.embed["text"].digest != second.embed["text"].digest
    with pytest.raises(EmbeddingError, match="not the one"):
        compute_features(open_table(texts(20)), first, cache=tmp_path / "cache")


def test_a_damaged_vector_is_read_again(module, tmp_path):
    """One bit on disk is enough."""
    prepare(texts(20), embed=f"{module}:embed", cache=tmp_path / "a")
    (file,) = (tmp_path / "a" / "embeddings").glob("*.vectors")
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    calls = sys.modules[module].calls
    calls.clear()
    plan = plan_features(open_table(texts(20)), embed=f"{module}:embed")
    compute_features(open_table(texts(20)), plan, cache=tmp_path / "b", vectors=tmp_path / "a" / "embeddings")
    assert [len(call) for call in calls] == [1]


def test_what_was_read_before_a_failure_is_kept(module, tmp_path, monkeypatch):
    """The next attempt goes on from there."""
    monkeypatch.setattr("bela.features.embedding.doors._function._Function.batch", 8)
    with pytest.raises(EmbeddingError, match="out of coffee"):
        prepare(texts(40), embed=f"{module}:fails", cache=tmp_path / "cache")
    calls = sys.modules[module].calls
    calls.append([])  # so that it does not fail again
    prepare(texts(40), embed=f"{module}:fails", cache=tmp_path / "cache")
    assert sum(map(len, calls)) == 40


KILLED = """
import sys
from bela.features import prepare
from bela.features.embedding.doors import _function
_function._Function.batch = 8
prepare([{"text": line} for line in open("rows.txt").read().splitlines()], embed=sys.argv[1], cache="cache")
print(sum(map(len, sys.modules[sys.argv[1].split(":")[0]].calls)))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system")
def test_a_killed_process_loses_one_batch_at_most(module, tmp_path):
    """kill -9 in the third batch: the first two are there, and the next process reads the rest."""
    (tmp_path / "rows.txt").write_text("".join(row["text"] + "\n" for row in texts(60)))
    command = [sys.executable, "-c", KILLED, f"{module}:embed"]
    path = os.pathsep.join(filter(None, [str(Path(bela.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": path, "STOP_AT": "3"}, check=False)
    assert killed.returncode == -signal.SIGKILL
    rest = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True)
    assert int(rest.stdout) == 60 - 2 * 8


def test_the_bar_goes_forwards(module, tmp_path):
    """From nothing to all, with each batch, whatever is read first."""
    shares = []
    prepare(texts(3000), embed=f"{module}:embed", cache=tmp_path / "cache", progress=lambda *told: shares.append(told))
    read = [share for what, share in shares if what.startswith("reading 'text' with")]
    assert read == sorted(read)
    assert read[-1] == 1
    assert len(read) >= 3000 // 256


@pytest.mark.parametrize(("name", "words"), [("holes", "NaN"), ("short", "shape")])
def test_what_makes_no_sense_is_refused(module, tmp_path, name, words):
    """A vector for each row, of finite numbers, or one sentence."""
    with pytest.raises(EmbeddingError, match=words):
        prepare(texts(20), embed=f"{module}:{name}", cache=tmp_path / "cache")


def test_nothing_to_read(module, tmp_path):
    """A column without a single text is one sentence."""
    with pytest.raises(DataError):
        prepare([{"text": " ", "n": 1}, {"text": "", "n": 2}], kinds={"text": "text"}, embed=f"{module}:embed")


def test_images_of_an_array(module, tmp_path):
    """Arrays of pixels are read by a model that is named, and by none that is not."""
    pixels = np.random.default_rng(0).integers(0, 255, (30, 8, 8, 3), dtype=np.uint8)
    found = prepare(pixels, embed=f"{module}:colours", cache=tmp_path / "cache")
    assert found.source.prepared.views[-1].shape == (30, 3)
    assert prepare(pixels).plan.embed == {}


def test_a_plan_from_elsewhere_runs_nothing(module, tmp_path):
    """Neither code nor an address that a file names is used before somebody says so; with their leave it is."""
    table = open_table(texts(20))
    plan = plan_features(table, embed=f"{module}:embed")
    with pytest.raises(EmbeddingError, match=f"--embed {module}:embed@function"):
        prepare(table, plan=plan, cache=tmp_path / "cache")
    assert sys.modules[module].calls == []
    prepare(table, plan=plan, cache=tmp_path / "cache", allowed=True)


def test_a_plan_from_before_there_were_doors():
    """What was called a text model is a model of sentence-transformers that reads all texts."""
    plan = FeaturePlan.from_dict({"columns": {"a": "text", "n": "number"}, "text_model": "all-MiniLM-L6-v2"})
    assert plan.embed == {"a": Embedding(model="all-MiniLM-L6-v2", door="sentence-transformers")}


@pytest.mark.parametrize("wrong", [5, len])
def test_what_is_no_name_of_a_model(wrong):
    """One sentence says how models are named."""
    with pytest.raises(ParameterError, match="write a model's name"):
        bela.label([f"a text {i}" for i in range(30)], [0, 1] * 15, budget=5, embed=wrong)
