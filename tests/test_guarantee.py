"""What a certificate is worth is said in one set of words, wherever it is said."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bela.campaign import open_campaign
from bela.cli._app import app
from bela.methods import METHODS
from bela.records import Certificate, Guarantee
from bela.shares import allowed_errors, share_text
from bela.web import LabelService

SOURCES = Path(__file__).parent.parent / "src" / "bela"


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("method", [name for name in METHODS.names if name != "audit"])  # which wants a prediction
def test_one_wording_in_terminal_page_report_and_certificate(method: str, tmp_path: Path) -> None:
    """The claim and what it is worth are those of the certificate, letter by letter."""
    table = tmp_path / "pets.csv"
    table.write_text("\n".join(["x,y,kind", *(f"{i % 2 * 9 + i / 60},{i % 7},{'ab'[i % 2]}" for i in range(60))]))
    options = ("--truth", "kind", "--method", method, "--target", 0.6, "--budget", 30)
    said = call("run", table, *options)
    folder = tmp_path / "pets.bela"
    with open_campaign(folder) as stored:
        certificate = stored.campaign.certificate
        page = LabelService(stored).status()
    claim, guarantee = certificate.claim, certificate.guarantee
    assert claim.lower().startswith(guarantee.word) or certificate.lower == 0
    assert claim in said
    assert claim in call("status", folder)
    assert (page.claim, page.worth, page.word) == (claim, guarantee.sentence, guarantee.word)
    call("export", folder, "--to", tmp_path / "out.csv")
    document = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert document["statement"].startswith(f"{claim} {guarantee.sentence}")
    assert {name: document[name] for name in ("lower", "confidence", "guarantee")} == certificate.to_json()
    call("report", folder, "--to", tmp_path / "report.html")
    report = unescape((tmp_path / "report.html").read_text())
    assert claim in report
    assert guarantee.sentence in report
    assert f"What is {guarantee.word}" in report


@pytest.mark.parametrize("guarantee", Guarantee)
def test_what_does_not_hold_is_not_called_certified(guarantee: Guarantee) -> None:
    """The word, the claim and the sentence agree on whether it is a guarantee."""
    certificate = Certificate(lower=0.9, confidence=0.95, guarantee=guarantee, n_training=1, n_bounds=1)
    assert ("Certified" in certificate.claim) == ("confidence 95 %" in certificate.claim) == guarantee.holds
    assert ("not a guarantee" in certificate.claim) == (not guarantee.holds)
    assert guarantee.sentence.endswith(".")
    assert guarantee.claim(0.0, 0.95).startswith(f"Nothing is {guarantee.word} yet")


def test_nothing_else_decides_what_a_bound_is_called() -> None:
    """No other file compares a guarantee with a string, and the page's scripts do not know any."""
    values = "|".join(Guarantee)
    compared = re.compile(rf"(guarantee|kind)\W*(==|!=|in|===|!==) *[(\[]?[\"']({values})[\"']")
    for path in [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.js")]:
        assert not compared.search(path.read_text(encoding="utf-8")), path


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_lower_bound_is_rounded_down_and_an_upper_one_up(n_rows: int, n_right: int) -> None:
    """What is shown is never better than what is known, and never worse by a tenth of a per cent."""
    share = min(n_right, n_rows) / n_rows
    down, up = (float(share_text(share, up=up).removesuffix(" %")) for up in (False, True))
    assert down - 1e-9 <= 100 * share <= up + 1e-9
    assert up - down <= 0.1 + 1e-9


@given(st.integers(1, 10**9), st.integers(0, 1000))
def test_allowed_errors_are_exact(n_rows: int, thousandths: int) -> None:
    """A target of 95 % allows five in a hundred, also where 1 - 0.95 is a little less than 0.05."""
    assert allowed_errors(n_rows, thousandths / 1000) == (1000 - thousandths) * n_rows // 1000


def test_every_test_that_the_table_of_actions_names_exists() -> None:
    """docs/guarantees.md says of each action which test shows that the certificate survives it: none is made up."""
    tests = [(file.name, file.read_text()) for file in Path(__file__).parent.rglob("*.py") if file != Path(__file__)]
    page = (SOURCES.parent.parent / "docs" / "guarantees.md").read_text()
    table = page.split("| action | why the certificate survives | test, with its broken twin |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for action, _, named in rows:
        files, words = re.findall(r"(\w+\.py)", named), re.findall(r'"([^"]+)"', named)
        assert files or words, action
        assert set(files) <= {file for file, _ in tests}, action
        for said in words:
            name = re.sub(r"\W+", "_", said)
            assert any(said in text or name in text for _, text in tests), (action, said)
