"""What happened in a campaign, on disk: events and arrays that are never lost; and the only atomic writes and locks."""

from bela.storage._arrays import FolderStore, MemoryArrays, digest_arrays
from bela.storage._atomic import lock_file, sync_file, sync_folder, write_durably
from bela.storage._journals import MemoryJournal, SQLiteJournal
from bela.storage._kept import find_kept, keep, read_checked, write_checked
from bela.storage._paid import PaidCalls
from bela.storage._together import placed_together

__all__ = [
    "FolderStore", "MemoryArrays", "MemoryJournal", "PaidCalls", "SQLiteJournal", "digest_arrays", "find_kept", "keep",
    "lock_file", "placed_together", "read_checked", "sync_file", "sync_folder", "write_checked", "write_durably",
]  # fmt: skip
