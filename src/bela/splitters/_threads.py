"""One thread for work that is too small to share out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Keep OpenMP to one thread: on a busy machine threads that share milliseconds of work wait for seconds."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="openmp")
    return limits
