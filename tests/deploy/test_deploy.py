"""What deploy/ says: looked through as a linter would, and done, without Docker but by the same commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bela.campaign import Team, create_campaign

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
PINNED = re.compile(r"[\w./-]+:(\d+\.\d+\.\d+[\w.-]*|[\w.-]+@sha256:[0-9a-f]{64})")
SECRETS = re.compile(r"(?i)(secret|token|password|passwd|api_?key)\w*\s*[=:]\s*[^\s$]")
SECRET = "what-only-the-proxy-knows"  # noqa: S105 - for tests


class Line(NamedTuple):
    """An instruction of a Dockerfile, and what it is given."""

    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        """What it is given, as a list."""
        found = re.search(r"\[.*\]$", self.rest)
        return json.loads(found[0]) if found else shlex.split(self.rest)


def dockerfile() -> list[Line]:
    """Return the instructions of the Dockerfile."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text())
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [Line(*line.split(maxsplit=1)) for line in lines if line.strip()]


def all_of(name: str) -> list[Line]:
    """Return the instructions of a name."""
    return [line for line in dockerfile() if line.name == name]


def compose() -> dict[str, Any]:
    """Return what compose.yml says."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    return found


def test_the_image_is_as_it_should_be() -> None:
    """Pinned, for a user without rights, healthy by /healthz, with nothing fetched but from where packages are."""
    assert all(PINNED.fullmatch(line.words[0]) for line in all_of("FROM"))
    assert [line.words for line in all_of("USER")] == [["10001:10001"]]
    after = dockerfile()[dockerfile().index(all_of("USER")[0]) :]
    assert not any(line.name in ("RUN", "COPY", "ADD") for line in after)
    assert all_of("ADD") == []
    [health] = all_of("HEALTHCHECK")
    [port] = all_of("EXPOSE")
    assert f"http://127.0.0.1:{port.rest}/healthz" in health.rest
    [command] = all_of("CMD")
    assert command.words[command.words.index("--port") + 1] == port.rest
    assert "--no-token" not in command.words
    assert {"/data", "/config"} <= set(all_of("VOLUME")[0].words)
    assert "BELA_CONFIG=/config" in " ".join(line.rest for line in all_of("ENV"))


def test_nothing_secret_is_in_it() -> None:
    """Neither in a file of deploy/, nor by way of what is copied: only what is allowed goes into the image."""
    for file in DEPLOY.iterdir():
        assert not SECRETS.search(file.read_text()), file.name
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert "*" in ignored
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {word for line in all_of("COPY") if "--from" not in line.rest for word in line.words[:-1]}
    assert {word.removeprefix("./") for word in copied} == allowed
    assert all((ROOT / name).exists() for name in allowed)


def test_only_the_proxy_can_be_reached() -> None:
    """It has the ports; the server has none, no rights, a file system that it cannot write to, and knows its name."""
    services = compose()["services"]
    bela, proxy = services["bela"], services["proxy"]
    assert "ports" not in bela
    assert bela["read_only"] is True
    assert bela["cap_drop"] == ["ALL"]
    assert compose()["networks"]["inside"]["internal"] is True
    assert bela["networks"] == ["inside"]
    assert PINNED.fullmatch(proxy["image"])
    assert proxy["depends_on"]["bela"]["condition"] == "service_healthy"
    named = set(re.findall(r"\$\{(\w+)", json.dumps(compose())))
    given = set(re.findall(r"(?m)^(\w+)=", (DEPLOY / "example.env").read_text()))
    assert named == given
    caddy = (DEPLOY / "Caddyfile").read_text()
    [port] = all_of("EXPOSE")
    assert f"reverse_proxy bela:{port.rest}" in caddy
    assert caddy.count("{") == caddy.count("}")
    assert re.findall(r"\{\$(\w+)\}", caddy) == list(proxy["environment"])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image has in /opt/bela: files copied and commands run as the Dockerfile says, without a network."""
    place = tmp_path_factory.mktemp("image")
    for line in all_of("COPY"):
        if "--from" not in line.rest:
            for word in line.words[:-1]:
                target = place / "src" / (line.words[-1] if word == "src" else word)
                copy = shutil.copytree if (ROOT / word).is_dir() else shutil.copy
                target.parent.mkdir(exist_ok=True)
                copy(ROOT / word, target)
    [run] = [line.rest for line in all_of("RUN") if "pip install" in line.rest]
    run = run.replace("/opt/bela", str(place / "bela")).replace("python -m venv", f"{sys.executable} -m venv")
    # Packages are those of the tests: what is tried here is the way to install, not what an index has today.
    env = {**os.environ, "PYTHONPATH": sysconfig.get_paths()["purelib"], "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    env |= {"PIP_NO_BUILD_ISOLATION": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        ["/bin/sh", "-c", run], cwd=place / "src", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "bela"


class Running(NamedTuple):
    """The server as the image starts it, and the proxy before it."""

    server: str
    proxy: str
    team: Team
    folder: Path


@pytest.fixture(scope="module")
def running(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run ENTRYPOINT and CMD, with a free port and the loopback address, behind a proxy that gives names."""
    data = tmp_path_factory.mktemp("data")
    (data / "pets.csv").write_text("".join(["a,b\n", *(f"{i % 2 * 9 + i / 100},{i % 7}\n" for i in range(60))]))
    create_campaign(data / "pets.csv", data / "campaign.bela", classes=["cat", "dog"]).close()
    (data / "secret").write_text(SECRET)
    [entry], [command] = all_of("ENTRYPOINT"), all_of("CMD")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    places = {"/data/campaign.bela": str(data / "campaign.bela"), "0.0.0.0": "127.0.0.1", "8765": port}  # noqa: S104
    said = [places.get(word, word) for word in (*entry.words, *command.words)]
    more = ["--root-path", "/lab", "--name", "label.example.org", "--proxy-header", "Remote-User"]
    more += ["--proxy", "127.0.0.1", "--proxy-secret", str(data / "secret")]
    env = {**os.environ, "PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}
    env["PYTHONPATH"] = sysconfig.get_paths()["purelib"]
    program = shutil.which(said[0], path=env["PATH"])
    assert program is not None
    server = subprocess.Popen([program, *said[1:], *more], env=env, stdout=subprocess.PIPE, text=True)
    proxy = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("proxy.py")), port, SECRET], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert proxy.stdout is not None
        assert any("The labelling page is at" in line for line in server.stdout)
        listens = int(proxy.stdout.readline())
        team = Team.of(data / "campaign.bela")
        yield Running(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{listens}/lab", team, data / "campaign.bela")
    finally:
        for process in (proxy, server):
            process.terminate()
            process.communicate(timeout=60)


def ask(address: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """Send a request, and return the status and what came back."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - our own server
        address, content, {"Host": "label.example.org", "Content-Type": "application/json", **named}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            text = answer.readline() if "events" in address else answer.read()
            return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text.decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_health_check_of_the_image(running: Running) -> None:
    """The command that Docker runs ends well while the server is there, and not when nobody is."""
    [health] = all_of("HEALTHCHECK")
    port = running.server.rpartition(":")[2]
    for at, status in ((port, 0), ("9", 1)):
        words = [word.replace("8765", at) for word in health.words]
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, check=False)
        assert done.returncode == status, done.stderr


def test_somebody_answers_through_the_proxy(running: Running) -> None:
    """By the name that they logged in with, below the path: page, files, a question, an answer, the news."""
    ben = {"X_Login": "Ben"}
    status, page = ask(f"{running.proxy}/", **ben)
    assert (status, "<title>BELA</title>" in page) == (200, True)
    assert ask(f"{running.proxy}/static/js/main.js", **ben)[0] == 200
    me = ask(f"{running.proxy}/api/me", **ben)[1]
    assert (me["name"], me["role"]) == ("Ben", "annotator")
    assert ask(f"{running.proxy}/api/events", **ben) == (200, "event: state\n")
    questions: list[Any] = []
    while not questions:  # the first are being chosen
        questions = ask(f"{running.proxy}/api/lease", {"n": 1}, Origin="https://label.example.org", **ben)[1][
            "questions"
        ]
    answers = {"answers": [{"question": questions[0]["id"], "label": "cat"}]}
    assert ask(f"{running.proxy}/api/answers", answers, **ben)[1]["accepted"] == [questions[0]["id"]]
    assert ask(f"{running.proxy}/api/leaves", **ben)[0] == 403
    assert ask(f"{running.proxy}/api/answers", answers, Origin="https://evil.example", **ben)[0] == 403


def test_nobody_gives_themselves_a_name(running: Running) -> None:
    """Neither through the proxy, which leaves out what it is sent, nor past it; a link is as good as ever."""
    forged = {"Remote_User": "Ben", "X_Bela_Proxy_Secret": "a-guess-that-is-wrong"}
    assert ask(f"{running.proxy}/api/me", **forged)[0] == 401
    assert ask(f"{running.server}/lab/api/me", **forged)[0] == 401
    assert ask(f"{running.proxy}/api/me", X_Login="Cid", **forged)[1]["name"] == "Cid"
    ann = running.team.add("Ann", is_owner=True)
    assert ask(f"{running.proxy}/api/team", Authorization=f"Bearer {ann.token}")[0] == 200
    running.team.revoke("Ann")
    assert ask(f"{running.proxy}/api/team", Authorization=f"Bearer {ann.token}")[0] == 401
    assert ask(f"{running.proxy}/healthz") == (200, "ok\n")
