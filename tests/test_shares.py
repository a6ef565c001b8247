"""Bounds as people see them: never better than they are, wherever they are shown."""

import json
import math
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import bela
from bela.shares import round_bound, share_text

SOURCE = Path(bela.__file__).parent
EDGES = [
    0.0, 1e-9, 0.0004, 0.00049999, 0.05, 0.07, 0.29, 0.57, 0.58, 0.9495, 0.94999, 0.9499999999999, 0.95, 0.9509,
    0.98999, 0.98999999999, 0.99, 0.990049, 0.99949, 0.9995, 0.99959, 0.999999, 0.9999999999, math.nextafter(1, 0), 1.0,
]  # fmt: skip
SHARES = [*EDGES, *(k / 1000 for k in range(1001)), *np.random.default_rng(0).random(2000).tolist()]


@pytest.mark.parametrize("digits", [0, 1, 2, 5])
def test_bounds_are_never_shown_better_than_they_are(digits):
    """A lower bound is rounded down and an upper one up, by less than a step, and not at all where it is written so."""
    step = Decimal(10) ** -digits
    for share in SHARES:
        exact = Decimal(repr(share))
        low, high = round_bound(share, digits), round_bound(share, digits, up=True)
        assert exact - step < low <= exact <= high < exact + step
        if exact == round(exact, digits):
            assert low == high == exact


def test_rounding_to_the_nearest_would_be_seen():
    """The shares above are such that the usual formats get some of them wrong."""
    assert any(Decimal(f"{share:.1%}".rstrip("%")) > 100 * Decimal(repr(share)) for share in SHARES)
    assert any(Decimal(f"{share:.5f}") > Decimal(repr(share)) for share in SHARES)
    assert any(math.floor(share * 1000 + 1e-7) / 1000 > share for share in SHARES)


def test_the_page_shows_what_the_server_does():
    """The page's own function comes to the same text for every share."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to run the page's functions with")
    script = (
        f"import {{ percentFloor, percentCeil }} from '{(SOURCE / 'web/static/js/format.js').as_uri()}';"
        f"const shares = {json.dumps(SHARES)};"
        "console.log(JSON.stringify(shares.map((share) => [percentFloor(share), percentCeil(share)])));"
    )
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    shown = [[text.replace("\u00a0", " ") for text in pair] for pair in json.loads(done.stdout)]
    assert shown == [[share_text(share), share_text(share, up=True)] for share in SHARES]


ROUNDED = re.compile(
    r"""(?:lower|upper|bound|certif|printed)[\w.\[\]()"' ]*(?::[,.]*\.?\d*[f%g]\}|\s*\*\s*100\)?\.to(?:Fix|Prec))"""
    r"""|(?:lower|certif)[\w.]*\s*\|\s*(?:percent_1|round)|round\([\w.]*(?:lower|certif)|percent\((?:\w+\.)*lower"""
)


def test_no_bound_is_formatted_by_hand():
    """Wherever a bound becomes a text, `bela.shares` or the page's one function makes it."""
    files = [path for ending in ("py", "js", "html") for path in SOURCE.rglob(f"*.{ending}")]
    lines = [(path.name, line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    # Places on a chart are no numbers that anybody reads, and examples in docstrings are of all digits.
    found = [(name, line.strip()) for name, line in lines if ROUNDED.search(line) and "_y(" not in line]
    assert [line for _, line in found if not line.startswith(">>>")] == []
    for broken in (
        'f"{point.lower:.5f}"',
        'f"at least {certificate.lower:.1%}"',
        'setAttribute("aria-valuenow", (lower * 100).toFixed(1));',
        "{{ leaf.lower | percent_1 }}",
        "round(found.lower, 3)",
        "percent(leaf.lower)",
    ):
        assert ROUNDED.search(broken), broken
