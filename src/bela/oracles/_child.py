"""A child process that reads and writes lines, and of which nothing is left behind, whatever happens."""

import collections
import os
import queue
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from typing import IO

LONGEST_LINE = 1 << 20  # bytes of one line of output: far more than an answer needs
_GRACE = 0.5  # seconds to end after being asked to
_QUEUED = 10_000  # lines: a command that never stops writing waits for us, not for all memory to be full


class Child:
    """A running command: lines go in, lines come out, and its last words on stderr are kept.

    It is the leader of a process group of its own, so that what it starts can be ended with it, and so that Ctrl-C
    reaches this process alone, which then ends the group. Threads do the reading and writing: a command that answers
    before it has read everything, or that writes a lot to stderr, never waits for us while we wait for it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PYTHONUNBUFFERED": "1", **os.environ},  # the answers of a Python script arrive as they are printed
            start_new_session=True,  # does nothing on Windows
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same there
        )  # fmt: skip
        self._lines: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._last_words: collections.deque[bytes] = collections.deque(maxlen=10)
        # Whoever forgets to close it, be it by an error: the end of this object or of the program does.
        self._end = weakref.finalize(self, _end, process, self._lines)
        _start(_read, process.stdout, self._lines)
        self._listener = _start(_listen, process.stderr, self._last_words)

    def send(self, lines: Iterable[bytes], *, last: bool) -> None:
        """Hand lines over; after the last ones the command sees the end of its input."""
        _start(_write, self._process.stdin, b"".join(lines), last)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next line, or None when the command writes no more; raise TimeoutError when none comes in time."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            self._lines.put(None)  # still so when asked again
        return line

    def wait(self, timeout: float) -> int | None:
        """Return the exit status, or None if the command goes on for longer than so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout)
        return None

    def last_words(self) -> str:
        """Return the last lines that it wrote to stderr."""
        self._listener.join(0.2)  # what it wrote just before it ended is on its way
        return b" | ".join(tuple(self._last_words)).decode("utf-8", "replace")

    def close(self, *, patience: float = 0.0) -> None:
        """Clean up; unless it ends well by itself within this many seconds, end it and all that it has started."""
        try:
            self.send((), last=True)
            if self.wait(patience) is None:
                _signal(self._process, "SIGTERM")
                self.wait(_GRACE)
        finally:
            self._end()


def _start(target: Callable[..., object], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _write(pipe: IO[bytes], content: bytes, last: bool) -> None:
    # A command may end, or close its input, without reading everything.
    with suppress(OSError, ValueError), pipe if last else nullcontext():
        pipe.write(content)
        pipe.flush()


def _read(pipe: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with suppress(OSError, ValueError), pipe:
        while line := pipe.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)


def _listen(pipe: IO[bytes], last_words: collections.deque[bytes]) -> None:
    with suppress(OSError, ValueError), pipe:
        while line := pipe.readline(4096):
            if line.strip():
                last_words.append(line.strip())


def _signal(process: subprocess.Popen[bytes], name: str) -> None:
    with suppress(OSError):
        if os.name == "nt":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)  # noqa: S607
        else:
            os.killpg(process.pid, getattr(signal, name))


def _end(process: subprocess.Popen[bytes], lines: queue.Queue[bytes | None]) -> None:
    """End a process and its group at once, unless it has ended well by itself, and let the threads go."""
    if process.poll() != 0:
        _signal(process, "SIGKILL")
        process.wait()
    with suppress(queue.Empty):  # the reader waits for room as long as there are lines
        while lines.get(timeout=1.0) is not None:
            pass
