"""How the page is opened: the token is in nobody's command line, and becomes a cookie all the same."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def test_a_file_leads_the_browser_in(browser, digits_file: Path, tmp_path: Path) -> None:
    """The browser that is started gets a file that only its owner can read, and comes to the page by it."""
    if sys.platform != "linux":
        pytest.skip("the command of the browser is that of Linux")
    seen = tmp_path / "seen.json"
    program = tmp_path / "look"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\nwith open('{seen}.part', 'w') as file:\n"
        f"    json.dump(sys.argv[1:], file)\nos.rename('{seen}.part', {str(seen)!r})\n"
    )
    program.chmod(0o700)
    command = [sys.executable, "-m", "bela", "label", str(digits_file), "--hide", "digit", "--port", "0",
               "--campaign", str(tmp_path / "digits.bela"), "--method", "random"]  # fmt: skip
    env = os.environ | {"BROWSER": str(program), "DISPLAY": ":9"}
    log = tmp_path / "log"
    with log.open("wb") as said:
        server = subprocess.Popen(command, env=env, stdout=said, stderr=said)
    try:
        end = time.monotonic() + 60
        while not (seen.exists() and "token=" in log.read_text()) and time.monotonic() < end and server.poll() is None:
            time.sleep(0.05)
        (address,) = json.loads(seen.read_text())
        token = re.findall(r"\?token=([\w-]+)\n", log.read_text())[0]
        assert token not in address
        file = Path(address.removeprefix("file://"))
        assert file.stat().st_mode & 0o777 == 0o600
        assert token not in file.read_text()  # which may be copied with the campaign, or left behind
        page = browser.new_context().new_page()
        page.goto(address, wait_until="commit")  # it goes on at once, perhaps before all of it is there
        page.wait_for_function("() => location.search === '' && document.querySelector('h1')", timeout=60_000)
        assert token not in page.url
        page.close()
        again = browser.new_context().new_page()  # what is in the file was good for once
        again.goto(address, wait_until="commit")
        again.get_by_role("heading", name="This page needs its token").wait_for(timeout=60_000)
        again.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    assert not file.exists()
