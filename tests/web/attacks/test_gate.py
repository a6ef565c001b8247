"""Who may talk to the server: host, origin, token, and what a browser may do with what it gets."""

from __future__ import annotations

import inspect
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.web.conftest import team_of_ann

from bela.cli.label import label as label_command
from bela.cli.serve import serve as serve_command
from bela.errors import ParameterError
from bela.web import LabelService, create_app, serve
from bela.web._serve import _listen


def kind(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["kind"]


@pytest.mark.parametrize(
    "path", ["/", "/static/index.html", "/api/state", "/api/events", "/api/openapi.json", "/static/js/linechart.js"]
)
def test_nothing_without_the_token(stranger: Any, path: str) -> None:
    """Page, files and data alike."""
    assert kind(stranger.get(path)) == (401, "token")
    assert kind(stranger.get(f"{path}?token=wrong")) == (401, "token")
    assert kind(stranger.get(path, headers={"Authorization": "Bearer wrong"})) == (401, "token")
    assert kind(stranger.get(path, headers={"Cookie": "bela-00000000=wrong"})) == (401, "token")


def test_a_browser_without_the_token_is_told_how_to_get_in(stranger: Any) -> None:
    """Words, and no JSON; no script, nothing of the campaign, and still no way in."""
    response = stranger.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (response.status_code, response.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "bela serve" in response.text
    assert stranger.token not in response.text
    assert "script" not in response.text + response.headers["content-security-policy"]
    assert response.headers["x-frame-options"] == "DENY"
    assert kind(stranger.get("/api/state", headers={"Accept": "text/html"})) == (401, "token")


def test_the_token_becomes_a_cookie(stranger: Any) -> None:
    """It leaves the address at once, no script can read it, and no other site can send it."""
    address, by_hand = f"/?token={stranger.token}", {"Sec-Fetch-Site": "none"}
    response = stranger.get(address, follow_redirects=False, headers=by_hand)
    assert response.status_code == 303
    assert response.headers["location"] == "/"
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/api/state").status_code == 200  # by the cookie that the client keeps
    stranger.http.cookies.clear()
    assert kind(stranger.http.post(f"/?token={stranger.token}")) == (401, "token")
    assert kind(stranger.get(f"/api/state?token={stranger.token}")) == (401, "token")


def test_how_long_a_look_takes_says_nothing_of_tokens(stranger: Any) -> None:
    """They are looked up by digests, of which nobody can choose the first bytes; whatever is sent."""
    tokens = [member.token.encode() for member in stranger.team.members]
    assert all(len(key) == 32 and key not in tokens for key in stranger.team._by_token)
    for sent in ("x", "ü" * 10, "wrong" * 30, stranger.token[:-1], f"{stranger.token} "):
        assert stranger.get("/", params={"token": sent}).status_code == 401


def test_without_a_token_the_machine_itself_may_come_in(make_page: Callable[..., Any]) -> None:
    """`--no-token`; but never where others can reach the server."""
    page = make_page(token=None)
    assert page.get("/api/state").status_code == 200
    with pytest.raises(ParameterError, match="token"):
        serve(page.service.stored, host="0.0.0.0", token=False)  # noqa: S104 - that is what is refused


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "",
        "localhost@evil.example",
        "127.0.0.1.nip.io",
        "192.168.0.7",
    ],
)
def test_other_names_are_refused(looker: Any, host: str) -> None:
    """A site that points its name to this machine reads nothing, token or not."""
    assert kind(looker.get("/api/state", headers={"Host": host})) == (403, "host")


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "LOCALHOST", "127.0.0.1:1", "[::1]:8765"])
def test_own_names_are_known(looker: Any, host: str) -> None:
    """With and without a port."""
    assert looker.get("/api/state", headers={"Host": host}).status_code == 200


