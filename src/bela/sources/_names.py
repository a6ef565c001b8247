"""The names of columns, which must tell columns apart."""

from __future__ import annotations

from collections.abc import Sequence

from bela.errors import DataError


def check_names(where: str, names: Sequence[str]) -> None:
    """Refuse columns without a name, or two with the same.

    Examples
    --------
    >>> check_names("pets.csv", ["name", "kind", "name"])
    Traceback (most recent call last):
    ...
    bela.errors.DataError: pets.csv names a column twice: 'name' is column 1 and column 3, so give each its own name
    """
    if not names:
        raise DataError(f"{where} has no columns: each row needs at least one named value")
    seen: dict[str, int] = {}
    for i, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"{where} has no name for column {i}: give it one, or leave the column out (for an index that pandas "
                f"wrote: to_csv(index=False))"
            )
        if "\0" in name:
            raise DataError(f"{where} has a zero byte in the name of column {i}: it is no text in the encoding assumed")
        if name in seen:
            raise DataError(
                f"{where} names a column twice: {name!r} is column {seen[name]} and column {i}, so give each its own "
                f"name"
            )
        seen[name] = i
