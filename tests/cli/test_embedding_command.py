"""`--embed` on the command line, and campaigns whose texts a model has read."""

import sys
from pathlib import Path
from typing import Any

import pytest

CODE = """
calls = []

def embed(texts):
    calls.extend(texts)
    return [[len(t), t.count("a"), t.count("e"), 1.0] for t in texts]

def other(texts):
    return [[1.0, len(t)] for t in texts]
"""
QUICK = ("--budget", 12, "--method", "random")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that reads texts, in a module of its own beside the data."""
    name = f"reads_{tmp_path.name.replace('-', '_')}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    Path(f"{name}.py").write_text(CODE)
    lines = [f"the {'cat purrs' if i % 3 else 'dog barks'} on day {i},{'cat' if i % 3 else 'dog'}\n" for i in range(60)]
    Path("pets.csv").write_text("text,kind\n" + "".join(lines))
    yield name
    sys.modules.pop(name, None)


def test_a_campaign_names_its_model(call: Any, module: str) -> None:
    """It is said aloud and written down; opening again needs it no more, and another one contradicts."""
    run = ("run", "pets.csv", "--truth", "kind", *QUICK)
    told = call(*run, "--embed", f"{module}:embed").out
    assert f"'text': text ({module}:embed and TF-IDF)" in told
    settings = Path("pets.bela/campaign.toml").read_text()
    assert f'model = "{module}:embed"' in settings
    assert 'door = "function"' in settings
    assert len(sys.modules[module].calls) == 60
    Path(f"{module}.py").unlink()
    assert call("run", "pets.csv", "--truth", "kind", "--budget", 15, "--json", "-").json["n_asked"] == 15
    assert call("verify", "pets.bela").out
    assert len(sys.modules[module].calls) == 60
    for other in (f"{module}:other", "none", f"text={module}:other"):
        assert f"--embed {other} contradicts pets.bela" in call(*run, "--embed", other, status=2).err
    for same in (f"{module}:embed", f"text={module}:embed@function", "auto"):
        call(*run, "--budget", 15, "--embed", same)


def test_changed_rows(call: Any, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those are read again, and by code that the campaign names only if somebody says so."""
    embed = ("--embed", f"{module}:embed")
    call("run", "pets.csv", "--truth", "kind", *QUICK, *embed)
    calls = sys.modules[module].calls
    calls.clear()
    with Path("pets.csv").open("a") as file:
        file.write("the cow moos,cow\n")
    again = ("run", "pets.csv", "--truth", "kind", "--accept-changes")
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "of-somebody-else"))
    line = call(*again, status=2).err
    assert f"allow it with --allow-code, or by --embed {module}:embed@function" in line
    assert calls == []
    call(*again, *embed)
    assert calls == ["the cow moos"]


def test_a_model_that_fails_keeps_what_is_done(call: Any, module: str) -> None:
    """The campaign is there, and the same command goes on."""
    Path(f"{module}.py").write_text(CODE + "def bad(texts):\n    raise RuntimeError('no more')\n")
    line = call("run", "pets.csv", "--truth", "kind", *QUICK, "--embed", f"{module}:bad", status=2).err
    assert "no more" in line
    assert "Traceback" not in line
    assert Path("pets.bela/campaign.toml").exists()


@pytest.mark.parametrize("door", ["", "@folder"])
def test_a_file_is_no_model(call: Any, module: str, door: str) -> None:
    """Weights need what lies beside them: the folder is to be named, whatever kind of file it is."""
    for name in ("model.onnx", "model.safetensors", "weights.pth"):
        Path(name).write_bytes(b"0")
        line = call("simulate", "pets.csv", "--truth", "kind", *QUICK, "--embed", f"{name}{door}", status=2).err
        assert f"{name} is a file: name the folder" in line


def test_a_function_that_ends_the_program(call: Any, module: str) -> None:
    """It is an error of that function, told in a sentence."""
    Path(f"{module}.py").write_text(CODE + "def leaves(texts):\n    raise SystemExit(3)\n")
    line = call("simulate", "pets.csv", "--truth", "kind", *QUICK, "--embed", f"{module}:leaves", status=2).err
    assert "failed on 60 row(s) of 'text': SystemExit: 3" in line


def test_simulations_say_what_reads_the_texts(call: Any, module: str) -> None:
    """In one line, and what could be had where nothing does; the vectors are kept for the next one."""
    simulate = ("simulate", "pets.csv", "--truth", "kind", *QUICK)
    assert f"text ({module}:embed and TF-IDF)" in call(*simulate, "--embed", f"text={module}:embed").err
    assert len(sys.modules[module].calls) == 60
    call(*simulate, "--embed", f"text={module}:embed", "--seed", 1)
    assert len(sys.modules[module].calls) == 60
    assert "text (TF-IDF)" in call(*simulate, "--embed", "none").err


def test_audits_need_no_model(call: Any, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They compare labels: no model is looked for."""
    looked_for: list[str] = []
    monkeypatch.setattr("bela.features.embedding._choice._found", looked_for.append)
    head, *lines = Path("pets.csv").read_text().splitlines()
    given = [f"{line},{line.rpartition(',')[2]}" for line in lines]
    Path("pets.csv").write_text("\n".join([f"{head},given", *given, ""]))
    audit = ("certify", "pets.csv", "--label", "given", "--truth", "kind", "--campaign", "audit.bela")
    assert call(*audit, "--target", 0.5).out
    assert looked_for == []
