"""Every error that BELA raises on purpose.

Each message is one sentence that says what is wrong, where, and what to do. The command line prints it and exits with
status 2.
"""


class BelaError(Exception):
    """Something that the caller can put right."""


class DataError(BelaError, ValueError):
    """The data cannot be worked with as they are: NaN, no rows, a file cut short."""


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


class EmbeddingError(BelaError, RuntimeError):
    """A model that was to turn rows into vectors did not: it is not here, cannot be fetched, or failed half-way."""


class ClusterError(BelaError, RuntimeError):
    """The cluster that the rows lie on is not there, full, or gone half-way."""


class ExportError(BelaError):
    """Labelled data cannot be written where they are wanted: no room, no folder, something else in the way."""


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
