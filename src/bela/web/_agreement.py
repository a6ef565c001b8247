"""How far people agree: Cohen's and Fleiss' kappa, Krippendorff's alpha, for labels without order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from bela.campaign import Opinions
from bela.web._people import NOBODY

_MOST_PEOPLE = 30  # whose pairs are compared

Ratings = Mapping[Any, Hashable]
"""What people said about one thing: person to label."""


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return the agreement of two people beyond chance; None where chance cannot be told from agreement.

    Examples
    --------
    >>> round(cohen_kappa([("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15), 3)
    0.4
    """
    n = len(pairs)
    if not n:
        return None
    observed = sum(one == other for one, other in pairs) / n
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(first[label] * second[label] for label in first) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def fleiss_kappa(items: Iterable[Ratings]) -> float | None:
    """Return the agreement of several people beyond chance, on the things that most often so many spoke about.

    Fleiss' kappa takes the same number of opinions for each thing: those with another number are left out.
    """
    rated = [Counter(item.values()) for item in items if len(item) > 1]
    if not rated:
        return None
    numbers = Counter(counts.total() for counts in rated)
    m = max(numbers, key=lambda number: (numbers[number], number))
    rated = [counts for counts in rated if counts.total() == m]
    observed = sum(sum(k * (k - 1) for k in counts.values()) / (m * (m - 1)) for counts in rated) / len(rated)
    totals: Counter[Hashable] = Counter()
    for counts in rated:
        totals.update(counts)
    n = totals.total()
    expected = sum((k / n) ** 2 for k in totals.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(items: Iterable[Ratings]) -> float | None:
    """Return Krippendorff's alpha for labels without order: any number of people, and not all need speak.

    Examples
    --------
    >>> items = [{"A": 1, "B": 1}, {"A": 1, "B": 2}, {"A": 2, "B": 2, "C": 2}, {"A": 3}]
    >>> round(krippendorff_alpha(items), 3)
    0.5
    """
    totals: dict[Hashable, float] = {}
    disagreement = 0.0
    for item in items:
        counts = Counter(item.values())
        m = counts.total()
        if m < 2:
            continue
        disagreement += (m**2 - sum(k * k for k in counts.values())) / (m - 1)
        for label, k in counts.items():
            totals[label] = totals.get(label, 0.0) + k
    n = sum(totals.values())
    expected = (n**2 - sum(k * k for k in totals.values())) / (n - 1) if n > 1 else 0.0
    return None if expected == 0 else 1 - disagreement / expected


def agreement_of(shared: Sequence[Opinions]) -> dict[str, Any]:
    """Return how far people agree, each pair and all together, on what they said at first."""
    items = [{by or NOBODY: label for by, label in found.said.items()} for found in shared]
    names = sorted({name for item in items for name in item})[:_MOST_PEOPLE]
    pairs = []
    for one, other in combinations(names, 2):
        said = [(item[one], item[other]) for item in items if one in item and other in item]
        if said:
            same = sum(first == second for first, second in said)
            pairs.append(
                {"people": [one, other], "n": len(said), "agreement": same / len(said), "cohen": cohen_kappa(said)}
            )
    return {
        "cohen": pairs[0]["cohen"] if len(pairs) == 1 else None,
        "n_shared": len(items),
        "n_differ": sum(found.differ for found in shared),
        "pairs": pairs,
        "fleiss": fleiss_kappa(items),
        "krippendorff": krippendorff_alpha(items),
    }
