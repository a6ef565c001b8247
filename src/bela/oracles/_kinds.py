"""The oracles that can be chosen by name, and what they are made from."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from bela._registry import Registry
from bela.errors import ParameterError
from bela.oracles._permissions import Permissions
from bela.protocols import Oracle, Table
from bela.records import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What was said about a language model; None where nothing was. `key_env` names the variable with its key."""

    url: str | None = None
    model: str | None = None
    guidelines: str | None = None
    key_env: str | None = None
    price: str | None = None
    cap: float | None = None
    max_tokens: int | None = None
    parallel: int | None = None

    def said(self) -> tuple[str, ...]:
        """Return the options that something was said with."""
        names = ("url", "model", "guidelines", "key_env", "price", "cap", "max_tokens", "parallel")
        return tuple(f"--llm-{name.replace('_', '-')}" for name in names if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleOptions:
    """What `bela run` was told about an oracle besides which it is; None where nothing was said."""

    batch: int | None = None
    timeout: float | None = None
    retries: int | None = None
    keep_running: bool = False
    llm: ModelChoice = field(default_factory=ModelChoice)
    may_decline: bool = False  # whether somebody else is asked where it cannot tell
    begun: Path | None = None  # the folder of the campaign, if it is there already

    def __post_init__(self) -> None:
        if self.batch is not None and self.batch < 1:
            raise ParameterError(f"--batch is a number of questions from 1 on, not {self.batch}")

    def check_only_batch(self) -> None:
        """Refuse whatever is meant for a command or a language model."""
        self.check_no_model()
        given = {"timeout": self.timeout, "retries": self.retries, "keep-running": self.keep_running or None}
        for option, value in given.items():
            if value is not None:
                raise ParameterError(f"--{option} is for --oracle-cmd: leave it out")

    def check_no_model(self) -> None:
        """Refuse whatever is meant for a language model."""
        for option in self.llm.said():
            raise ParameterError(f"{option} is for a language model: leave it out, or say --oracle llm")


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleContext:
    """What an oracle may know of the campaign that it answers for.

    It must not see the `hidden` columns, such as the one that holds the labels. `classes` gives those known so far; all
    that may be answered if they are `closed`. `labels` gives the labels by row of a column or file that has some;
    without a name, those of the dataset. `say` is called with each sentence that the user should read meanwhile.
    `given` are labels that the data brought, `folder` is where the campaign keeps things, if anywhere, and
    `permissions` say what the person at this machine has allowed of what is named there.
    """

    records: Table
    hidden: Collection[str]
    classes: Callable[[], Sequence[Label]]
    closed: bool
    labels: Callable[[str], Mapping[int, Label]]
    say: Callable[[str], object]
    given: Mapping[int, Label] = field(default_factory=dict)
    folder: Path | None = None
    permissions: Permissions = field(default_factory=Permissions)


OracleKind: TypeAlias = Callable[[str, OracleOptions], Callable[[OracleContext], Oracle]]
"""Called with what was said after the name, `--oracle name=argument`, before any work is done: it raises a
ParameterError for what cannot be, and returns a function that makes the oracle once the campaign is there."""

ORACLES: Registry[OracleKind] = Registry("oracle", "bela.oracles", package="bela.oracles.kinds")
"""The oracles by name."""
