"""Things chosen by name: what comes with bela, and what other packages add through their entry points."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from bela._functions import said
from bela.errors import ParameterError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """The things of one `kind` ("method") by their names.

    An entry is the thing itself, or "module:attribute", which is imported when it is chosen. Those that come with bela
    are in `entries`, or are added by the modules of a `package`, which are imported when any is asked for. Another
    package adds one in its pyproject.toml, by an entry point of the `group`: `theirs = "their_package:TheirExport"`
    under `[project.entry-points."bela.exports"]`. It cannot replace one of bela's: the same name is never looked at.

    >>> shapes = Registry[type]("shape", "bela.shapes", {"fraction": "fractions:Fraction"})
    >>> @shapes.register("round")
    ... class Round: ...
    >>> shapes.names
    ('fraction', 'round')
    >>> shapes["fraction"]
    <class 'fractions.Fraction'>
    """

    def __init__(
        self, kind: str, group: str, entries: Mapping[str, T | str] | None = None, *, package: str | None = None
    ) -> None:
        self.kind, self.group = kind, group
        self._entries: dict[str, T | str] = dict(entries or {})
        self._package = package
        self._loaded: dict[str, T] = {}

    def add(self, name: str, entry: T | str) -> None:
        """Add an entry: a thing, or "module:attribute"."""
        if name in self._entries:
            raise ParameterError(f"there is a {self.kind} {name!r} already: choose another name")
        self._entries[name] = entry

    def register(self, name: str) -> Callable[[T], T]:
        """Add what is decorated."""

        def decorate(entry: T) -> T:
            self.add(name, entry)
            return entry

        return decorate

    @property
    def names(self) -> tuple[str, ...]:
        """All names: first those of bela, in their order, then those of other packages, sorted."""
        return (*self._own, *sorted(self._outside.keys() - self._entries.keys()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._outside

    def __getitem__(self, name: str) -> T:
        """Return what has this name, imported if need be."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        if name in self._own:
            entry = self._own[name]
            return cast(T, pkgutil.resolve_name(entry)) if isinstance(entry, str) else entry
        if name not in self._outside:
            raise ParameterError(f"there is no {self.kind} {name!r}: choose one of {', '.join(self.names)}")
        points = self._outside[name]
        packages = " and ".join(repr(point.dist.name if point.dist else point.module) for point in points)
        if len({point.value for point in points}) > 1:
            raise ParameterError(f"the packages {packages} each add a {self.kind} {name!r}: uninstall all but one")
        try:
            return cast(T, points[0].load())
        except (Exception, SystemExit) as error:
            what = f"the {self.kind} {name!r} of the package {packages} cannot be loaded: {said(error)}"
            raise ParameterError(f"{what}; update or uninstall that package") from error

    @property
    def _own(self) -> dict[str, T | str]:
        """What comes with bela, by name."""
        if self._package is not None:
            path = importlib.import_module(self._package).__path__
            for module in pkgutil.iter_modules(path, f"{self._package}."):
                importlib.import_module(module.name)
            self._package = None  # they have added theirs
        return self._entries

    @functools.cached_property
    def _outside(self) -> dict[str, list[EntryPoint]]:
        """What other packages add, by name; not imported yet."""
        from importlib.metadata import entry_points  # takes a while: only where a name is not one of bela's own

        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, []).append(point)
        return found
