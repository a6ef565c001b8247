"""External commands that answer, tried with real ones: good, slow, crashing, babbling and hanging."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.campaign import Campaign
from bela.errors import BelaError, OracleError, ParameterError
from bela.oracles import CommandOracle, make_oracle
from bela.protocols import Oracle
from bela.records import Answer

ECHO = """
    import json, sys
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question["id"], "label": question["record"]["kind"]}))
"""

posix = pytest.mark.skipif(os.name != "posix", reason="process groups are of POSIX")


def pairs(answers: Iterable[Answer]) -> list[tuple[int, Any]]:
    return [(answer.row, answer.label) for answer in answers]


def ask(oracle: Oracle, rows: Iterable[int]) -> list[Any]:
    """Return the labels in the order of the rows."""
    asked = np.array(list(rows), dtype=int)
    labels = dict(pairs(oracle.answers(asked)))
    return [labels[row] for row in asked.tolist()]


def record_of(row: int) -> dict[str, Any]:
    return {"kind": "odd" if row % 2 else "even", "label": "secret"}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., CommandOracle]]:
    """Make oracles of scripts, with time-outs fit for tests; the notes of retries are in `oracle.notes`."""
    made = []
    before = children()

    def make_it(script: str, *arguments: object, **options: Any) -> CommandOracle:
        path = tmp_path / f"script{len(made)}.py"
        path.write_text(textwrap.dedent(script), encoding="utf-8")
        notes: list[str] = []
        given = {"timeout": 20.0, "backoff": 0.01, "records": record_of, "on_retry": notes.append} | options
        oracle = CommandOracle([sys.executable, "-S", str(path), *map(str, arguments)], given.pop("records"), **given)
        oracle.notes = notes  # type: ignore[attr-defined]
        made.append(oracle)
        return oracle

    yield make_it
    for oracle in made:
        oracle.close()
    assert children() <= before  # nothing runs on, and nothing waits to be buried


def children() -> set[str]:
    """Return the processes that this one has started, dead ones that nobody has asked after included."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(path.parent.name)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def dies(pid: int) -> bool:
    """Whether a process that was killed is gone, soon."""
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def expected(rows: Any) -> list[str]:
    return ["odd" if row % 2 else "even" for row in rows]


# ------------------------------------------------------------------------------------------- commands that answer


@pytest.mark.parametrize("keep_running", [False, True])
def test_line_by_line(make: Callable[..., CommandOracle], keep_running: bool) -> None:
    """A script that answers line by line answers, in either way to run it, over several batches."""
    oracle = make(ECHO, batch=4, keep_running=keep_running)
    assert ask(oracle, np.arange(10)) == expected(range(10))
    assert (oracle.n_answers, oracle.n_skipped, oracle.cost, oracle.notes) == (10, 0, 0.0, [])
    assert ask(oracle, np.array([3, 2])) == ["odd", "even"]
    assert ask(oracle, []) == []


def test_reading_everything_first(make: Callable[..., CommandOracle]) -> None:
    """A script that reads all questions before it answers, in another order, is understood."""
    oracle = make("""
        import json, sys
        questions = [json.loads(line) for line in sys.stdin.read().splitlines()]
        for question in reversed(questions):
            print(json.dumps({"id": question["id"], "label": question["record"]["kind"], "cost": 0.25}))
    """)
    assert pairs(oracle.answers([5, 8, 7])) == [(7, "odd"), (8, "even"), (5, "odd")]
    assert ask(oracle, [5, 8, 7]) == ["odd", "even", "odd"]
    assert (oracle.n_answers, oracle.cost) == (6, 1.5)


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq")
def test_jq() -> None:
    """A filter that knows nothing of us is an oracle."""
    oracle = CommandOracle("jq -c '{id, label: .record.kind}'", record_of)
    assert ask(oracle, [1, 2]) == ["odd", "even"]


