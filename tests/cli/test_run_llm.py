"""`bela run --oracle llm`: frozen with its prompt, shown before, paid once, and nothing sent without a yes."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.oracles.llm_server import ModelServer, fail, say

PAPER = ("--method", "bela-paper")


def kind(text: str) -> str:
    weight = next(line for line in text.splitlines() if line.startswith("weight: "))
    return "cat" if float(weight.partition(": ")[2]) < 4 else "dog"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that knows pets, and a home without any permissions."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "SECRET")
    server = ModelServer(kind)
    yield server
    server.close()


def model(server: ModelServer, *more: object) -> tuple[object, ...]:
    return ("--oracle", "llm", "--llm-url", server.url, "--llm-model", "m", *more)


def test_a_model_answers(call: Call, table: Path, server: ModelServer) -> None:
    """A language model labels a table; costs are in status, certificate and report; the truth never leaves."""
    guidelines = table.with_name("guide.md")
    guidelines.write_text("Cats are light.")
    said = call(
        "run", table, *model(server, "--llm-price", "10,50", "--llm-cap", "5", "--llm-guidelines", guidelines),
        "--classes", "cat,dog", "--hide", "kind", "--stop-after", 24, "--json", "-", *PAPER,
    )  # fmt: skip
    assert said.json["n_asked"] == 24
    assert said.json["cost"] == pytest.approx(0.0015 * len(server.calls))
    assert "tokens in and" in said.err
    assert "the cap is 5" in said.err
    sent = json.dumps([call["body"] for call in server.calls])
    assert "Cats are light." in sent
    assert "kind:" not in sent
    assert server.calls[0]["headers"]["authorization"] == "Bearer SECRET"
    kept = tomllib.loads(Path("pets.bela/llm.toml").read_text())
    assert (kept["model"], kept["classes"], kept["guidelines"]) == ("m", ["cat", "dog"], "Cats are light.")
    folder = b"".join(path.read_bytes() for path in Path("pets.bela").rglob("*") if path.is_file())
    assert b"SECRET" not in folder
    assert call("status", table, "--json").json["cost"] == pytest.approx(said.json["cost"])
    assert "cost 0.0" in call("status", table).out
    call("export", "pets.bela", "--to", "labels.csv")
    document = json.loads(Path("labels.csv.certificate.json").read_text())
    assert document["cost"] == pytest.approx(said.json["cost"])
    assert document["language_model"] == {"model": "m", "answers": 24}
    assert "24 of the answers were given by the language model m" in document["statement"]
    call("report", "pets.bela", "--to", "report.html")
    report = Path("report.html").read_text()
    assert "the language model m" in report
    assert "Cost" in report
    call("verify", "pets.bela", "--export", "labels.csv")


def test_going_on(call: Call, table: Path, server: ModelServer) -> None:
    """The same command goes on, without naming the model again, and without asking anything twice."""
    call("run", table, *model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 8, *PAPER)
    n = len(server.calls)
    call("run", table, "--oracle", "llm", "--stop-after", 16, *PAPER)
    asked = [call["body"]["messages"][-1]["content"] for call in server.calls]
    assert len(asked) > n
    assert len(set(asked)) == len(asked)


def test_the_prompt_is_shown(call: Call, table: Path, server: ModelServer) -> None:
    """`--show-prompt` shows guidelines, classes, examples and a row, and sends nothing; it is not frozen yet."""
    options = (*model(server, "--llm-price", "1,1"), "--label", "kind", *PAPER)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(line if i < 6 else line.rpartition(",")[0] + "," for i, line in
                                            enumerate(lines[1:]))]) + "\n")  # fmt: skip
    said = call("run", table, *options, "--show-prompt")
    for words in (
        "--- system ---",
        "\ncat\ndog\n",
        "--- assistant ---",
        '{"label": "cat"}',
        "name: pet0",
        "1,000 answers",
    ):
        assert words in said.out
    assert server.calls == []
    assert not Path("pets.bela/llm.toml").exists()
    call("run", table, *options, "--stop-after", 4)
    kept = tomllib.loads(Path("pets.bela/llm.toml").read_text())
    assert kept["examples"] == [[0, "cat"], [1, "dog"], [2, "cat"], [3, "dog"]]


def test_the_prompt_is_frozen(call: Call, table: Path, server: ModelServer) -> None:
    """Neither model nor guidelines can be changed once a row was sent; the address can."""
    call("run", table, *model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 4, *PAPER)
    other = table.with_name("other.md")
    other.write_text("Guess.")
    said = call("run", table, "--oracle", "llm", "--llm-model", "other", status=2)
    assert "--llm-model contradicts the llm.toml" in said.err
    said = call("run", table, "--oracle", "llm", "--llm-guidelines", other, status=2)
    assert "--llm-guidelines contradicts the llm.toml" in said.err
    moved = ModelServer(kind)
    try:
        call("run", table, *model(moved), "--stop-after", 12)
        assert moved.calls
    finally:
        moved.close()


def test_a_campaign_of_somebody_else(
    call: Call, table: Path, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a campaign's file names gets neither key nor row before the person has said yes on this machine."""
    call("run", table, *model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 4, *PAPER)
    server.calls.clear()
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "another machine"))
    go_on = ("run", table, "--oracle", "llm", "--stop-after", 8)
    said = call(*go_on, status=2)
    assert f"nothing is sent before you allow it with --allow {server.url}" in said.err
    call(*go_on, "--show-prompt", status=2)
    call(*go_on, "--allow", "https://elsewhere.example/v1", status=2)
    assert server.calls == []
    call(*go_on, "--allow", server.url)
    assert server.calls
    [remembered] = (tmp_path / "another machine").rglob("allowed.json")
    assert stat.S_IMODE(remembered.stat().st_mode) == 0o600
    call("run", table, "--oracle", "llm", "--stop-after", 12)  # it is remembered
    file = Path("pets.bela/llm.toml")
    file.write_text(file.read_text().replace('guidelines = ""', 'guidelines = "Send me more."'))
    said = call("run", table, "--oracle", "llm", "--stop-after", 16, status=2)
    assert "--allow" in said.err  # but for this file alone


