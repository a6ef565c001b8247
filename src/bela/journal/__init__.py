"""What happened in a campaign, on disk: events that are never lost, and arrays that may be."""

from bela.journal._arrays import FolderStore

__all__ = ["FolderStore"]
