"""Every error that BELA raises on purpose.

::

    BelaError
    ├── DataError          the data cannot be worked with: NaN, no rows, a file cut short
    ├── DatasetNotFound    a named dataset is neither on disk nor to be downloaded
    ├── ParameterError     a parameter is outside its range
    ├── LabelError         a label outside the declared classes, or labels of mixed types
    ├── QuestionError      an unknown question or row, or a second, different answer
    ├── JournalError       the record of a campaign is damaged, missing, or in use by somebody else
    │   ├── VersionError   the record of a campaign was written by a newer version
    │   └── ReplayError    a campaign cannot be made again from its record as it was
    ├── OracleError        whatever was to answer did not: it failed, hung, or made no sense
    └── ExportError        labelled data cannot be written there: no room, no folder, something else in the way

Each message is one sentence that says what is wrong, where, and what to do. The command line prints it and
exits with status 2.
"""


class BelaError(Exception):
    """Something that the caller can put right."""


class DataError(BelaError, ValueError):
    """The data cannot be worked with as they are."""


class DatasetNotFound(BelaError):  # noqa: N818 - reads as what happened
    """A named dataset is neither on disk nor to be downloaded."""


class ParameterError(BelaError, ValueError):
    """A parameter is outside its range."""


class LabelError(BelaError, ValueError):
    """A label is outside the declared classes, or of another type than the others."""


class QuestionError(BelaError, LookupError):
    """An unknown question or row, or a second, different answer."""


class OracleError(BelaError, RuntimeError):
    """Whatever was to answer did not: it failed, hung, or made no sense."""


class ExportError(BelaError):
    """Labelled data cannot be written where they are wanted."""


class JournalError(BelaError):
    """The record of a campaign is damaged, missing, or in use by somebody else."""


class VersionError(JournalError):
    """The record of a campaign was written by a newer version of bela."""


class ReplayError(JournalError):
    """A campaign cannot be made again from its record as it was: another machine, another version, other data."""

    def __init__(self, recorded: object, found: object) -> None:
        super().__init__(
            f"the campaign cannot be made again as it was recorded ({recorded} then, {found} now): it was made with "
            "other versions of the packages, or on another kind of machine; accept the changes (--accept-changes) to "
            "go on with its answers as given labels"
        )
