"""Where rows and features come from."""

from bela.sources._array import ArraySource

__all__ = ["ArraySource"]
