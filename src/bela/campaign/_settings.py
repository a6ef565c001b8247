"""The settings of a campaign on disk: a TOML file that people can read."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from bela.book import events
from bela.errors import JournalError, ParameterError
from bela.labels import LabelCodes, label_to_text
from bela.methods import DEFAULT_METHOD
from bela.records import Label
from bela.storage import write_durably as write_atomically

SETTINGS = "campaign.toml"  # the name of the file in the folder of a campaign
FORMAT = 1
_HEAD = """\
# A labelling campaign of bela. The answers are in the journal, everything under cache/ can be made again.
# target and budget may be changed here or on the command line; the rest is what the campaign began with.

"""


def _plain_name(name: str) -> str:
    if Path(name).name != name:
        raise ValueError("a file of the campaign lies in its folder")
    return name


Names = Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=2)]
FileName = Annotated[str, AfterValidator(_plain_name)]


class Settings(BaseModel):
    """What a campaign is made with; method, targets, budget, confidence, seed and classes are as in `Campaign`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    data: str  # its path, from the campaign's folder where that is possible, or the name of a dataset
    fingerprint: str  # of the data, as n_rows to notice when they have changed
    n_rows: Annotated[int, Field(ge=1)]
    id_column: str | None = None  # names the rows
    label_column: str | None = None  # brings labels
    hidden: Annotated[tuple[str, ...], Field(strict=False)] = ()  # nothing may be learned from, such as the truth
    encoding: str | None = None  # of a text file, if it must be told
    method: str = DEFAULT_METHOD
    target: float | None = None
    class_target: float | None = None
    budget: int | None = None
    confidence: float = 0.95
    seed: Annotated[int, Field(ge=0)] = 0
    classes: Annotated[tuple[events.LabelValue, ...], Field(strict=False)] | None = None
    groups: dict[str, str] = Field(default_factory=dict)  # of classes, by what these were called in the beginning
    prediction: str | None = None  # the column with the labels under audit
    score: str | None = None  # the column that says how sure whoever made them was
    predictions: Annotated[tuple[Names, ...], Field(strict=False)] = ()  # columns of labels by others, and of scores
    brought: Annotated[tuple[Names, ...], Field(strict=False)] = ()  # the same that came in files of their own
    brought_file: FileName = "predicted.parquet"
    journal: FileName = "journal.sqlite"
    rows: FileName = "rows.npy"  # a digest of each row, to tell which have changed
    carried: FileName | None = None  # answers from before the data changed, if they have
    features: dict[str, JsonValue] = Field(default_factory=dict)  # a `FeaturePlan` as plain values


def groups_now(settings: Settings, codes: LabelCodes) -> dict[Label, str]:
    """Return the groups of classes by what these are called now: declared classes have the first codes for good."""
    named = enumerate(map(label_to_text, settings.classes or ()))
    return {codes.classes[code]: settings.groups[name] for code, name in named if name in settings.groups}


def columns_apart(settings: Settings) -> list[str]:
    """Return the columns that are not features, and that whoever answers must not see: labels, and what is hidden."""
    predicted = (name for names in settings.predictions for name in names)
    labels = () if settings.label_column is None else (settings.label_column,)
    return list(dict.fromkeys((*settings.hidden, *labels, *predicted)))


def write_durably(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file of a campaign, whole or not at all; it is on disk when this returns."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror or error}") from None


def make_settings(**values: object) -> Settings:
    """Return settings, if they make sense."""
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        name, what = _first(error)
        raise ParameterError(f"{name} cannot be {values.get(name)!r}: {what}") from None


def write_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all."""
    import tomli_w

    plain = settings.model_dump(mode="json", exclude_none=True)  # with the features, a table, at the end
    write_durably(path, (_HEAD + tomli_w.dumps({"format": FORMAT, **plain})).encode())


def read_settings(path: Path) -> Settings:
    """Read the settings of a campaign."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except NotADirectoryError:
        raise JournalError(f"{path.parent} is a file, not the folder of a campaign: name another place") from None
    except FileNotFoundError:
        raise JournalError(f"{path.parent} is not a campaign: there is no {path.name} in it") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise JournalError(f"{path} cannot be read: {error}") from None
    written = plain.pop("format", None)
    if written is None and "version" in plain:
        raise JournalError(
            f"{path.parent} was made before the first release of bela, whose format this one does not read: begin the "
            "campaign again, with the answers exported by the version that made it"
        )
    if type(written) is not int or written != FORMAT:
        what = "upgrade bela" if isinstance(written, int) and written > FORMAT else "repair the file"
        raise JournalError(f"{path} has format {written!r}, this bela knows {FORMAT}: {what}")
    try:
        return Settings.model_validate(plain)
    except ValidationError as error:
        name, what = _first(error)
        if name not in Settings.model_fields:
            wrong = f"has a setting {name!r}, which there is none of: remove it"
        elif name not in plain:
            wrong = f"needs the setting {name!r}: repair the file"
        else:
            wrong = f"has the setting {name} = {plain[name]!r}, which makes no sense ({what}): repair the file"
        raise JournalError(f"{path} {wrong}") from None


def _first(error: ValidationError) -> tuple[str, str]:
    """Return the first setting that is wrong, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    return str(first["loc"][0]), str(first["msg"])
