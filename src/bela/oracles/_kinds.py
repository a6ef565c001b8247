"""The oracles that can be chosen by name, and what they are made from."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bela._registry import Registry
from bela.errors import ParameterError
from bela.protocols import Oracle, Table
from bela.records import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleOptions:
    """What `bela run` was told about an oracle besides which it is; None where nothing was said."""

    batch: int | None = None
    timeout: float | None = None
    retries: int | None = None
    keep_running: bool = False

    def __post_init__(self) -> None:
        if self.batch is not None and self.batch < 1:
            raise ParameterError(f"--batch is a number of questions from 1 on, not {self.batch}")

    def check_only_batch(self) -> None:
        """Refuse whatever is meant for a command."""
        given = {"timeout": self.timeout, "retries": self.retries, "keep-running": self.keep_running or None}
        for option, value in given.items():
            if value is not None:
                raise ParameterError(f"--{option} is for --oracle-cmd: leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleContext:
    """What an oracle may know of the campaign that it answers for.

    It must not see the `hidden` columns, such as the one that holds the labels. `classes` gives those known so far; all
    that may be answered if they are `closed`. `labels` gives the labels by row of a column or file that has some;
    without a name, those of the dataset. `say` is called with each sentence that the user should read meanwhile.
    """

    records: Table
    hidden: Collection[str]
    classes: Callable[[], Sequence[Label]]
    closed: bool
    labels: Callable[[str], Mapping[int, Label]]
    say: Callable[[str], object]


OracleKind: TypeAlias = Callable[[str, OracleOptions], Callable[[OracleContext], Oracle]]
"""Called with what was said after the name, `--oracle name=argument`, before any work is done: it raises a
ParameterError for what cannot be, and returns a function that makes the oracle once the campaign is there."""

ORACLES: Registry[OracleKind] = Registry("oracle", "bela.oracles", package="bela.oracles.kinds")
"""The oracles by name."""
