"""Whoever answers in `bela run`: functions and commands that are real, fail, are killed, cost money."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import open_campaign

FUNCTIONS = """
import os, signal
from pathlib import Path

print("this module talks")

def seen(records):
    print("and so do its functions")
    with open("seen.txt", "a") as file:
        file.writelines(" ".join(record) + "\\n" for record in records)

def answer(records):
    seen(records)
    return ["cat" if float(record["weight"]) < 4 else "dog" for record in records]

def number(records):
    return [int(float(record["weight"]) >= 4) for record in records]

def skips(records):
    return [None if i % 2 else label for i, label in enumerate(answer(records))]

def other(records):
    return ["hamster" for _ in records]

def ends(records, how):
    for record in records:
        count = Path("count.txt")
        n = int(count.read_text()) if count.exists() else 0
        if n == 7:
            how()
        count.write_text(str(n + 1))
        yield from answer([record])

def fails(records):
    def how():
        raise RuntimeError("no more")
    return ends(records, how)

def interrupted(records):
    return ends(records, lambda: os.kill(os.getpid(), signal.SIGINT))

def terminated(records):
    return ends(records, lambda: os.kill(os.getpid(), signal.SIGTERM))

def killed(records):
    return ends(records, lambda: os.kill(os.getpid(), signal.SIGKILL))
"""

PAPER = ("--method", "bela-paper")  # the quickest, where the method does not matter

COMMAND = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    record = question["record"]
    assert "kind" not in record, record
    label = "cat" if float(record["weight"]) < 4 else "dog"
    print(json.dumps({"id": question["id"], "label": label, "cost": 0.25}))
"""

FAILING = """
import json, os, sys
lines = list(sys.stdin)
question = json.loads(lines[0])
print(json.dumps({"id": question["id"], "label": "cat", "cost": 1}), flush=True)
print("out of money", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def functions(table: Path) -> Path:
    """A module with functions that answer, in the current folder."""
    sys.modules.pop("answering", None)
    path = table.with_name("answering.py")
    path.write_text(FUNCTIONS)
    return path


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program itself."""
    command = [sys.executable, "-m", "bela", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=100)


# --------------------------------------------------------------------------------------------------- functions


def test_a_function_answers_without_seeing_the_truth(call: Any, functions: Path) -> None:
    """The function gets what is not hidden, and its name is on record."""
    found = call(
        "run", "pets.csv", "--oracle", "answering:answer", "--hide", "kind", "--budget", 10, *PAPER, "--json", "-"
    ).json
    assert (found["n_asked"], found["accuracy"]) == (10, None)
    assert set(Path("seen.txt").read_text().splitlines()) == {"name weight height"}
    with open_campaign(Path("pets.bela"), read_only=True) as stored:
        answered = [event.data for event in stored.journal.events() if event.kind == "answered"]
    assert {event["by"] for event in answered} == {"answering:answer"}


def test_numbers_for_classes_that_are_texts(call: Any, functions: Path) -> None:
    """The class 1 of a function is the class "1" that was declared."""
    found = call(
        "run", "pets.csv", "--oracle", "answering:number", "--budget", 10, "--classes", "0,1", *PAPER, "--json", "-"
    ).json
    assert [entry["label"] for entry in found["classes"]] == ["0", "1"]


def test_skipped_rows_are_counted(call: Any, functions: Path) -> None:
    """None skips a row; what is skipped is not an answer."""
    found = call("run", "pets.csv", "--oracle", "answering:skips", "--budget", 10, "--batch", 2, "--json", "-").json
    assert found["n_asked"] == 10
    assert found["n_skipped"] >= 5


def test_a_label_outside_the_classes(call: Any, functions: Path) -> None:
    """A label that was not declared stops the run with a sentence."""
    line = call("run", "pets.csv", "--oracle", "answering:other", "--classes", "cat,dog", status=2).err
    assert "'hamster' is not one of the declared classes: cat, dog" in line


