"""The settings of a campaign on disk: a TOML file that people can read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bela.errors import JournalError
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


def write_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all."""
    import tomli_w

    plain = {key: value for key, value in asdict(settings).items() if value is not None}
    plain["hidden"] = list(settings.hidden)
    if settings.classes is not None:
        plain["classes"] = list(settings.classes)
    features = plain.pop("features")
    text = _HEAD + tomli_w.dumps({"version": VERSION, **plain, "features": features})
    new = path.with_name(f"{path.name}.part")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


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
    for name in ("journal", "rows", "carried"):
        if Path(str(plain.get(name, "file"))).name != plain.get(name, "file"):
            raise JournalError(f"{path} names a {name} outside its folder: {plain[name]!r}")
    for name in ("hidden", "classes"):
        if name in plain:
            plain[name] = tuple(plain[name])
    return Settings(**plain)
