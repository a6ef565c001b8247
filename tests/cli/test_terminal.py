"""The person in the terminal: real keys on a real pseudo-terminal, lines from a pipe, and nothing that steers it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bela.campaign import Campaign
from bela.cli._keyboard import (
    BACKSPACE,
    ENTER,
    ESCAPE,
    OTHER,
    TAB,
    ClassKeys,
    ConsoleKeyboard,
    Keyboard,
    LineKeyboard,
    TerminalKeyboard,
    open_keyboard,
)
from bela.cli._showing import escape, record_lines
from bela.cli._terminal import TerminalLabeller, describe, label_in_terminal
from bela.errors import LabelError
from bela.records import Question, StopReason

terminal = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")

N_ROWS = 60
SIDE = np.arange(N_ROWS) % 2
X = np.where(SIDE[:, None] == 0, 0.0, 9.0) + np.random.default_rng(0).normal(size=(N_ROWS, 2))


class Rows:
    """Records made by a function."""

    n_rows, columns, root = N_ROWS, ("side", "row"), None

    def __init__(self, record: Callable[[int], dict[str, Any]] | None = None, root: Path | None = None) -> None:
        self.record = record or (lambda row: {"side": "left" if SIDE[row] == 0 else "right", "row": row})
        self.root = root  # type: ignore[assignment]


def make(
    record: Callable[[int], dict[str, Any]] | None = None, *, height: int = 25, width: int = 80, **options: Any
) -> tuple[TerminalLabeller, io.StringIO]:
    """Make a labeller that shows rows in a string."""
    shown = io.StringIO()
    console = Console(file=shown, width=width, height=height)
    root = options.pop("root", None)
    return TerminalLabeller(console, Rows(record, root), **options), shown  # type: ignore[arg-type]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put lines on standard input, which is no terminal."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))


@pytest.fixture
def keys() -> Iterator[Callable[[str | bytes], TerminalKeyboard]]:
    """Type keys on a real terminal, ahead of the question."""
    import termios

    master, slave = os.openpty()
    before = termios.tcgetattr(slave)
    handlers = [signal.getsignal(number) for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGTSTP)]

    def type_them(text: str | bytes) -> TerminalKeyboard:
        keyboard = TerminalKeyboard(slave)
        with keyboard:  # not echoed, not waiting for the end of a line
            os.write(master, text.encode() if isinstance(text, str) else text)
            while not _readable(slave):
                pass
        return keyboard

    yield type_them
    assert termios.tcgetattr(slave) == before
    assert [signal.getsignal(number) for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGTSTP)] == handlers
    os.close(master)
    os.close(slave)


def _readable(fd: int) -> bool:
    import select

    return bool(select.select([fd], [], [], 0.01)[0])


# -------------------------------------------------------------------------------------------- whole sessions


@terminal
def test_keys(keys: Callable[..., TerminalKeyboard]) -> None:
    """New classes, keys, skip, undo by both keys, a key that means nothing, an arrow, help and quit."""
    campaign = Campaign(X)
    labeller, shown = make(keyboard=keys("+left\n+right\n1u2 \x7f11x\x1b[A\x1bOP?2q111"))
    label_in_terminal(campaign, labeller)
    assert (campaign.n_asked, campaign.classes) == (6, ("left", "right"))
    text = shown.getvalue()
    assert text.count("Took back row") == 2
    assert text.count("skipped") == 1
    assert text.count("There is no class with the key x: ? helps.") == 1
    assert text.count("Backspace: undo") == 2  # at the start, and after ?
    assert "press + and type the name of the first one" in text
    assert "1 left   2 right" in text


def test_lines(lines: Callable[[str], None]) -> None:
    """The same from a pipe: keys, names in any case, + for a new class, a space to skip, and the end of the input."""
    lines("+left\n+right\n1\nRIGHT\n \nu\nx\nnobody\n+\n2\n?\nleft")
    campaign = Campaign(X)
    labeller, shown = make()
    label_in_terminal(campaign, labeller)
    assert (campaign.n_asked, campaign.classes) == (6, ("left", "right"))
    text = shown.getvalue()
    assert "There is no class with the key x" in text
    assert "There is no class named nobody" in text
    assert "Write + and the name of the class." in text
    assert "write +NAME" in text


def play(campaign: Campaign, labeller: TerminalLabeller) -> list[tuple[str, int, Any]]:
    """Let somebody answer, and return what the campaign was told, in order."""
    told: list[tuple[str, int, Any]] = []
    tell, skip, undo = campaign.tell, campaign.skip, campaign.undo

    def tell_it(question_id: int, label: Any, **_: Any) -> None:
        tell(question_id, label)
        told.append(("tell", question_id, label))

    def skip_it(question_id: int, **_: Any) -> None:
        skip(question_id)
        told.append(("skip", question_id, None))

    def undo_it() -> Question | None:
        question = undo()
        if question is not None:
            told.append(("undo", question.id, None))
        return question

    campaign.tell, campaign.skip, campaign.undo = tell_it, skip_it, undo_it  # type: ignore[method-assign]
    label_in_terminal(campaign, labeller)
    return told


def test_every_answer_reaches_its_question(lines: Callable[[str], None]) -> None:
    """What is typed for a row is told for it; an undone question comes back, and nothing to undo is said."""
    lines("u\n1\n2\nu\nu\n2\n \n1\nu\nu\nu\nu\nq\n1\n")
    labeller, shown = make(classes=["cat", "dog"])
    told = play(Campaign(X, classes=["cat", "dog"]), labeller)
    assert told == [
        ("tell", 0, "cat"), ("tell", 1, "dog"), ("undo", 1, None), ("undo", 0, None), ("tell", 0, "dog"),
        ("skip", 1, None), ("tell", 2, "cat"), ("undo", 2, None), ("undo", 1, None), ("undo", 0, None),
    ]  # fmt: skip
    assert shown.getvalue().count("There is nothing to undo.") == 2


def test_a_class_beside_the_declared_ones(lines: Callable[[str], None]) -> None:
    """A new name is a new class even where the classes were declared, and that can be taken back."""
    lines("+cow\n3\nu\nu\nu\n3\n2\nq\n")
    campaign = Campaign(X, classes=["cat", "dog"])
    labeller, shown = make()
    told = play(campaign, labeller)
    assert [what for what, *_ in told] == ["tell", "tell", "undo", "undo", "tell"]
    assert (campaign.classes, campaign.n_asked) == (("cat", "dog"), 1)
    assert shown.getvalue().count("That is a new class beside the declared ones") == 1
    assert "Took back the last change of a label or of the classes." in shown.getvalue()
    assert "There is no class with the key 3" in shown.getvalue()


def test_a_class_of_another_kind(lines: Callable[[str], None]) -> None:
    """Where the classes are numbers, a word is refused, and the same row is asked again."""
    lines("+seven\n+7\n7\nq\n")
    labeller, shown = make(classes=[3, 4])
    assert play(Campaign(X, classes=[3, 4]), labeller) == [("tell", 0, 7), ("tell", 1, 7)]
    assert "'seven' is not a whole number, as the other labels are." in shown.getvalue()


class Person(Keyboard):
    """Somebody who sees the rows, and types as it was agreed at the end."""

    single = False

    def __init__(self, shown: io.StringIO, at_the_end: list[str]) -> None:
        self.shown, self.at_the_end = shown, at_the_end

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> str | None:
        text = self.shown.getvalue()
        if text.rfind("stop here") < text.rfind("side: "):
            return "1" if text.rpartition("side: ")[2].startswith("left") else "2"
        return self.at_the_end.pop(0) if self.at_the_end else None


def session(campaign: Campaign, at_the_end: list[str]) -> str:
    """Let a person answer a whole campaign, and return what was shown."""
    labeller, shown = make(classes=["left", "right"])
    labeller.keyboard = Person(shown, at_the_end)
    label_in_terminal(campaign, labeller)
    return shown.getvalue()


def test_the_target_is_reached() -> None:
    """It is said once, with bound and confidence; going on is offered and ends with the data; undo comes back."""
    campaign = Campaign(X, target=0.8)
    text = session(campaign, ["x", ENTER])
    assert campaign.stop_reason is StopReason.TARGET
    n_asked = campaign.n_asked
    assert n_asked < N_ROWS
    assert text.count("The target is reached") == 1
    assert f"The target is reached after {n_asked} answers. {campaign.certificate.claim}" in text
    assert "g: go on for a higher share.  u: take the last answer back.  Enter: stop here." in text
    text = session(campaign, ["u", "q"])  # the last answer is taken back, given again, and the target is reached again
    assert text.count("The target is reached") == 2
    assert campaign.n_asked == n_asked
    text = session(campaign, ["g", "u", "q"])
    assert text.count("The target is reached") == 1
    assert len(re.findall(r"There is nothing left to ask after \d+ answers\. Certified: at least 100.00 %", text)) == 2
    assert campaign.n_asked == N_ROWS


def test_the_budget_is_used_up() -> None:
    """The end of the budget is said, also beyond the target."""
    campaign = Campaign(X, budget=5)
    assert "The budget of 5 answers is used up. Certified: at least" in session(campaign, [ENTER])
    assert campaign.n_asked == 5
    campaign = Campaign(X, target=0.01, budget=4)
    text = session(campaign, ["g", "q"])
    assert "The target is reached" in text
    assert "The budget of 4 answers is used up" in text
    assert campaign.n_asked == 4


def test_where_it_stands() -> None:
    """One line has the answers, the certificate rounded down, the target, the forecast and the budget."""
    campaign = Campaign(X, target=0.95, budget=50)
    assert describe(campaign).startswith("0 answers · certified 0.0 % · target 95 %")
    lines = []
    while campaign.stop_reason is None:
        [question] = campaign.ask()
        campaign.tell(question.id, int(SIDE[question.row]))
        lines.append(describe(campaign))
    assert lines[0].startswith("1 answer · certified ")
    assert all(line.endswith(" · budget 50") for line in lines)
    assert any(" more to go (" in line for line in lines)
    assert "certified" not in describe(Campaign(X, method="bela-paper"))


# ---------------------------------------------------------------------------------------------- what is shown


@given(st.text())
def test_nothing_steers_the_terminal(text: str) -> None:
    """Whatever is in the data, nothing but printable characters, line ends and harmless joiners is printed."""
    shown = escape(text)
    assert all(c.isprintable() or c in "\n\u200b\u200c\u200d\u200e\u200f\u061c\u00ad\u2060" for c in shown)
    shown.encode("utf-8")
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    "evil", ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x08\x08", "\u202etxt.exe", "\x00", "\ud800"]
)
def test_evil_rows_and_classes(lines: Callable[[str], None], evil: str) -> None:
    """Control sequences in values, column names, classes and what is typed are spelled out."""
    lines(f"{'nothing' if evil == chr(0xD800) else evil * 3}\n1\nq\n")
    labeller, shown = make(lambda row: {f"na{evil}me": f"va{evil}lue"}, classes=[f"cl{evil}ass"])
    label_in_terminal(Campaign(X), labeller)
    text = shown.getvalue()
    assert "va\\" in text
    assert "na\\" in text
    assert "cl\\" in text
    assert all(c.isprintable() or c == "\n" for c in text)


def test_long_texts_come_in_pages(lines: Callable[[str], None]) -> None:
    """The first page has the short values and the beginning; Enter shows the next one; nothing is left out."""
    words = [f"word{i}" for i in range(900)]
    lines("\n" * 6 + "a\nq\n")
    labeller, shown = make(lambda row: {"text": " ".join(words), "when": "today"}, classes=["a"], height=20, width=60)
    label_in_terminal(Campaign(X), labeller)
    first = shown.getvalue().partition("  … (Enter: more)\n")[0]
    assert "when: today" in first
    assert first.count("\n") < 20
    assert "word899" not in first
    found = re.findall(r"word\d+", shown.getvalue())
    assert found[: found.index("word0", 1)] == words[: found.index("word0", 1)]
    assert 300 < found.index("word0", 1) < 900
    assert all(len(line) <= 60 for line in shown.getvalue().splitlines()[1:])


def test_the_end_of_a_text(lines: Callable[[str], None]) -> None:
    """After the last page there is no more, and it is said."""
    lines("\n\n\nq\n")
    labeller, shown = make(lambda row: {"text": "\n".join(map(str, range(30)))}, classes=["a"], height=20)
    label_in_terminal(Campaign(X), labeller)
    assert shown.getvalue().count("Enter: more)") == 2
    assert shown.getvalue().count("There is no more of this row.") == 1
    assert [line.strip() for line in shown.getvalue().splitlines() if line.strip().isdecimal()] == [
        *map(str, range(30))
    ]


def test_a_huge_text_is_shown_at_once() -> None:
    """Only what is shown is wrapped: the first lines of a hundred megabytes take no time."""
    console = Console(file=io.StringIO(), width=80)
    start = time.process_time()
    found = record_lines(console, {"text": "x y" * 30_000_000}, None)
    assert next(found) == "text:"
    assert next(found).startswith("  x yx yx")
    assert time.process_time() - start < 2


def test_values_of_any_kind(lines: Callable[[str], None], tmp_path: Path) -> None:
    """Images are absolute paths, bytes are counted, nothing is called nothing, columns can be chosen."""
    from PIL import Image

    (tmp_path / "a.png").touch()
    record = {
        "image": "a.png", "missing": "b.png", "raw": b"abc", "none": None, "nan": float("nan"), "n": 3, "flag": True,
        "picture": Image.new("L", (4, 5)), "list": ["é", {"a": b"12"}], "hf": {"bytes": b"1234", "path": None},
        "hidden": "secret",
    }  # fmt: skip
    lines("q\n")
    columns = [name for name in reversed(record) if name != "hidden"]
    labeller, shown = make(lambda row: record, classes=["a"], root=tmp_path, shown_columns=columns, width=300)
    label_in_terminal(Campaign(X), labeller)
    fields = dict(line.strip().split(": ", 1) for line in shown.getvalue().splitlines()[3:] if ": " in line)
    assert fields == {
        "image": str(tmp_path / "a.png"), "missing": "b.png", "raw": "(3 bytes)", "none": "(nothing)",
        "nan": "(nothing)", "n": "3", "flag": "True", "picture": "(a picture of 4 x 5)",
        "list": '["é", {"a": "(2 bytes)"}]', "hf": "(4 bytes)",
    }  # fmt: skip
    assert list(fields) == columns


def test_unicode_and_very_long_names(lines: Callable[[str], None]) -> None:
    """Names in any script, emoji, and names longer than the screen: shown cut, told whole."""
    names = ["ضفدع", "青蛙" * 60, "👩‍🚀", "x" * 5000, "a\nb", "  "]
    lines("1\n2\n👩‍🚀\n4\n5\n6\n" + "青蛙" * 60 + "\nq\n")
    labeller, shown = make(classes=names)
    told = play(Campaign(X, classes=names), labeller)
    assert [label for _, _, label in told] == [*names, names[1]]
    assert "x" * 300 not in shown.getvalue()
    assert "3 👩‍🚀" in shown.getvalue()


def test_many_classes(lines: Callable[[str], None]) -> None:
    """With 150 classes a few lines of them are shown, ? shows all, and those without a key are typed by name."""
    names = [f"class {i}" for i in range(150)]
    lines("?\n1\na\nclass 149\n+class 148\nA\nq\n")
    labeller, shown = make(classes=names)
    told = play(Campaign(X), labeller)
    assert [label for _, _, label in told] == ["class 0", "class 9", "class 149", "class 148", "class 33"]
    first, everything = shown.getvalue().split("> ")[:2]
    assert "(150 classes; ? shows them all)" in first
    assert "class 149" not in first
    assert all(name in everything for name in names)


# ------------------------------------------------------------------------------------------------------ keys


def test_keys_of_classes() -> None:
    """Digits are their own keys, undo and quit are never a class, and the same order gives the same keys."""
    assert ClassKeys(range(10)).by_key == {str(i): i for i in range(10)}
    keys = ClassKeys(["q", "u", "Y", "n", "?", "y", " ", "Q"])
    assert keys.by_key == {"1": "q", "2": "u", "Y": "Y", "n": "n", "3": "?", "y": "y", "4": " ", "5": "Q"}
    assert (keys.find("N"), keys.find("Y"), keys.find("y"), keys.find("x")) == ("n", "Y", "y", None)
    later = ClassKeys(["q", "u"])
    later.learn(["q", "u", "Y", "n"])
    later.learn(["n", "?", "y", " ", "Q"])
    assert later.by_key == keys.by_key


@given(st.lists(st.text() | st.characters(), unique=True, max_size=200))
def test_no_class_shares_a_key(names: list[str]) -> None:
    """Every key has one class and every class at most one key, none of them a command."""
    keys = ClassKeys(names)
    assert len(set(keys.by_key.values())) == len(keys.by_key)
    assert not {"u", "q", "U", "Q", "+", "?", " ", "\n"} & set(keys.by_key)
    assert all(len(key) == 1 or key == key.lower() for key in keys.by_key)
    assert len(keys.by_key) >= min(len(names), 57)


def test_new_names() -> None:
    """A name is a known class in whatever case; a new one has the type of the others; Tab completes."""
    keys = ClassKeys(["cat", "category", "Dog"])
    assert (keys.make("cat"), keys.make("CATEGORY"), keys.make("dog"), keys.make("bird")) == (
        "cat", "category", "Dog", "bird"
    )  # fmt: skip
    assert (keys.complete("d"), keys.complete("ca"), keys.complete("cate"), keys.complete("x")) == (
        "Dog", "cat", "category", "x"
    )  # fmt: skip
    assert ClassKeys([3]).make("7") == 7
    with pytest.raises(LabelError, match="'seven' is not a whole number"):
        ClassKeys([3]).make("seven")
    with pytest.raises(LabelError, match="true or false"):
        ClassKeys([True]).make("maybe")


@terminal
def test_single_keys(keys: Callable[..., TerminalKeyboard]) -> None:
    """Each key is one: letters, Unicode, Enter, Backspace of both kinds, a lone Escape, and keys that send several."""
    typed = b"a \xc3\xa9\xf0\x9f\x90\xb8\r\n\t\x7f\x08\x01\x1b[A\x1b[1;5C\x1bOP\x1b[3~z\xff\x1b"
    with keys(typed) as keyboard:
        found = [keyboard.read() for _ in range(17)]
    assert found == [
        "a", " ", "é", "🐸", ENTER, ENTER, TAB, BACKSPACE, BACKSPACE, OTHER, OTHER, OTHER, OTHER, OTHER, "z", "�",
        ESCAPE,
    ]  # fmt: skip


@terminal
def test_editing_a_name(keys: Callable[..., TerminalKeyboard]) -> None:
    """A new name can be corrected, completed and given up; wide characters are erased whole."""
    labeller, shown = make(keyboard=keys("+bat\x7f\x7f\x7f青蛙\x7f\n+\x1b+r\t\n+ \n+\x7fred  fox\nq"), classes=["red"])
    told = play(Campaign(X), labeller)
    assert [label for _, _, label in told] == ["青", "red", "red fox"]
    assert "\b\b  \b\b" in shown.getvalue()


@terminal
def test_a_terminal_that_is_gone() -> None:
    """When the terminal is closed, that is the end, and no error."""
    master, slave = os.openpty()
    keyboard = TerminalKeyboard(slave)
    with keyboard:
        os.close(master)
        assert keyboard.read() is None
    os.close(slave)


def test_a_windows_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same keys of a console: named ones, those that send two characters, an emoji in two halves, and the end."""
    typed = ["a", " ", "é", "\ud83d", "\udc38", "\r", "\t", "\b", "\x1b", "\x00H", "\xe0H", "\x01", "\x04"]
    monkeypatch.setattr("typer.getchar", lambda: typed.pop(0))
    with ConsoleKeyboard() as keyboard:
        found = [keyboard.read() for _ in range(len(typed) - 1)]
    assert found == ["a", " ", "é", "🐸", ENTER, TAB, BACKSPACE, ESCAPE, OTHER, OTHER, OTHER, None]

    def end() -> str:
        raise EOFError

    monkeypatch.setattr("typer.getchar", end)
    assert ConsoleKeyboard().read() is None