def test_a_function_that_fails_loses_nothing(call: Any, functions: Path) -> None:
    """What was answered before a function failed is kept, and the run goes on to the same end as one in one go."""
    line = call("run", "pets.csv", "--oracle", "answering:fails", "--budget", 15, status=2).err
    assert "no more" in line
    assert call("status", "pets.bela", "--json").json["n_asked"] == 7
    call("run", "pets.csv", "--oracle", "answering:answer", "--json", "-")
    call("run", "pets.csv", "--oracle", "answering:answer", "--campaign", "other.bela", "--budget", 15)
    rows = []
    for name in ("pets.bela", "other.bela"):
        with open_campaign(Path(name), read_only=True) as stored:
            rows.append({row: stored.campaign.book.label(row) for row in range(80)})
    assert rows[0] == rows[1]


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.parametrize(("how", "status"), [("interrupted", 130), ("terminated", 143)])
def test_somebody_stops_it(call: Any, functions: Path, how: str, status: int) -> None:
    """Ctrl-C, or the signal to end, says how to go on; no answer that was taken in is lost."""
    command = ("run", "pets.csv", "--budget", 12, *PAPER, "--batch", 1, "--oracle")
    before = signal.getsignal(signal.SIGTERM)
    said = call(*command, f"answering:{how}", status=status)
    assert "Every answer is kept in pets.bela: the same command goes on." in said.err
    assert signal.getsignal(signal.SIGTERM) == before
    assert call("status", "pets.bela", "--json").json["n_asked"] == 7
    assert call(*command, "answering:answer", "--json", "-").json["n_asked"] == 12


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_it_is_killed(call: Any, functions: Path, tmp_path: Path) -> None:
    """kill -9 loses no answer that was taken in, and leaves no lock behind."""
    arguments = ("run", "pets.csv", "--budget", 12, "--batch", 1, "--oracle")
    assert run(*arguments, "answering:killed", cwd=tmp_path).returncode == -signal.SIGKILL
    found = call("status", "pets.bela", "--json").json
    assert (found["n_asked"], found["open_elsewhere"]) == (7, False)
    assert call(*arguments, "answering:answer", "--json", "-").json["n_asked"] == 12
    assert "Yes." in call("verify", "pets.bela").out


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")
def test_bars_are_for_terminals(table: Path, tmp_path: Path) -> None:
    """On a terminal, stderr shows the certificate as it climbs; stdout has nothing but the JSON."""
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "bela", "run", "pets.csv", "--truth", "kind", "--budget", "15", "--json", "-"]
    environment = {**os.environ, "COLUMNS": "150", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, cwd=tmp_path, env=environment)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the program is
        while part := os.read(master, 4096):
            shown += part
    os.close(master)
    assert process.stdout is not None
    with process.stdout:
        assert json.loads(process.stdout.read())["n_asked"] == 15
    assert process.wait() == 0
    assert "This is how the columns" in shown.decode()
    assert "certified" in shown.decode()
    assert "target 95 %" in shown.decode()


# ---------------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize("options", [(), ("--keep-running", "--batch", "3", "--timeout", "30", "--retries", "1")])
def test_a_command_answers(call: Any, table: Path, options: tuple[str, ...]) -> None:
    """An external command answers in batches; what it costs is summed up and kept, answers taken back included."""
    Path("answer.py").write_text(COMMAND)
    command = (
        "run",
        "pets.csv",
        "--oracle-cmd",
        f"{sys.executable} answer.py --key secret",
        "--hide",
        "kind",
        *options,
    )
    said = call(*command, "--budget", 10)
    assert "cost 2.5" in said.out
    found = call(*command, "--budget", 14, "--json", "-").json
    assert (found["n_asked"], found["cost"]) == (14, 3.5)
    assert call("undo", "pets.bela", "--json").json["cost"] == 3.5
    assert call("status", "pets.bela", "--json").json["cost"] == 3.5
    with open_campaign(Path("pets.bela"), read_only=True) as stored:
        answered = [event.data for event in stored.journal.events() if event.kind == "answered"]
    assert {event["by"] for event in answered} == {f"command {Path(sys.executable).name} answer.py"}


