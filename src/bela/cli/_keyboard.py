"""What is typed: single keys where there is a terminal, else whole lines."""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

ENTER, TAB, BACKSPACE, ESCAPE = "\n", "\t", "\x7f", "\x1b"
OTHER = ""  # a key that means nothing, such as an arrow
_FOLLOWS = 0.05  # seconds within which the rest of an arrow key comes after its Escape


class Keyboard(Protocol):
    """Whatever somebody types on. It is a context, as a terminal has to be put back as it was."""

    @property
    def single(self) -> bool:
        """Whether `read` returns at each key, else at the end of each line."""

    def read(self) -> str | None:
        """Return what was typed: a character or one of the constants above, or a whole line; None when all is over."""

    def __enter__(self) -> Keyboard: ...

    def __exit__(self, *_: object) -> None: ...


def open_keyboard() -> Keyboard:
    """Return single keys if standard input is a terminal, else lines."""
    if not sys.stdin.isatty():
        return LineKeyboard()
    return WindowsKeyboard() if os.name == "nt" else TerminalKeyboard(sys.stdin.fileno(), sys.stdin.encoding)


class LineKeyboard:
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


class TerminalKeyboard:
    """Single keys of a POSIX terminal.

    The terminal is put back as it was when the context is left, when the program is told to end, and while it is
    suspended. What was typed ahead is not lost.
    """

    single = True

    def __init__(self, fd: int, encoding: str = "utf-8") -> None:
        self._fd = fd
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._typed: list[str] = []
        self._before: list[Any] | None = None
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> TerminalKeyboard:
        import termios

        self._before = termios.tcgetattr(self._fd)
        if threading.current_thread() is threading.main_thread():
            # After a stop, the terminal is as the shell likes it.
            handlers: dict[signal.Signals, Callable[[int, FrameType | None], object]]
            handlers = {signal.SIGCONT: self._go_on, signal.SIGTSTP: self._pause, signal.SIGTERM: self._pause}
            for number, handler in handlers.items():
                if signal.getsignal(number) is signal.SIG_DFL:  # not where somebody knows better
                    signal.signal(number, handler)
                    self._handled.append(number)
        self._take_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back()
        while self._handled:
            signal.signal(self._handled.pop(), signal.SIG_DFL)

    def read(self) -> str | None:
        """Return the next key, or None when the terminal is gone or Ctrl-D was typed."""
        key = self._next()
        if key is None or key == "\x04":
            return None
        if key == ESCAPE:
            return self._after_escape()
        if key == "\r":
            return ENTER
        if key in ("\b", BACKSPACE):
            return BACKSPACE
        return key if key in (ENTER, TAB) or key.isprintable() else OTHER

    def _next(self, timeout: float | None = None) -> str | None:
        while not self._typed:
            if timeout is not None and not select.select([self._fd], [], [], timeout)[0]:
                return None
            try:
                content = os.read(self._fd, 1024)
            except OSError:  # the terminal was closed
                return None
            if not content:
                return None
            self._typed.extend(self._decoder.decode(content))
        return self._typed.pop(0)

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

    def _take_keys(self) -> None:
        import termios

        mode = termios.tcgetattr(self._fd)
        mode[3] &= ~(termios.ECHO | termios.ICANON)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    def _put_back(self) -> None:
        import termios

        try:
            if self._before is not None:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        except termios.error:  # the terminal was closed
            pass

    def _pause(self, number: int, _: FrameType | None) -> None:
        """Stop, or end, as a program without a handler would, with the terminal as it was."""
        self._put_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)
        self._take_keys()

    def _go_on(self, *_: object) -> None:
        self._take_keys()


class WindowsKeyboard:
    """Single keys of a Windows console."""

    single = True

    def __enter__(self) -> WindowsKeyboard:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> str | None:
        """Return the next key, or None after Ctrl-D or Ctrl-Z."""
        if sys.platform != "win32":
            raise OSError("there is no Windows console here")
        import msvcrt

        key = msvcrt.getwch()
        if key == "\0" or (key == "\xe0" and msvcrt.kbhit()):  # an arrow or a function key
            msvcrt.getwch()
            return OTHER
        if "\ud800" <= key < "\udc00":  # half of a character
            key = (key + msvcrt.getwch()).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if key == "\x03":
            raise KeyboardInterrupt
        if key in ("\x04", "\x1a"):
            return None
        names = {"\r": ENTER, "\b": BACKSPACE, ESCAPE: ESCAPE, TAB: TAB}
        return names.get(key, key if key.isprintable() else OTHER)
