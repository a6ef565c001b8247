"""A child process that reads and writes lines, and of which nothing is left behind, whatever happens."""

from __future__ import annotations

import collections
import contextlib
import os
import queue
import signal
import subprocess
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import IO, Any

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
        options: dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            options = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # So that the answers of a Python script arrive as they are printed.
            env={"PYTHONUNBUFFERED": "1", **os.environ},
            **options,
        )
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._last_words: collections.deque[bytes] = collections.deque(maxlen=10)
        self._closing = threading.Event()
        # Whoever forgets to close it, be it by an error: the end of this object or of the program does.
        self._end = weakref.finalize(self, _end, self._process, self._to_write, self._closing)
        process = self._process
        self._threads = [
            threading.Thread(target=target, args=arguments, daemon=True)
            for target, arguments in (
                (_write, (process.stdin, self._to_write)),
                (_read, (process.stdout, self._lines, self._closing)),
                (_listen, (process.stderr, self._last_words)),
            )
        ]
        for thread in self._threads:
            thread.start()

    def send(self, lines: Iterable[bytes], *, last: bool) -> None:
        """Hand lines over; after the last ones the command sees the end of its input."""
        for line in lines:
            self._to_write.put(line)
        if last:
            self._to_write.put(None)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next line, or None when the command writes no more; raise TimeoutError when none comes in time."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            self._lines.put(None)  # still so when asked again
        return line

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait(self, timeout: float) -> int | None:
        """Return the exit status, or None if the command goes on for longer than this."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """Return the last lines that it wrote to stderr."""
        self._threads[2].join(0.2)  # what it wrote just before it ended is on its way
        return " | ".join(text for line in tuple(self._last_words) if (text := _clean(line)))

    def close(self, *, patience: float = 0.0) -> None:
        """Clean up; unless it ends well by itself within this many seconds, end it and all that it has started."""
        try:
            self._to_write.put(None)
            if self.wait(patience) is None:
                _signal(self._process, "SIGTERM")
                self.wait(_GRACE)
        finally:
            self._end()
            for thread in self._threads:
                thread.join(1.0)


def _write(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    # A command may end, or close its input, without reading everything.
    with contextlib.suppress(OSError, ValueError):
        while (line := lines.get()) is not None:
            pipe.write(line)
            if lines.empty():
                pipe.flush()
    with contextlib.suppress(OSError, ValueError):
        pipe.close()


def _read(pipe: IO[bytes], lines: queue.Queue[bytes | None], closing: threading.Event) -> None:
    def put(line: bytes | None) -> None:
        while not closing.is_set():
            with contextlib.suppress(queue.Full):
                lines.put(line, timeout=0.2)
                return

    with contextlib.suppress(OSError, ValueError), pipe:
        while line := pipe.readline(LONGEST_LINE):
            put(line)
            if closing.is_set():
                break
    put(None)


def _listen(pipe: IO[bytes], last_words: collections.deque[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while line := pipe.readline(4096):
            if line.strip():
                last_words.append(line)


def _signal(process: subprocess.Popen[bytes], name: str) -> None:
    """Send a signal to a process and all of its group."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)  # noqa: S607
        else:
            os.killpg(process.pid, getattr(signal, name))


def _end(process: subprocess.Popen[bytes], to_write: queue.SimpleQueue[bytes | None], closing: threading.Event) -> None:
    """End a process and its group at once, unless it has ended well by itself, and let the threads go."""
    if process.poll() != 0:
        _signal(process, "SIGKILL")
        process.wait()
    to_write.put(None)
    closing.set()


def _clean(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return "".join(c if c.isprintable() else " " for c in text)
