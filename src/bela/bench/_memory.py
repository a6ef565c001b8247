"""How much memory a process has taken at most.

Nothing but the standard library, as it is loaded by the programs of peers too, which know nothing of BELA.
"""

import sys


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