def test_numbers_are_known_where_others_may_come_in(stored: Any) -> None:
    """A server on all addresses is called by them; by names only if it was told."""
    from fastapi.testclient import TestClient

    app = create_app(LabelService(stored), team=team_of_ann("t"), hosts=["*", "annotation.lab"])
    with TestClient(app, headers={"Authorization": "Bearer t"}) as client:
        for host, status in (("192.168.0.7:80", 200), ("annotation.lab", 200), ("evil.example", 403), ("*", 403)):
            assert client.get("/api/state", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "file://localhost"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_changes_come_from_our_own_page(looker: Any, headers: dict[str, str]) -> None:
    """No other site can answer, even with a browser that has the cookie; before anything is read."""
    assert kind(looker.http.post("/api/undo", json={}, headers=headers)) == (403, "origin")
    assert kind(looker.put("/api/guidelines", json={"markdown": "x"}, headers=headers)) == (403, "origin")


def test_our_own_page_may_change_things(looker: Any) -> None:
    """With the headers that a browser sends."""
    for headers in ({"Origin": "http://localhost"}, {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}):
        response = looker.http.post("/api/lease", json={}, headers=headers)
        assert response.status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/nothing", "/static/nothing", "/api/rows/0"])
def test_every_answer_has_the_headers(looker: Any, path: str) -> None:
    """Errors too."""
    headers = looker.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    if path.startswith("/api"):
        assert headers["cache-control"] == "no-store"


def test_the_policy_holds_for_those_who_are_refused(stranger: Any) -> None:
    """The gate's own answers have the headers as well."""
    assert "content-security-policy" in stranger.get("/").headers
    assert "content-security-policy" in stranger.get("/", headers={"Host": "evil.example"}).headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../_app.py",
        "/static/%2e%2e/_app.py",
        "/static/..%2f_app.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/",
        "/static/js",
        "/api/exports/..%2fcampaign.toml",
        "/api/exports/%2e%2e%2fjournal.sqlite",
        "/api/exports/..",
        "/api/exports/.hidden",
        "/vendor/../../pyproject.toml",
    ],
)
def test_addresses_lead_nowhere_else(page: Any, path: str) -> None:
    """Only files of the page and exports have addresses."""
    (page.service.stored.path / "exports").mkdir(exist_ok=True)
    (page.service.stored.path / "exports" / ".hidden").write_text("x")
    (page.service.stored.path / "exports" / "link.csv").symlink_to(page.service.stored.path / "campaign.toml")
    assert page.get(path).status_code == 404
    assert page.get("/api/exports/link.csv").status_code == 404


def test_large_bodies_are_refused(looker: Any) -> None:
    """By the length that is announced, and by what comes in if that is a lie."""
    large = b'{"tab": "' + b"x" * (1 << 20) + b'"}'
    headers = {"Content-Type": "application/json"}
    assert kind(looker.http.post("/api/undo", content=large, headers=headers)) == (413, "size")
    pieces = (large[i : i + 65536] for i in range(0, len(large), 65536))  # sent in chunks, without a length
    assert kind(looker.http.post("/api/undo", content=pieces, headers=headers)) == (413, "size")
    response = looker.http.post("/api/undo", content=b"{}", headers={**headers, "Content-Length": "x"})
    assert response.status_code == 400


def test_names_and_texts_come_as_json_only(page: Any) -> None:
    """Nothing of the data is ever sent as a type that a browser would run."""
    page.post("/api/flags", by="<script>", row=3, comment="<img src=x onerror=alert(1)>")
    response = page.http.post("/api/rows/find", json={"flagged": True})
    assert response.headers["content-type"] == "application/json"
    assert response.json()["rows"][0]["flags"][0]["by"] == "<script>"
    page.put(
        "/api/guidelines", json={"markdown": "<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](http://e/z)"}
    )
    html = page.get("/api/guidelines").json()["html"]
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert "<img" not in html


def test_nothing_is_unpickled() -> None:
    """No module of the page knows how."""
    from pathlib import Path

    import bela.views
    import bela.web

    folders = [Path(str(package.__file__)).parent for package in (bela.web, bela.views)]
    for path in [path for folder in folders for path in folder.glob("*.py")]:
        text = path.read_text()
        assert "pickle" not in text.replace("allow_pickle=False", "")
        assert "eval(" not in text


def test_only_this_machine_is_served_unless_told_otherwise() -> None:
    """By default the server listens on the loopback address alone, and so do the commands that start it."""
    default = inspect.signature(serve).parameters["host"].default
    commands = (label_command, serve_command)
    options = [inspect.signature(one).parameters["host"].default for one in commands]  # as typer keeps them, or plain
    assert {default, *(getattr(option, "default", option) for option in options)} == {"127.0.0.1"}
    with _listen(default, 0) as listener:
        address, port = listener.getsockname()
        assert address == "127.0.0.1"
        with socket.create_connection((address, port), timeout=5):
            pass
        if sys.platform == "linux":  # where all of 127.0.0.0/8 is this machine, by other addresses
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", port), timeout=5)


def test_every_error_has_the_one_shape(looker: Any) -> None:
    """Whatever goes wrong, and wherever: no such address or method, a body that is none, or too much of it."""
    wrong = [
        looker.get("/nowhere"),
        looker.get("/api/nowhere"),
        looker.get("/static/nowhere.js"),
        looker.get("/api/rows/99999"),
        looker.get("/api/rows/x"),
        looker.get("/api/rows/0/images/nowhere"),
        looker.get("/api/exports/nowhere.csv"),
        looker.get("/api/report"),
        looker.put("/api/lease", json={}),
        looker.http.post("/api/lease", content=b"{", headers={"Content-Type": "application/json"}),
        looker.http.post("/api/lease", content=b"n=1", headers={"Content-Type": "text/plain"}),
        looker.http.post("/api/lease", json={"tab": "x" * 61, "n": 1}),
        looker.http.post("/api/answers", content=b" " * (2 << 20)),
        looker.get("/api/state", headers={"Host": "evil.example"}),
    ]
    for response in wrong:
        assert 400 <= response.status_code < 500, response.request.url
        assert set(response.json()) == {"error"}
        assert set(response.json()["error"]) == {"kind", "message"}
