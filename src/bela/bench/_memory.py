"""How much memory a process has taken at most.

Nothing but the standard library, as it is loaded by the programs of peers too, which know nothing of BELA.
"""

import sys
import threading


def peak_mb() -> float | None:
    """Return the largest resident size of this process so far in MB (10^6 bytes), None where nothing says it."""
    if sys.platform == "win32":
        return None
    if sys.platform == "linux":  # getrusage would count the process that started this one, if that was larger
        try:
            with open("/proc/self/status", encoding="ascii", errors="replace") as status:
                high = next(line for line in status if line.startswith("VmHWM:"))
            return round(int(high.split()[1]) * 1024 / 1e6, 1)
        except (OSError, StopIteration, ValueError, IndexError):
            pass
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def own_mb() -> float | None:
    """Return the resident memory of this process that is not of a file, in MB; None where nothing says it.

    Pages of a file that is mapped are the system's: it takes them back when somebody else wants the room.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            found = [int(line.split()[1]) for line in status if line.startswith(("RssAnon:", "RssShmem:"))]
    except (OSError, ValueError, IndexError):
        return None
    return sum(found) * 1024 / 1e6 if found else None


class OwnMemory:
    """The most of `own_mb` since this was made, looked at twenty times a second, as the system keeps no peak of it."""

    def __init__(self) -> None:
        self._peak, self._stop = own_mb(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._peak is not None and not self._stop.wait(0.05):
            self._look()

    def _look(self) -> None:
        self._peak = max(self._peak or 0.0, own_mb() or 0.0)

    def close(self) -> float | None:
        """Return the peak, None where nothing says it."""
        self._stop.set()
        self._thread.join()
        if self._peak is None:
            return None
        self._look()
        return round(self._peak, 1)