def test_the_question(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """The command gets id, record and classes; hidden columns do not reach it, and nothing but ASCII does."""
    seen = tmp_path / "seen"
    oracle = make(
        """
        import sys
        text = sys.stdin.read()
        open(sys.argv[1], "w", encoding="ascii").write(text)
        print('{"id": 3, "label": 1}')
        """,
        seen,
        records=lambda row: {"text": f"né {row}\\n\\u2028", "label": 1, "raw": b"x", "score": float("nan")},
        hide=["label"],
        classes=[0, 1],
    )
    assert ask(oracle, [3]) == [1]
    [line] = seen.read_text().splitlines()
    assert json.loads(line) == {
        "id": 3,
        "record": {"text": "né 3\\n\\u2028", "raw": "data:application/octet-stream;base64,eA==", "score": None},
        "classes": [0, 1],
    }


def test_an_answer_is_there_before_the_command_has_ended(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """Each answer is yielded as it comes: the command waits until the first one has been dealt with."""
    flag = tmp_path / "dealt with"
    oracle = make(
        """
        import json, os, sys, time
        for line in sys.stdin:
            row = json.loads(line)["id"]
            while row and not os.path.exists(sys.argv[1]):
                time.sleep(0.01)
            print(json.dumps({"id": row, "label": "x", "cost": row + 1}))
        """,
        flag,
    )
    for row, answer in enumerate(oracle.answers(np.arange(3))):
        assert answer == Answer(row=row, label="x", cost=row + 1)
        assert (oracle.n_answers, oracle.cost) == (row + 1, [1, 3, 6][row])
        flag.touch()
    assert oracle.notes == []  # type: ignore[attr-defined]


def test_skips_and_costs(make: Callable[..., CommandOracle]) -> None:
    """null skips a row, costs are summed over answers and skips, ids may have gone through a shell."""
    oracle = make("""
        for line in ('{"id": "0", "label": null, "cost": 2}', '', '{"id": 1.0, "label": true, "cost": null}',
                     '{"id": 2, "label": 3.0, "cost": 0.5, "why": "because"}'):
            print(line)
    """)
    assert ask(oracle, [0, 1, 2]) == [None, True, 3]
    assert (oracle.n_answers, oracle.n_skipped, oracle.cost) == (2, 1, 2.5)


def test_huge_records_and_much_noise(make: Callable[..., CommandOracle]) -> None:
    """Pipes that are full on all sides stop nothing: records of a megabyte, and a command that babbles meanwhile."""
    oracle = make(
        """
        import json, sys
        sys.stderr.write("noise " * 100_000)
        for line in sys.stdin:
            question = json.loads(line)
            sys.stderr.write("more noise\\n" * 10_000)
            print(json.dumps({"id": question["id"], "label": len(question["record"]["text"])}))
        """,
        records=lambda row: {"text": "é" * (1_000_000 + row)},
    )
    assert ask(oracle, range(4)) == [1_000_000 + row for row in range(4)]


def test_a_command_that_does_not_read(make: Callable[..., CommandOracle]) -> None:
    """A command may know the answers without reading the questions, and end before they are all written."""
    oracle = make('print(\'{"id": 0, "label": "x"}\')', records=lambda row: {"text": "y" * 5_000_000})
    assert ask(oracle, [0]) == ["x"]


def test_classes_as_the_campaign_has_them(make: Callable[..., CommandOracle]) -> None:
    """3 and "3" are one class; a function gives the classes of the moment, and others may come."""
    script = 'print(\'{"id": 0, "label": "3"}\\n{"id": 1, "label": 4}\')'
    assert ask(make(script, classes=[3, 4]), [0, 1]) == [3, 4]
    assert ask(make(script, classes=["3", "4"]), [0, 1]) == ["3", "4"]
    assert ask(make(script, classes=lambda: [3]), [0, 1]) == [3, 4]
    with pytest.raises(OracleError, match="none of the classes"):
        ask(make(script, classes=[3, 5], retries=0), [0, 1])


def test_a_campaign_with_a_command(make: Callable[..., CommandOracle]) -> None:
    """A command answers a whole campaign, and is not wrapped on the way."""
    oracle = make(ECHO, keep_running=True)
    assert make_oracle(oracle, 60) is oracle
    result = Campaign(np.random.default_rng(0).normal(size=(60, 2)), budget=10).run(oracle)
    assert list(result.labels[result.known]) == expected(np.flatnonzero(result.known))


# -------------------------------------------------------------------------------------------------- trouble

COUNT = """
    import json, os, sys, time
    path = sys.argv[1]
    n_runs = len(open(path).read()) if os.path.exists(path) else 0
    open(path, "a").write("x")
    questions = [json.loads(line) for line in sys.stdin]
    def answer(*rows):
        for question in questions:
            if not rows or question["id"] in rows:
                print(json.dumps({"id": question["id"], "label": question["record"]["kind"], "cost": 1}), flush=True)
"""


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("sys.exit('no key')", "ended with status 1 and said 'no key'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("pass", "ended with status 0"),
        ("answer(0); sys.exit(3)", "asking again for 2 of 3"),
        ("print('Hello!')", "a line that is no JSON ('Hello!')"),
        ("print('[1]')", "is no JSON object"),
        ("print('{\"label\": 3}')", "has no 'id'"),
        ("print('{\"id\": 3}')", "has no 'label'"),
        ('print(\'{"id": 99, "label": 3}\')', "has an 'id' that was not asked"),
        ('print(\'{"id": true, "label": 3}\')', "has an 'id' that was not asked"),
        ('print(\'{"id": 1, "label": [3]}\')', "no string, whole number or boolean"),
        ('print(\'{"id": 1, "label": 0.5}\')', "no string, whole number or boolean"),
        ('print(\'{"id": 1, "label": " "}\')', "empty 'label'"),
        ('print(\'{"id": 1, "label": 1, "cost": -1}\')', "'cost' that is no number"),
        ('print(\'{"id": 1, "label": 1, "cost": NaN}\')', "'cost' that is no number"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\n')", "is no JSON"),
        ("print('[' * 100_000)", "is no JSON"),
        ("print('x' * 3_000_000)", "is no JSON"),
        ("sys.stdout.close(); os.close(1)", "ended with status 0"),
        pytest.param("os.kill(os.getpid(), 9)", "was ended by SIGKILL", marks=posix),
    ],
)
def test_trouble_at_first(make: Callable[..., CommandOracle], tmp_path: Path, first: str, says: str) -> None:
    """Whatever goes wrong once is noted in one sentence, and the second run makes up for it."""
    oracle = make(f"{textwrap.dedent(COUNT)}\nif n_runs == 0:\n    {first}\nelse:\n    answer()", tmp_path / "runs")
    assert ask(oracle, range(3)) == expected(range(3))
    [note] = oracle.notes  # type: ignore[attr-defined]
    assert says in note
    assert "\n" not in note
    assert oracle.cost == oracle.n_answers == 3


def test_good_answers_among_nonsense(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """Lines that are no answers, repeated answers and a bad exit status do no harm where every row has its answer."""
    oracle = make(
        f"{textwrap.dedent(COUNT)}\nprint('Loading the model ...')\nanswer()\nanswer()\nsys.exit(5)", tmp_path / "runs"
    )
    assert ask(oracle, range(3)) == expected(range(3))
    assert oracle.notes == []  # type: ignore[attr-defined]
    assert oracle.n_answers == 3


@pytest.mark.parametrize("keep_running", [False, True])
def test_partial_answers_then_silence(make: Callable[..., CommandOracle], tmp_path: Path, keep_running: bool) -> None:
    """What was answered before the command hung is kept; only the rest is asked again."""
    oracle = make(
        """
        import json, os, sys, time
        first = not os.path.exists(sys.argv[1])
        with open(sys.argv[1], "a") as file:
            for line in sys.stdin:
                row = json.loads(line)["id"]
                file.write(f"{row} ")
                file.flush()
                print(json.dumps({"id": row, "label": "x"}), flush=True)
                if first and row == 1:
                    time.sleep(60)
        """,
        tmp_path / "asked",
        timeout=1.0,
        keep_running=keep_running,
    )
    assert sorted(pairs(oracle.answers(range(4)))) == [(row, "x") for row in range(4)]
    [note] = oracle.notes  # type: ignore[attr-defined]
    assert "gave no answer for 1 s; asking again for 2 of 4" in note
    assert (tmp_path / "asked").read_text().split() == ["0", "1", "2", "3"]


def test_giving_up(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """After the retries there is one sentence; answers that came are yielded and counted."""
    oracle = make(f"{textwrap.dedent(COUNT)}\nanswer(0, 2)\nsys.exit('out of credit')", tmp_path / "runs", retries=2)
    kept = []
    with pytest.raises(OracleError) as caught:
        kept.extend(oracle.answers(range(4)))
    message = str(caught.value)
    assert pairs(kept) == [(0, "even"), (2, "even")]
    assert "ended with status 1 and said 'out of credit'; after 3 tries, 2 of 4 questions are without an" in message
    assert "nothing that was answered so far is lost" in message
    assert isinstance(caught.value, BelaError)
    assert "\n" not in message
    assert len((tmp_path / "runs").read_text()) == 3  # one with answers, two retries in a row without any
    with pytest.raises(OracleError):
        ask(oracle, range(4))
    assert (oracle.n_answers, oracle.cost) == (4, 4)


def test_waits_grow(make: Callable[..., CommandOracle]) -> None:
    """Each retry waits twice as long as the one before."""
    oracle = make("", retries=3, backoff=0.02)
    with pytest.raises(OracleError):
        ask(oracle, [0])
    assert [note.rpartition(" in ")[2] for note in oracle.notes] == ["0.02 s", "0.04 s", "0.08 s"]  # type: ignore[attr-defined]


def test_endless_babble(make: Callable[..., CommandOracle]) -> None:
    """A command that writes nonsense for ever, with or without line ends, is soon stopped, with memory left."""
    for text in ("y\\n", "y"):
        oracle = make(f"while True: print({text!r} * 1000, end='')".replace("\\\\", "\\"), retries=0)
        with pytest.raises(OracleError, match="is no JSON"):
            ask(oracle, [0])


def test_last_words_are_safe_and_short(make: Callable[..., CommandOracle]) -> None:
    """What a command wrote to stderr is told without anything that steers a terminal, and only its end."""
    oracle = make("import sys; sys.exit('\\x1b[2Jbad' + 'x' * 9000 + ' the end')", retries=0)
    with pytest.raises(OracleError) as caught:
        ask(oracle, [0])
    assert "\x1b" not in str(caught.value)
    assert "the end" in str(caught.value)
    assert len(str(caught.value)) < 1000


# ------------------------------------------------------------------------------------- nothing is left behind


FAMILY = """
    import json, os, signal, subprocess, sys, time
    if len(sys.argv) > 2:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import signal, time\\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('there', flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE)
    child.stdout.readline()
    open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
    print(json.dumps({"id": 0, "label": "x"}), flush=True)
    time.sleep(60)
"""


@posix
@pytest.mark.parametrize("stubborn", [(), ("stubborn",)])
def test_a_hung_command_dies_with_its_children(
    make: Callable[..., CommandOracle], tmp_path: Path, stubborn: tuple[str, ...]
) -> None:
    """After a time-out neither the command nor what it started is alive, even if they will not be told."""
    oracle = make(FAMILY, tmp_path / "pids", *stubborn, timeout=1.0, retries=0)
    kept = []
    with pytest.raises(OracleError, match="gave no answer for 1 s"):
        kept.extend(oracle.answers([0, 1]))
    assert pairs(kept) == [(0, "x")]
    assert all(map(dies, map(int, (tmp_path / "pids").read_text().split())))


@posix
def test_closing_half_way(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """Whoever stops listening ends the command."""
    answers = make(FAMILY, tmp_path / "pids").answers([0, 1])
    assert next(answers) == Answer(row=0, label="x")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert all(map(is_alive, pids))
    answers.close()
    assert all(map(dies, pids))


@posix
def test_ctrl_c(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a batch ends the command, its children and us, at once and without a word."""
    (tmp_path / "family.py").write_text(textwrap.dedent(FAMILY))
    (tmp_path / "main.py").write_text(
        textwrap.dedent(f"""
            from bela.oracles import CommandOracle
            oracle = CommandOracle([{sys.executable!r}, "family.py", "pids"], lambda row: {{}})
            try:
                for answer in oracle.answers([0, 1]):
                    print(answer.row, answer.label, flush=True)
            except KeyboardInterrupt:
                print("interrupted")
        """)
    )
    with subprocess.Popen([sys.executable, "main.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0 x\n"
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
        assert all(map(dies, pids))
    assert process.returncode == 0


@posix
def test_forgotten_commands_die_too(tmp_path: Path) -> None:
    """A command that is kept running ends with the program, also when nobody closes it."""
    (tmp_path / "main.py").write_text(
        textwrap.dedent(f"""
            from bela.oracles import CommandOracle
            script = '''import json, os, sys, time
            for line in sys.stdin:
                print(json.dumps({{"id": json.loads(line)["id"], "label": os.getpid()}}), flush=True)
            time.sleep(60)'''
            oracle = CommandOracle([{sys.executable!r}, "-c", script.replace("            ", "")],
                                   lambda row: {{}}, keep_running=True)
            print(*(answer.label for rows in ([0, 1], [2]) for answer in oracle.answers(rows)), flush=True)
        """).replace("\n                print", "\n    print")
    )
    found = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stderr == ""
    [pid] = set(map(int, found.stdout.split()))  # one process for both calls
    assert dies(pid)


def test_a_kept_command_that_ends_is_started_again(make: Callable[..., CommandOracle]) -> None:
    """A command may end between two batches; the next batch starts it again."""
    oracle = make(
        """
        import json, sys
        print(json.dumps({"id": json.loads(sys.stdin.readline())["id"], "label": "x"}))
        """,
        keep_running=True,
        batch=1,
    )
    assert ask(oracle, range(3)) == ["x"] * 3
    with oracle:
        assert ask(oracle, [4]) == ["x"]


# -------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "empty"),
        ([], "empty"),
        ("no-such-program --fast", "no program 'no-such-program'"),
        ("say 'hello", "cannot be split into words"),
        (["cat", "a\0b"], "null character"),
        ("./notes.txt", "as in 'python ./notes.txt'"),
    ],
)
def test_a_command_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any, says: str) -> None:
    """A command that cannot be started is told before a question is asked."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("Dear diary")
    with pytest.raises(ParameterError) as caught:
        CommandOracle(command, record_of)
    assert says in str(caught.value)


@pytest.mark.parametrize("option", [{"batch": 0}, {"timeout": 0}, {"retries": -1}, {"backoff": -1.0}])
def test_bad_options(option: dict[str, Any]) -> None:
    """An option outside its range is an error."""
    with pytest.raises(ParameterError):
        CommandOracle([sys.executable], record_of, **option)


@posix
def test_a_program_that_vanishes(tmp_path: Path) -> None:
    """A program that was there at first and is not any more, or is none after all, is an OracleError."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF nothing")
    program.chmod(0o755)
    oracle = CommandOracle([str(program)], record_of)
    with pytest.raises(OracleError, match="cannot be started: Exec format error"):
        ask(oracle, [0])
    program.unlink()
    with pytest.raises(OracleError, match="cannot be started: No such file"):
        ask(oracle, [0])


def test_no_shell(make: Callable[..., CommandOracle], tmp_path: Path) -> None:
    """What means something to a shell means nothing here."""
    (tmp_path / "echo.py").write_text(textwrap.dedent(ECHO))
    oracle = CommandOracle(f"{sys.executable} {tmp_path}/echo.py ; touch {tmp_path}/hacked $(touch x)", record_of)
    assert ask(oracle, [1]) == ["odd"]
    assert not (tmp_path / "hacked").exists()
