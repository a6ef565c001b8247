"""The classes of a campaign: added, renamed, merged, deleted."""

from bela.book import Book, check_deletion, events
from bela.campaign._recorder import Recorder
from bela.errors import LabelError, QuestionError
from bela.records import Label


class ClassEditing:
    """What can be done to the classes of a campaign; each of it can be undone."""

    book: Book
    method_name: str
    _recorder: Recorder

    def add_class(self, label: Label, *, by: str | None = None) -> None:
        """Allow one more class."""
        if self.book.codes.find(label) is None:
            self._recorder.make(events.ClassAdded, label=self.book.codes.normal(label), by=by)

    def rename_class(self, old: Label, new: Label, *, by: str | None = None) -> None:
        """Call a class by another name."""
        codes = self.book.codes
        self.book.code_of(old)
        if codes.find(new) is not None:
            raise LabelError(f"there is a class {new!r} already: merge {old!r} into it if they are the same")
        self._recorder.make(events.ClassRenamed, old=codes.normal(old), new=codes.normal(new), by=by)

    def merge_class(self, old: Label, into: Label, *, by: str | None = None) -> None:
        """Take two classes for one: all labels and answers of the first become the second."""
        codes = self.book.codes
        if self.book.code_of(old) == self.book.code_of(into):
            raise LabelError(f"a class cannot be merged into itself: {old!r}")
        self._recorder.make(events.ClassMerged, old=codes.normal(old), into=codes.normal(into), by=by)

    def delete_class(self, label: Label, *, by: str | None = None) -> int:
        """Have no such class any more; return how many answers that takes back: their questions are open again.

        What is certified goes on to rest on the draws as they were answered before, and rows that carry the label count
        as wrong until all rows are labelled anew. Labels that the data brought cannot be taken back.
        """
        code = check_deletion(self.book, label)
        if self.method_name == "audit":
            raise LabelError(f"the labels under audit may be {label!r}, so it cannot be deleted: merge it into another")
        n_answers = sum(int(self.book.known[row]) == code for row in self.book.answered)
        self._recorder.make(events.ClassDeleted, label=self.book.codes.normal(label), by=by)
        return n_answers

    def restore_class(self, label: Label) -> None:
        """Take back that a class was deleted, if nothing was done since."""
        last = self.book.steps[-1].event if self.book.steps else None
        if not isinstance(last, events.ClassDeleted) or last.label != self.book.codes.normal(label):
            raise QuestionError(f"something else was done since {label!r} was deleted, if it was: undo that first")
        self._recorder.make(events.Undone)
