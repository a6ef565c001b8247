"""What is typed: single keys where there is a terminal, else whole lines; and the keys that stand for classes."""

from __future__ import annotations

import codecs
import os
import select
import signal
import string
import sys
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from types import FrameType
from typing import Protocol, TypeAlias

from bela.labels import label_from_text, label_to_text
from bela.records import Label

ENTER, TAB, BACKSPACE, ESCAPE = "\n", "\t", "\x7f", "\x1b"
OTHER = ""  # a key that means nothing, such as an arrow
_NAMES = {"\r": ENTER, "\b": BACKSPACE, **{key: key for key in (ENTER, TAB, BACKSPACE, ESCAPE)}}
_FOLLOWS = 0.05  # seconds within which the rest of an arrow key comes after its Escape

TerminalMode: TypeAlias = "list[int | list[bytes | int]]"


class Keyboard(AbstractContextManager["Keyboard"], Protocol):
    """Whatever somebody types on. It is a context, as a terminal has to be put back as it was."""

    single: bool
    """Whether `read` returns at each key, else at the end of each line."""

    def read(self) -> str | None:
        """Return what was typed: a character or one of the constants above, or a whole line; None when all is over."""


def open_keyboard() -> Keyboard:
    """Return single keys if standard input is a terminal, else lines."""
    if not sys.stdin.isatty():
        return LineKeyboard()
    return ConsoleKeyboard() if os.name == "nt" else TerminalKeyboard(sys.stdin.fileno(), sys.stdin.encoding)


class LineKeyboard(Keyboard):
    """One answer a line, from a pipe or a file."""

    single = False

    def __enter__(self) -> LineKeyboard:
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> str | None:
        """Return a line without the space around it; an empty one is Enter, one of spaces a space."""
        line = sys.stdin.readline()
        if not line:
            return None
        line = line.rstrip("\r\n")
        return line.strip() or (" " if line else ENTER)


class ConsoleKeyboard(Keyboard):
    """Single keys of a Windows console."""

    single = True

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> str | None:
        """Return the next key, or None after Ctrl-D or Ctrl-Z."""
        import typer

        try:
            typed = typer.getchar()
            if "\ud800" <= typed < "\udc00":  # half of a character
                typed = (typed + typer.getchar()).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        except EOFError:
            return None
        return None if typed == "\x04" else _named(typed)


class TerminalKeyboard(Keyboard):
    """Single keys of a POSIX terminal.

    The terminal is put back as it was when the context is left, when the program is told to end, and while it is
    suspended. What was typed ahead is not lost.

    `typer.getchar` would not do: it takes up to 32 bytes for one key, be they several that were pasted or half a
    character; it echoes what is typed while the next question is chosen; and it leaves the terminal raw when the
    program is ended while it waits.
    """

    single = True

    def __init__(self, fd: int, encoding: str = "utf-8") -> None:
        self._fd = fd
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._typed = ""
        self._before: TerminalMode = []
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> TerminalKeyboard:
        import termios

        self._before = termios.tcgetattr(self._fd)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGCONT, signal.SIGTSTP, signal.SIGTERM):
                if signal.getsignal(number) is signal.SIG_DFL:  # not where somebody knows better
                    signal.signal(number, self._take_keys if number == signal.SIGCONT else self._pause)
                    self._handled.append(number)
        self._take_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back()
        while self._handled:
            signal.signal(self._handled.pop(), signal.SIG_DFL)

    def read(self) -> str | None:
        """Return the next key, or None when the terminal is gone or Ctrl-D was typed."""
        typed = self._next()
        if typed is None or typed == "\x04":
            return None
        return self._after_escape() if typed == ESCAPE else _named(typed)

    def _next(self, timeout: float | None = None) -> str | None:
        while not self._typed:
            if timeout is not None and not select.select([self._fd], [], [], timeout)[0]:
                return None
            content = b""
            with suppress(OSError):  # the terminal was closed
                content = os.read(self._fd, 1024)
            if not content:
                return None
            self._typed = self._decoder.decode(content)
        typed, self._typed = self._typed[0], self._typed[1:]
        return typed

    def _after_escape(self) -> str:
        """Read the rest of a key that sends several characters, so that none of them is taken for an answer."""
        following = self._next(_FOLLOWS)
        if following is None:
            return ESCAPE
        if following == "O":
            self._next(_FOLLOWS)
        elif following == "[":
            while (part := self._next(_FOLLOWS)) is not None and not "@" <= part <= "~":
                pass
        return OTHER

    def _take_keys(self, *_: object) -> None:
        """Have each key at once, and not shown; after a stop, too, as the terminal is then as the shell likes it."""
        import termios
        import tty

        tty.setcbreak(self._fd, termios.TCSADRAIN)

    def _put_back(self) -> None:
        import termios

        with suppress(termios.error):  # the terminal was closed
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _pause(self, number: int, _: FrameType | None) -> None:
        """Stop, or end, as a program without a handler would, with the terminal as it was."""
        self._put_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)
        self._take_keys()


def _named(typed: str) -> str:
    """Return one of the constants for a key that has a name, or the character that was typed."""
    return _NAMES.get(typed, typed if len(typed) == 1 and typed.isprintable() else OTHER)


_RESERVED = "uq"  # undo and quit
_KEYS = string.digits[1:] + string.ascii_lowercase + string.ascii_uppercase


class ClassKeys:
    """Give each class a key of its own: 1 to 9, then letters; a class whose name is a free key has that one.

    Keys are given in the order in which the classes come, and stay: the same classes in the same order have the same
    keys the next day. Where there are more classes than keys, the last ones have none and are typed by name.

    >>> keys = ClassKeys(["cat", "dog", "y", "0"])
    >>> keys.by_key
    {'1': 'cat', '2': 'dog', 'y': 'y', '0': '0'}
    """

    def __init__(self, classes: Iterable[Label] = (), reserved: str = "") -> None:
        self._reserved = f"{_RESERVED}{reserved} +?"  # for commands
        self.classes: list[Label] = []
        self.by_key: dict[str, Label] = {}
        self._seen: set[Label] = set()
        self.learn(classes)

    def learn(self, classes: Iterable[Label]) -> None:
        """Give keys to those classes that have none yet."""
        for label in classes:
            if label in self._seen:
                continue
            self._seen.add(label)
            self.classes.append(label)
            name = str(label)
            own = (name, name.lower()) if len(name) == 1 and name.isprintable() else ()
            free = (key for key in (*own, *_KEYS) if key not in self.by_key and key.lower() not in self._reserved)
            if (key := next(free, None)) is not None:
                self.by_key[key] = label

    def find(self, key: str) -> Label | None:
        """Return the class of a key; with Caps Lock on it is the same one, unless both letters are keys."""
        found = self.by_key.get(key)
        return found if found is not None or len(key) != 1 else self.by_key.get(key.swapcase())

    def named(self, name: str) -> Label | None:
        """Return the class of this name, in whatever case where that leaves no doubt."""
        names = {label_to_text(label).strip(): label for label in self.classes}
        if name in names:
            return names[name]
        alike = [label for other, label in names.items() if other.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    def complete(self, start: str) -> str:
        """Return the longest beginning that all classes share whose names begin like this."""
        names = [str(label) for label in self.classes if str(label).casefold().startswith(start.casefold())]
        shared = os.path.commonprefix(names)  # noqa: RUF071 - letters are what is meant
        return shared if len(shared) > len(start) else start

    def make(self, name: str) -> Label:
        """Return the class of a name, a new one if need be, of the type that the other classes have."""
        found = self.named(name)
        return label_from_text(name, like=self.classes) if found is None else found
