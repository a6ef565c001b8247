"""The book of a campaign: typed events, and the state that they fold into."""

from bela.book import _events as events
from bela.book._book import Book
from bela.book._classes import check_deletion
from bela.book._help import Help
from bela.book._steps import Step, codes_by_name

from bela.book._events import (  # isort: skip
    EVENTS, Answered, AnsweredAgain, Asked, Began, Change, ClassAdded, ClassChange, ClassDeleted, ClassMerged,
    ClassRenamed, Deleted, Event, Flagged, Helped, HelperBegan, HelperEnded, Merged, Rejected, Relabelled, Revised,
    RowChanged, SecondOpinion, Skipped, TargetSet, Undeleted, Undone, Unmerged, read_event,
)  # fmt: skip
from bela.book._opinions import (  # isort: skip
    Again, Counts, Opinions, UndoStep, again, count, describe_undo, flags, label_source, n_said, opinions,
    people_who_said, undo_step,
)  # fmt: skip

__all__ = [
    "EVENTS", "Again", "Answered", "AnsweredAgain", "Asked", "Began", "Book", "Change", "ClassAdded", "ClassChange",
    "ClassDeleted", "ClassMerged", "ClassRenamed", "Counts", "Deleted", "Event", "Flagged", "Help", "Helped",
    "HelperBegan", "HelperEnded", "Merged", "Opinions", "Rejected", "Relabelled", "Revised", "RowChanged",
    "SecondOpinion", "Skipped", "Step", "TargetSet", "Undeleted", "UndoStep", "Undone", "Unmerged", "again",
    "check_deletion", "codes_by_name", "count", "describe_undo", "events", "flags", "label_source", "n_said",
    "opinions", "people_who_said", "read_event", "undo_step",
]  # fmt: skip