def test_a_command_that_fails(call: Any, table: Path) -> None:
    """Each answer counts as soon as its line is there; the error says what the command said."""
    Path("fail.py").write_text(FAILING)
    command = ("run", "pets.csv", "--oracle-cmd", f"{sys.executable} fail.py", "--hide", "kind", "--retries", 0, *PAPER)
    said = call(*command, status=2)
    assert "status 3" in said.err
    assert "out of money" in said.err
    found = call("status", "pets.bela", "--json").json
    assert (found["n_asked"], found["cost"], found["stop_reason"]) == (1, 1.0, None)


def test_a_column_with_gaps(call: Any, table: Path) -> None:
    """Rows whose truth is unknown are skipped."""
    lines = table.read_text().splitlines()
    table.write_text("\n".join(line.rpartition(",")[0] + "," if i % 3 == 1 else line for i, line in enumerate(lines)))
    found = call("run", "pets.csv", "--truth", "kind", "--budget", 20, *PAPER, "--json", "-").json
    assert found["n_asked"] == 20
    assert found["n_skipped"] > 0


# ------------------------------------------------------------------------------------------------- who answers?


def test_an_oracle_by_its_name(call: Any, functions: Path) -> None:
    """NAME=ARGUMENT is the same as the option of its own that an oracle may have."""
    for number, options in enumerate([("--truth", "kind"), ("--oracle", "truth=kind")]):
        folder = f"{number}.bela"
        call("run", "pets.csv", *options, "--campaign", folder, "--budget", 10, *PAPER)
    found = [call("status", f"{number}.bela", "--json").json for number in (0, 1)]
    assert found[0]["certificate"] == found[1]["certificate"]
    by_name = ("--oracle", "function=answering:answer", "--campaign", "2.bela")
    named = call("run", "pets.csv", *by_name, "--budget", 9, *PAPER)
    assert "9" in named.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "nobody answers"),
        (("--truth", ""), "nobody answers"),
        (("--oracle", "truth"), "nobody answers"),
        (("--oracle", "truth=kind", "--oracle-cmd", "cat"), "exclude each other"),
        (("--oracle", "command=no-such-program"), "no program 'no-such-program'"),
        (("--truth", "kind", "--oracle", "answering:answer"), "exclude each other"),
        (("--truth", "sort"), "no column 'sort'"),
        (("--truth", "kind", "--label", "kind"), "different columns"),
        (("--truth", "nothing.npy"), "no column 'nothing.npy'"),
        (("--oracle", "answering"), "module:function"),
        (("--oracle", "answering:none"), "no function 'none'"),
        (("--oracle", "nowhere:answer"), "no module 'nowhere'"),
        (("--oracle-cmd", "no-such-program --x"), "no program 'no-such-program'"),
        (("--oracle-cmd", "  "), "empty"),
        (("--oracle-cmd", sys.executable, "--timeout", "0"), "time-out"),
        (("--oracle-cmd", sys.executable, "--retries", "-1"), "retries"),
        (("--truth", "kind", "--timeout", "3"), "--timeout is for --oracle-cmd"),
        (("--truth", "kind", "--keep-running"), "--keep-running is for --oracle-cmd"),
        (("--truth", "kind", "--batch", "0"), "--batch"),
    ],
)
def test_nobody_answers(call: Any, functions: Path, options: tuple[str, ...], says: str) -> None:
    """What is wrong with whoever is to answer is said before a campaign is begun."""
    assert says in call("run", "pets.csv", *options, status=2).err
    assert not Path("pets.bela").exists()
