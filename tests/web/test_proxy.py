"""Behind a proxy: names that it gives, by those who may; a path that all is below; and whether the server is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.web.conftest import team_of_ann

from bela.errors import ParameterError
from bela.web import LabelService, create_app, serve, trust_proxy

SECRET = "a-secret-of-the-proxy"  # noqa: S105 - for tests


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    """A file with the secret."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    return file


@pytest.fixture
def behind(stored: Any, secret_file: Path) -> Callable[..., TestClient]:
    """Return a function that makes a client, which comes from some address."""

    def make(addresses: tuple[str, ...] = (), *, secret: bool = True, client: str = "10.1.2.3") -> TestClient:
        proxy = trust_proxy("Remote-User", addresses, secret_file if secret else None)
        app = create_app(LabelService(stored, team=True), team=team_of_ann("t"), proxy=proxy)
        return TestClient(app, base_url="http://localhost", client=(client, 1234))

    return make


def name_of(client: TestClient, **headers: str) -> str | int:
    """Return who somebody is, or the status."""
    found = client.get(
        "/api/me", headers=[(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    )
    return found.json()["name"] if found.status_code == 200 else found.status_code


def test_the_proxy_gives_names(behind: Callable[..., Any]) -> None:
    """To annotators, unless the owner has said otherwise; whoever was revoked stays out."""
    client = behind()
    ben = {"remote_user": "Ben", "x_bela_proxy_secret": SECRET}
    assert name_of(client, **ben) == "Ben"
    assert client.get("/api/leaves", headers={"Remote-User": "Ben", "X-Bela-Proxy-Secret": SECRET}).status_code == 403
    team = client.app.state.team
    team.set_role("Ben", is_owner=True)
    assert client.get("/api/leaves", headers={"Remote-User": "Ben", "X-Bela-Proxy-Secret": SECRET}).status_code == 200
    team.revoke("Ben")
    assert name_of(client, **ben) == 403
    assert name_of(client, remote_user="Zoë", x_bela_proxy_secret=SECRET) == "Zoë"
    assert name_of(client, remote_user="Ann", x_bela_proxy_secret=SECRET) == 403  # the owner comes in by a link
    assert name_of(client, remote_user=" \x7f", x_bela_proxy_secret=SECRET) == 403
    assert name_of(client, authorization="Bearer t", x_bela_proxy_secret=SECRET) == "Ann"
    twice = [("Remote-User", "Ben"), ("Remote-User", "Cid"), ("X-Bela-Proxy-Secret", SECRET)]
    assert client.get("/api/me", headers=twice).status_code == 403


@pytest.mark.parametrize("secret", ["", "wrong", SECRET[:-1], f"{SECRET}x", "ü"])
def test_nobody_else_gives_names(behind: Callable[..., Any], secret: str) -> None:
    """Without the secret, or from another address, a header says nothing, whatever else is claimed."""
    forged = {"remote_user": "Ben", "x_bela_proxy_secret": secret}
    assert name_of(behind(), **forged, x_forwarded_for="10.1.2.3") == 401
    assert name_of(behind(), **forged, authorization="Bearer t") == "Ann"
    assert behind().app.state.team.named("Ben") is None
    elsewhere = behind(("10.1.2.0/24",), client="10.9.9.9")
    right = {"remote_user": "Ben", "x_bela_proxy_secret": SECRET}
    assert name_of(elsewhere, **right, x_forwarded_for="10.1.2.3", forwarded="for=10.1.2.3") == 401
    assert name_of(behind(("10.1.2.0/24",)), **right) == "Ben"
    assert name_of(behind(("10.1.2.0/24",), secret=False, client="::ffff:10.1.2.3"), remote_user="Ben") == "Ben"
    assert name_of(behind(("10.1.2.0/24",), secret=False, client="testclient"), remote_user="Ben") == 401


@pytest.mark.parametrize(
    ("header", "addresses", "with_secret", "sentence"),
    [
        ("Remote-User", (), False, "anybody can send a header"),
        ("Remote-User", ("127.0.0.1",), False, "anybody on this machine"),
        ("Remote-User", ("::1",), False, "anybody on this machine"),
        ("Remote-User", ("10.0.0",), True, "an address or a network"),
        ("Remote User", (), True, "not the name of a header"),
        (None, ("10.0.0.1",), False, "in which header"),
        (None, (), True, "in which header"),
    ],
)
def test_what_is_said_of_a_proxy_makes_sense(
    header: str | None, addresses: tuple[str, ...], with_secret: bool, sentence: str, secret_file: Path
) -> None:
    """Or nothing is served."""
    with pytest.raises(ParameterError, match=sentence):
        trust_proxy(header, addresses, secret_file if with_secret else None)


def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    """Or one that is not there."""
    (tmp_path / "short").write_text("hunter2")
    for name, sentence in (("short", "16"), ("none", "cannot be read")):
        with pytest.raises(ParameterError, match=sentence):
            trust_proxy("Remote-User", (), tmp_path / name)


def test_without_tokens_there_is_no_proxy(stored: Any, secret_file: Path) -> None:
    """Everybody who comes through it would be the owner."""
    for more in ({"hosts": ["label.lab"]}, {"root_path": "/x"}, {"proxy": trust_proxy("A", (), secret_file)}):
        with pytest.raises(ParameterError, match="behind a proxy"):
            serve(stored, token=False, **more)


@pytest.mark.parametrize("root", ["x", "/a b", "/../x", "/api", "/static/x", "//x", "/x?y", '/"'])
def test_odd_paths_are_refused(stored: Any, root: str) -> None:
    """Nothing that would have to be quoted, nor what the page has itself."""
    with pytest.raises(ParameterError, match="--root-path"):
        serve(stored, root_path=root)


@pytest.mark.parametrize("strips", [True, False])
def test_below_a_path(make_page: Callable[..., Any], strips: bool) -> None:
    """Whether the proxy takes the path off or not: page, cookie, files and data."""
    page = make_page(serving={"root_path": "/lab/pets"})
    at = "" if strips else "/lab/pets"
    page.http.headers.pop("Authorization")
    by_hand = {"Sec-Fetch-Site": "none"}
    response = page.get(f"{at}/?token={page.token}", follow_redirects=False, headers=by_hand)
    assert (response.status_code, response.headers["location"]) == (303, "/lab/pets/")
    assert all("path=/lab/pets/;" in cookie.lower() for cookie in response.headers.get_list("set-cookie"))
    led = page.get(f"{at}/?token={page.token}", headers={"Sec-Fetch-Site": "cross-site"})
    assert 'href="/lab/pets/"' in led.text
    page.http.cookies.clear()
    known = {"Authorization": f"Bearer {page.token}"}
    assert page.get("/lab/pets", follow_redirects=False, headers=known).headers["location"] == "/lab/pets/"
    html = page.get(f"{at}/", headers=known).text
    assert 'src="/' not in html
    assert 'href="/' not in html
    for path in ("/static/js/main.js", "/api/state", "/favicon.ico"):
        assert page.get(f"{at}{path}", headers=known).status_code == 200
    assert page.get(f"{at}/api/state").status_code == 401
    assert page.get("/lab/petshop/api/state", headers=known).status_code == 404
    assert page.get(f"{at}/api/state/", follow_redirects=False, headers=known).status_code == 404


def test_cookies_are_for_https_where_that_is_used(make_page: Callable[..., Any]) -> None:
    """As the proxy says; whoever lies about it harms nobody else."""
    page = make_page(known=False)
    for scheme, is_secure in (("https", True), ("http", False)):
        response = page.get(f"/?token={page.token}", headers={"X-Forwarded-Proto": scheme})
        assert all(("secure" in cookie.lower()) is is_secure for cookie in response.headers.get_list("set-cookie"))


def test_whether_the_server_is_there(make_page: Callable[..., Any]) -> None:
    """Anybody may know that, by any name and path, and nothing else."""
    page = make_page(known=False, serving={"root_path": "/lab"})
    for path in ("/healthz", "/lab/healthz"):
        response = page.get(path, headers={"Host": "10.0.0.7:80"})
        assert (response.status_code, response.text) == (200, "ok\n")
        assert "set-cookie" not in response.headers
    assert page.http.post("/healthz").status_code == 401
    assert page.get("/healthz/x").status_code == 401