def test_no_terminal_no_keys(lines: Callable[[str], None]) -> None:
    """Lines are read where standard input is no terminal; bytes that are no text do no harm."""
    lines("")
    assert isinstance(open_keyboard(), LineKeyboard)


# --------------------------------------------------------------------------------------- in a process of its own

PROGRAM = """
    import sys
    import numpy as np
    from rich.console import Console
    from bela.campaign import Campaign
    from bela.cli._terminal import TerminalLabeller, label_in_terminal

    class Rows:
        root = None
        def record(self, row):
            if row < 0 or "fail" in sys.argv:
                raise OSError("the disk is gone")
            return {"row": row}

    campaign = Campaign(np.arange(40.0).reshape(20, 2), method="random")  # the one that starts the fastest
    try:
        label_in_terminal(campaign, TerminalLabeller(Console(), Rows(), ["cat", "dog"]))
    finally:
        print("the end:", campaign.n_asked, flush=True)
"""


class Session:
    """A program on a pseudo-terminal of its own, and somebody who types."""

    def __init__(self, *arguments: str) -> None:
        import termios

        self.master, self.slave = os.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={**os.environ, "TERM": "xterm"},
            preexec_fn=_own_terminal,  # noqa: PLW1509 - no threads here
        )
        self.seen = ""

    def mode(self) -> int:
        import termios

        return int(termios.tcgetattr(self.slave)[3])

    def restored(self) -> bool:
        import termios

        return termios.tcgetattr(self.slave) == self.before

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if _readable(self.master):
                self.seen += os.read(self.master, 4096).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def end(self) -> int:
        status = self.process.wait(60)
        while _readable(self.master):
            self.seen += os.read(self.master, 4096).decode(errors="replace")
        return status


