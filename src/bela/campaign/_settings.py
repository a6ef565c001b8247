"""The settings of a campaign on disk: a TOML file that people can read."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bela.campaign._durable import write_durably
from bela.errors import JournalError, ParameterError
from bela.methods import DEFAULT_METHOD

SETTINGS = "campaign.toml"
"""The name of the file in the folder of a campaign."""

VERSION = 1
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("data", "fingerprint", "id_column", "label_column", "encoding", "method"), (str,)),
    **dict.fromkeys(("journal", "rows", "carried"), (str,)),
    **dict.fromkeys(("n_rows", "budget", "seed"), (int,)),
    **dict.fromkeys(("target", "confidence"), (float, int)),
    **dict.fromkeys(("hidden", "classes"), (list,)),
    "features": (dict,),
}
_SENSIBLE: dict[str, Callable[[Any], bool]] = {  # what `Campaign` does not look at itself, or only later
    "n_rows": lambda n: n >= 1,
    "seed": lambda seed: int(seed) == seed and seed >= 0,
    **dict.fromkeys(("journal", "rows", "carried"), lambda name: Path(name).name == name),
    "hidden": lambda names: all(type(name) is str for name in names),
    "classes": lambda names: all(type(name) in (str, int, bool) for name in names),
}
_HEAD = """\
# A labelling campaign of bela. The answers are in the journal, everything under cache/ can be made again.
# target and budget may be changed here or on the command line; the rest is what the campaign began with.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a campaign is made with.

    Parameters
    ----------
    data
        The path of the data, from the campaign's folder where that is possible, or the name of a dataset.
    fingerprint, n_rows
        Of the data, to notice when they have changed.
    id_column, label_column
        Columns that name the rows, and that bring labels.
    hidden
        Further columns that nothing may be learned from, such as the truth in a simulation.
    encoding
        Of a text file, if it must be told.
    method, target, budget, confidence, seed, classes
        As in `Campaign`.
    journal, rows
        The files with the events, and with a digest of each row to tell which have changed.
    carried
        The file with answers from before the data changed, if they have.
    features
        How each column becomes numbers, a `FeaturePlan` as plain values.
    """

    data: str
    fingerprint: str
    n_rows: int
    id_column: str | None = None
    label_column: str | None = None
    hidden: tuple[str, ...] = ()
    encoding: str | None = None
    method: str = DEFAULT_METHOD
    target: float | None = None
    budget: int | None = None
    confidence: float = 0.95
    seed: int = 0
    classes: tuple[Any, ...] | None = None
    journal: str = "journal.sqlite"
    rows: str = "rows.npy"
    carried: str | None = None
    features: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, sensible in _SENSIBLE.items():
            value = getattr(self, name)
            if value is not None and not sensible(value):
                raise ParameterError(f"{name} cannot be {value!r}")


def write_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all."""
    import tomli_w

    plain = {key: value for key, value in asdict(settings).items() if value is not None}
    plain["hidden"] = list(settings.hidden)
    if settings.classes is not None:
        plain["classes"] = list(settings.classes)
    features = plain.pop("features")
    text = _HEAD + tomli_w.dumps({"version": VERSION, **plain, "features": features})
    write_durably(path, text.encode())


def read_settings(path: Path) -> Settings:
    """Read the settings of a campaign."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise JournalError(f"{path.parent} is no campaign: there is no {path.name} in it") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise JournalError(f"{path} cannot be read: {error}") from None
    version = plain.pop("version", None)
    if version != VERSION:
        what = "upgrade bela" if isinstance(version, int) and version > VERSION else "repair the file"
        raise JournalError(f"{path} has version {version!r}, this bela knows {VERSION}: {what}")
    known = {entry.name: entry for entry in fields(Settings)}
    unknown = plain.keys() - known.keys()
    if unknown:
        raise JournalError(f"{path} has a setting {sorted(unknown)[0]!r}, which there is none of: remove it")
    for name in ("data", "fingerprint", "n_rows"):
        if name not in plain:
            raise JournalError(f"{path} needs the setting {name!r}: repair the file")
    for name, value in plain.items():
        if type(value) not in _TYPES[name]:
            raise JournalError(f"{path} has the setting {name} = {value!r}, which makes no sense: repair the file")
    for name in ("hidden", "classes"):
        if name in plain:
            plain[name] = tuple(plain[name])
    try:
        return Settings(**plain)
    except ParameterError as error:
        raise JournalError(f"{path} has a setting that makes no sense, as {error}: repair the file") from None
