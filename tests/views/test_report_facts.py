"""What people are shown needs no server: a report is written without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bela.campaign import create_campaign

WITHOUT_A_SERVER = """
import sys
from bela.cli import main
status = main(["report", "pets.bela"])
loaded = [name for name in ("fastapi", "starlette", "uvicorn", "matplotlib") if name in sys.modules]
sys.exit(f"status {status}, loaded {loaded}" if status or loaded else 0)
"""


def test_a_report_needs_no_web_server(tmp_path: Path) -> None:
    """Neither the server nor the library that draws figures is imported."""
    rows = "".join(f"{i},{i % 2 + i / 100}\n" for i in range(30))
    (tmp_path / "pets.csv").write_text(f"name,weight\n{rows}", encoding="utf-8")
    with create_campaign(tmp_path / "pets.csv", tmp_path / "pets.bela") as stored:
        for question in stored.campaign.ask(4):
            stored.campaign.tell(question.id, ("cat", "dog")[question.row % 2])
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_SERVER], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "<h1" in (tmp_path / "pets-report.html").read_text(encoding="utf-8")