def _own_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def start() -> Iterator[Callable[..., Session]]:
    """Start programs that are gone afterwards."""
    started = []

    def start_it(*arguments: str) -> Session:
        started.append(Session(*arguments))
        return started[-1]

    yield start_it
    for session in started:
        with contextlib.suppress(ProcessLookupError):
            session.process.kill()
        session.process.wait()
        os.close(session.master)
        os.close(session.slave)


@terminal
def test_one_key_one_answer_on_a_terminal(start: Callable[..., Session]) -> None:
    """Each key answers at once, without Enter; keys are not echoed; after quitting the terminal is as it was."""
    import termios

    session = start()
    session.wait_for("2 dog")
    session.wait_for("> ")
    assert not session.mode() & (termios.ECHO | termios.ICANON)
    session.type("1")
    session.wait_for("cat")
    session.wait_for("1 answer ")
    session.type("2")
    session.wait_for("2 answers")
    session.type("u")
    session.wait_for("Took back")
    session.wait_for("1 answer ")
    # Somebody else changes the terminal while the program is stopped, as a shell does.
    termios.tcsetattr(session.slave, termios.TCSANOW, session.before)
    session.process.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 20
    while session.mode() & termios.ICANON:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    session.type("2q")
    session.wait_for("the end: 2")
    assert session.end() == 0
    assert session.restored()


@terminal
@pytest.mark.parametrize(
    ("how", "says", "status"),
    [
        ("\x03", "the end: 1", 0),  # Ctrl-C
        ("\x04", "the end: 1", 0),  # Ctrl-D
        (signal.SIGTERM, "", -signal.SIGTERM),
    ],
)
def test_the_terminal_is_put_back(start: Callable[..., Session], how: Any, says: str, status: int) -> None:
    """However the program ends, the terminal is as it was."""
    session = start()
    session.wait_for("> ")
    session.type("1")
    session.wait_for("1 answer ")
    session.wait_for("> ")
    assert not session.restored()
    if isinstance(how, str):
        session.type(how)
    else:
        session.process.send_signal(how)
    assert session.end() == status
    assert says in session.seen
    assert session.restored()


@terminal
def test_the_terminal_is_put_back_after_an_error(start: Callable[..., Session]) -> None:
    """An error while a row is read leaves the terminal as it was."""
    session = start("fail")
    session.wait_for("the disk is gone")
    assert session.end() == 1
    assert session.restored()
