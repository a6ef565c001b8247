"""A campaign can name code that computes its features: nothing of it runs unless somebody has said yes to it."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bela.campaign import create_campaign, open_campaign
from bela.cli import main
from bela.errors import BelaError, ParameterError

CODE = """
from contextlib import suppress
from pathlib import Path
Path({mark!r}).write_text("it ran")
def lengths(records):
    return [[len(record["text"]), 1.0] for record in records]
"""
COMMANDS = ("status", "verify", "export", "report", "undo", "label", "run")


@pytest.fixture
def wanting(strangers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A campaign whose features come from a module in the folder that somebody works in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "config"))
    (tmp_path / "strange_code.py").write_text(CODE.format(mark=str(tmp_path / "ran")))
    settings = strangers / "campaign.toml"
    text = settings.read_text()
    table = "[features.columns]"
    settings.write_text(text.replace(table, f'[features]\nfeatures = "strange_code:lengths"\n{table}'))
    before = {*sys.modules}
    yield strangers
    for name in {*sys.modules} - before:
        if name.startswith("strange_code"):
            del sys.modules[name]


def arguments(command: str, campaign: Path) -> list[str]:
    """Return a command line that opens a campaign."""
    more = {
        "export": ["--to", str(campaign.parent / "out.csv")],
        "report": ["--to", str(campaign.parent / "out.html")],
        "label": ["--terminal"],
        "run": ["--oracle", "json:dumps"],
    }
    return [command, str(campaign), *more.get(command, [])]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_it_unasked(
    wanting: Path, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence says which file it is and what to do; whatever there is of the campaign stays as it was."""
    before = {path: path.read_bytes() for path in wanting.rglob("*") if path.is_file() and "journal" in path.name}
    assert main(arguments(command, wanting)) == 2
    said = capsys.readouterr().err
    assert "strange_code" in said
    assert "--allow-code" in said
    assert not (tmp_path / "ran").exists()
    assert all(path.read_bytes() == content for path, content in before.items())


def test_python_needs_a_yes_too(wanting: Path, tmp_path: Path) -> None:
    """To look or to write."""
    for read_only in (True, False):
        with pytest.raises(ParameterError, match="allow"):
            open_campaign(wanting, read_only=read_only)
    assert not (tmp_path / "ran").exists()


def test_a_yes_is_for_the_code_as_it_is(wanting: Path, tmp_path: Path) -> None:
    """It is kept; a change of the code, of its package or of the name needs another."""
    (tmp_path / "cache-of-another").mkdir()

    def runs(**options: bool) -> bool:
        (tmp_path / "ran").unlink(missing_ok=True)
        sys.modules.pop("strange_code", None)
        try:
            with open_campaign(wanting, read_only=True, **options):
                pass
        except BelaError as error:
            if "allow" in str(error):
                return False
        return (tmp_path / "ran").exists()

    assert not runs()
    assert runs(allow_code=True)  # its features are others, so that the journal no longer fits: it ran all the same
    assert runs()
    code = tmp_path / "strange_code.py"
    code.write_text(code.read_text() + "\n# another byte\n")
    assert not runs()


def test_parents_of_a_module_do_not_run_either(wanting: Path, tmp_path: Path) -> None:
    """Finding `a.b` by importing would run `a`, before anybody has said yes."""
    package = tmp_path / "strange_code_package"
    package.mkdir()
    (package / "__init__.py").write_text(CODE.format(mark=str(tmp_path / "ran")))
    (package / "inner.py").write_text("def lengths(records): return [[1.0] for _ in records]\n")
    settings = wanting / "campaign.toml"
    settings.write_text(settings.read_text().replace("strange_code:", "strange_code_package.inner:"))
    with pytest.raises(ParameterError, match="allow"):
        open_campaign(wanting, read_only=True)
    assert not (tmp_path / "ran").exists()


def test_a_function_that_reads_texts_needs_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a model like others, but opening a campaign that names it runs nothing."""
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("strange_reader", None)
    mark = str(tmp_path / "ran")
    (tmp_path / "strange_reader.py").write_text(
        f"from pathlib import Path\nPath({mark!r}).touch()\ndef read(texts): return [[1.0, len(t)] for t in texts]\n"
    )
    data = tmp_path / "texts.csv"
    data.write_text("text\n" + "".join(f"the text number {i} has some words of its own\n" for i in range(40)))
    path = tmp_path / "own.bela"
    with create_campaign(data, path, embed="strange_reader:read", method="random"):
        assert (tmp_path / "ran").exists()  # whoever names it has allowed it
    (tmp_path / "ran").unlink()
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "of-somebody-else"))
    shutil.rmtree(path / "cache", ignore_errors=True)
    for kept in path.glob("**/*vectors*"):
        shutil.rmtree(kept, ignore_errors=True)
    sys.modules.pop("strange_reader", None)
    with suppress(BelaError), open_campaign(path, read_only=True):
        pass
    assert not (tmp_path / "ran").exists()


def test_whoever_names_code_has_allowed_it(wanting: Path, tmp_path: Path) -> None:
    """Beginning a campaign with a function is a yes to it, and going on is no question."""
    path = tmp_path / "own.bela"
    with create_campaign(tmp_path / "data.csv", path, features="strange_code:lengths", method="random"):
        assert (tmp_path / "ran").exists()
    with open_campaign(path, read_only=True) as stored:
        assert stored.campaign.n_rows == 40
