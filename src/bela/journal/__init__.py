"""What happened in a campaign, on disk: events that are never lost, and arrays that may be."""

from bela.journal._arrays import FolderStore
from bela.journal._memory import MemoryJournal
from bela.journal._sqlite import SQLiteJournal

__all__ = ["FolderStore", "MemoryJournal", "SQLiteJournal"]