def test_a_yes_at_the_keyboard(
    call: Call, table: Path, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is somebody to ask, they are asked, and a no is a no."""
    call("run", table, *model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 4, *PAPER)
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "another machine"))
    said: list[str] = []
    answers = [False, True]
    monkeypatch.setattr("bela.cli._answering.can_ask", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda text: said.append(text) or answers.pop(0))
    call("run", table, "--oracle", "llm", "--stop-after", 8, status=2)
    call("run", table, "--oracle", "llm", "--stop-after", 8)
    call("run", table, "--oracle", "llm", "--stop-after", 12)
    assert len(said) == 2
    assert server.url in said[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--oracle", "llm"), "--llm-url"),
        (("--oracle", "llm", "--llm-url", "http://localhost:1/v1"), "--llm-model"),
        (("--oracle", "llm", "--llm-url", "localhost"), "is not the address of a server"),
        (("--oracle", "llm=gpt"), "--llm-model gpt"),
        (("--oracle", "llm", "--llm-url", "http://localhost:1", "--llm-model", "m"), "must know the classes"),
        (("--oracle", "llm", "--llm-cap", "-1"), "from 0 on"),
        (("--oracle", "llm", "--llm-price", "1"), "IN,OUT"),
        (("--oracle", "llm", "--llm-guidelines", "none.md"), "cannot be read"),
        (("--truth", "kind", "--llm-cap", "1"), "is for a language model"),
        (("--truth", "kind", "--show-prompt"), "--show-prompt is for --oracle llm"),
        (
            ("--oracle", "llm", "--llm-url", "http://localhost:1/v1", "--llm-model", "m", "--classes", "a,b",
             "--llm-key-env", "NO_KEY"), "no key in the environment variable NO_KEY",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be(call: Call, table: Path, server: ModelServer, options: tuple[str, ...], words: str) -> None:
    """What is wrong is said in one sentence."""
    assert words in call("run", table, *options, *PAPER, status=2).err


def test_a_server_that_fails_and_comes_back(call: Call, table: Path, server: ModelServer) -> None:
    """An error ends the command with a sentence, and the same command goes on later."""
    usual, server.usual = server.usual, fail(500)
    options = (*model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 4, "--retries", 0, *PAPER)
    said = call("run", table, *options, status=2)
    assert "nothing that was answered so far is lost" in said.err
    server.usual = usual
    assert call("run", table, *options, "--json", "-").json["n_asked"] == 4


def test_a_model_helps(call: Call, table: Path, server: ModelServer) -> None:
    """A language model teaches, the column certifies; answers and costs are counted apart, and it may decline."""
    options = ("--helper", "llm", *model(server, "--llm-price", "10,50", "--llm-cap", "1")[2:], "--truth", "kind")
    said = call("run", table, *options, "--classes", "cat,dog", "--stop-after", 12, "--json", "-")
    assert said.json["n_asked"] == 12
    assert said.json["cost"] == 0
    assert said.json["n_helped"] == len(server.calls) > 12
    assert said.json["helper_cost"] == pytest.approx(0.0015 * len(server.calls))
    assert "kind:" not in json.dumps([call["body"] for call in server.calls])
    assert '{"label": null}' in server.calls[0]["body"]["messages"][0]["content"].replace('\\"', '"')
    assert f"the helper {len(server.calls)} for 0.1" in call("status", table).out
    call("export", "pets.bela", "--to", "labels.csv")
    helper = json.loads(Path("labels.csv.certificate.json").read_text())["helper"]
    assert helper["answers"] == len(server.calls)
    assert helper["name"] == "llm m"
    call("report", "pets.bela", "--to", "report.html")
    assert "taught and were not believed" in Path("report.html").read_text()
    call("verify", "pets.bela", "--export", "labels.csv")


def test_a_cap_that_is_reached_ends_the_help(call: Call, table: Path, server: ModelServer) -> None:
    """Without money the helper is given up, which is said, and the campaign goes on."""
    options = ("--helper", "llm", *model(server, "--llm-price", "10,50", "--llm-cap", "0.05")[2:], "--truth", "kind")
    said = call("run", table, *options, "--classes", "cat,dog", "--stop-after", 20)
    assert "The helper was given up: the cap of 0.05 is reached" in said.out
    assert len(server.calls) < 34
    assert call("status", table, "--json").json["n_asked"] == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--helper", "llm", "--oracle", "llm"), "exclude each other"),
        (("--helper", "a:b", "--helper-cmd", "cat", "--truth", "kind"), "exclude each other"),
        (("--helper", "nonsense", "--truth", "kind"), "names no function"),
        (("--helper", "llm", "--truth", "kind", "--classes", "cat,dog"), "--llm-url"),
        (("--helper", "truth=kind", "--truth", "kind", *PAPER), "learns from no helper"),
    ],
)
def test_helpers_that_cannot_be(
    call: Call, table: Path, server: ModelServer, options: tuple[str, ...], words: str
) -> None:
    """What is wrong with a helper is said in one sentence."""
    assert words in call("run", table, *options, status=2).err


def test_no_campaign_is_made_for_a_helper_that_it_cannot_use(call: Call, table: Path) -> None:
    """Whoever leaves out what cannot be begins with the same command, and nothing is in the way."""
    options = ("run", table, "--truth", "kind", "--helper", "truth=kind")
    assert "--method random learns from no helper" in call(*options, "--method", "random", status=2).err
    assert not Path("pets.bela").exists()


def test_a_helper_that_can_tell_nothing(call: Call, table: Path, server: ModelServer) -> None:
    """What it was asked and what that has cost is shown all the same."""
    server.usual = say('{"label": null}')
    options = ("--helper", "llm", *model(server, "--llm-price", "10,50", "--llm-cap", "9")[2:], "--truth", "kind")
    said = call("run", table, *options, "--classes", "cat,dog", "--stop-after", 5).out
    n = len(server.calls)
    assert "You answered 5 (" in said
    assert f"the helper 0 for {0.0015 * n:.6g} (it could not tell {n} more)" in said


def test_nothing_is_left_of_a_model_without_an_address(call: Call, table: Path, server: ModelServer) -> None:
    """What is missing is said before a campaign is made."""
    for options in (("--oracle", "llm"), ("--helper", "llm", "--truth", "kind")):
        assert "--llm-url" in call("run", table, *options, "--classes", "cat,dog", status=2).err
        assert not Path("pets.bela").exists()
    call("run", table, *model(server), "--classes", "cat,dog", "--hide", "kind", "--stop-after", 3, *PAPER)
    call("run", table, "--oracle", "llm", "--stop-after", 5, *PAPER)  # by what is kept there


def test_examples_are_what_was_learnt(call: Call, table: Path, server: ModelServer) -> None:
    """Once people's answers were learnt from, a model that helps is shown some of them; an oracle never is."""
    options = ("--helper", "llm", *model(server)[2:], "--truth", "kind", "--classes", "cat,dog")
    call("run", table, *options, "--target", "0.99", "--stop-after", 45)
    roles = [[message["role"] for message in call["body"]["messages"]] for call in server.calls]
    assert roles[0] == ["system", "user"]
    assert roles[-1] == ["system", *["user", "assistant"] * 4, "user"]
    assert "kind:" not in json.dumps([call["body"] for call in server.calls])


def test_a_simulated_helper(call: Call, table: Path, server: ModelServer) -> None:
    """Simulations take helpers as campaigns do: a function, a column, a language model; counted apart."""
    Path("guess.py").write_text(
        "def guess(records):\n    return ['cat' if float(r['weight']) < 3 else 'dog' for r in records]\n"
    )
    base = ("simulate", table, "--truth", "kind", "--target", "0.8", "--json", "-")
    helped = call(*base, "--helper", "guess:guess").json["helper"]
    assert (helped["name"], helped["declined"], helped["ended"]) == ("guess:guess", 0, "")
    assert helped["answers"] > 20
    assert "helper" not in call(*base).json
    said = call(*base, "--helper", "llm", *model(server, "--llm-price", "10,50", "--llm-cap", "9")[2:])
    assert said.json["helper"]["cost"] == pytest.approx(0.0015 * len(server.calls))
    assert "kind:" not in json.dumps([call["body"] for call in server.calls])
    shown = call("simulate", table, "--truth", "kind", "--helper", "llm", *model(server, "--show-prompt")[2:])
    assert "--- system ---" in shown.out + shown.err
    assert "--helper llm" in call(*base, "--llm-cap", "3", status=2).err


def test_a_helper_for_people(call: Call, table: Path, server: ModelServer) -> None:
    """Who answers in the terminal can have a helper, and is told what is for it alone."""
    options = ("--terminal", "--classes", "cat,dog", "--hide", "kind")
    call("label", table, *options, "--helper", "llm", *model(server)[2:], typed="1\n2\nq\n")
    assert call("status", table, "--json").json["n_asked"] == 2
    said = call("label", table, *options, "--llm-cap", "3", status=2)
    assert "--helper llm" in said.err
