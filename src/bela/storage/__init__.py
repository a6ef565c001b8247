"""What happened in a campaign, on disk: events and arrays that are never lost; and the only atomic writes and locks."""

from bela.storage._arrays import FolderStore, MemoryArrays, digest_arrays
from bela.storage._atomic import lock_file, open_fresh, sync_file, sync_folder, write_durably
from bela.storage._journals import MemoryJournal, SQLiteJournal
from bela.storage._kept import find_kept, keep, read_checked, write_checked
from bela.storage._links import check_no_links
from bela.storage._own import config_folder, read_own, write_own
from bela.storage._paid import PaidCalls
from bela.storage._together import placed_together
from bela.storage._unpacked import most_unpacked
from bela.storage._vectors import KEY_BYTES, Keys, VectorFile
from bela.storage._yeses import allow, digest_of, is_allowed

__all__ = [
    "KEY_BYTES",
    "FolderStore",
    "Keys",
    "MemoryArrays",
    "MemoryJournal",
    "PaidCalls",
    "SQLiteJournal",
    "VectorFile",
    "allow",
    "check_no_links",
    "config_folder",
    "digest_arrays",
    "digest_of",
    "find_kept",
    "is_allowed",
    "keep",
    "lock_file",
    "most_unpacked",
    "open_fresh",
    "placed_together",
    "read_checked",
    "read_own",
    "sync_file",
    "sync_folder",
    "write_checked",
    "write_durably",
    "write_own",
]  # fmt: skip
