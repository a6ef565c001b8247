"""Models behind an address, against a server on this machine that misbehaves in the ways that real ones do."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from bela.data import open_table
from bela.errors import EmbeddingError, ParameterError
from bela.features import plan_features, prepare
from bela.features.embedding.doors import _openai
from bela.features.embedding.doors._openai import OpenAIDoor

pytest.importorskip("httpx2")
TEXTS = [f"text number {i}" for i in range(5)]
ROWS = [{"text": f"what is said in row {i}"} for i in range(45)]


def vectors(texts: list[str]) -> list[dict[str, object]]:
    return [{"index": i, "embedding": [float(len(text)), float(i), 1.0]} for i, text in enumerate(texts)]


class Server(ThreadingHTTPServer):
    """Answers with what is in `plan`, in turn, then as it should; `seen` has the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.together: threading.Barrier | None = None
        self.plan: list[tuple[int, dict[str, str], bytes]] = []
        self.seen: list[tuple[dict[str, str], dict[str, object]]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        if self.server.together is not None:
            self.server.together.wait()
        good = json.dumps({"data": vectors(body["input"])[::-1]}).encode()  # in any order
        status, headers, content = self.server.plan.pop(0) if self.server.plan else (200, {}, good)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    """A server for the time of a test; no keys and no addresses of the person's own."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BELA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_comes_back_is_put_in_order(server):
    """The vectors of a reply belong to the texts by their index."""
    found = OpenAIDoor().load(f"m@{server.address}", "text")(TEXTS)
    np.testing.assert_array_equal(found[:, 1], range(5))
    assert server.seen[0][1] == {"model": "m", "input": TEXTS, "encoding_format": "float"}
    assert "authorization" not in server.seen[0][0]


def test_it_is_tried_again(server):
    """A server that is busy or broken for a while is asked again, later each time and as it says."""
    server.plan = [(429, {"Retry-After": "7"}, b"slow down"), (500, {}, b"<html>oops</html>"), (503, {}, b"")]
    waits: list[float] = []
    assert len(OpenAIDoor(waits.append).load(f"m@{server.address}", "text")(TEXTS)) == 5
    assert 7.0 <= waits[0] <= 7.1
    assert sum(1.0 <= wait <= 2.0 for wait in waits) == 1
    assert sum(2.0 <= wait <= 4.0 for wait in waits) == 1


def test_several_requests_are_under_way(server, monkeypatch):
    """A batch is sent as several requests at once, and the vectors are in the order of the texts all the same."""
    monkeypatch.setattr(_openai, "TEXTS", 2)
    server.together = threading.Barrier(3, timeout=30)  # of five texts, two and two and one: none is answered alone
    found = OpenAIDoor().load(f"m@{server.address}", "text")(["a", "bb", "ccc", "dddd", "eeeee"])
    assert found[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert sorted(len(body["input"]) for _, body in server.seen) == [1, 2, 2]


def test_it_is_not_tried_for_ever(server):
    """After some times it is one sentence, which says that nothing is lost."""
    server.plan = [(500, {}, b"<html>oops</html>")] * 99
    with pytest.raises(EmbeddingError, match="what is done is kept"):
        OpenAIDoor(lambda _: None).load(f"m@{server.address}", "text")(TEXTS)
    assert len(server.seen) == 6


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((401, {}, b'{"error": "bad key"}'), "401"),
        ((404, {}, b"no such model"), "404"),
        ((302, {"Location": "http://elsewhere.invalid/"}, b""), "302"),
        ((200, {}, b"<html>a login page</html>"), "check the address"),
        ((200, {}, b'{"data": [{"index": 0, "emb'), "check the address"),
        ((200, {}, json.dumps({"data": vectors(TEXTS[:3])}).encode()), "3 vectors for 5 texts"),
        ((200, {}, b'{"data": [{"index": 0, "embedding": "no numbers"}]}'), "check the address"),
        ((200, {}, b"[]"), "check the address"),
    ],
)
def test_what_will_not_get_better_is_said_at_once(server, reply, words):
    """A wrong key, another kind of server, a reply cut short: one sentence, and nothing is sent elsewhere."""
    server.plan = [reply]
    with pytest.raises(EmbeddingError, match=words) as caught:
        OpenAIDoor(lambda _: pytest.fail("it waits")).load(f"m@{server.address}", "text")(TEXTS)
    assert "\n" not in str(caught.value)
    assert len(server.seen) == 1


def test_nobody_is_there():
    """An address where nobody listens is one sentence."""
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        OpenAIDoor(lambda _: None).load("m@http://127.0.0.1:9/v1", "text")(TEXTS)


def test_keys(server, monkeypatch, tmp_path):
    """Each address gets its own key only, in a header; it is written nowhere, and never sent in the clear."""
    monkeypatch.setenv("OPENAI_API_KEY", "open-secret")
    OpenAIDoor().load(f"m@{server.address}", "text")(TEXTS)
    monkeypatch.setenv("BELA_API_KEY", "bela-secret")
    found = prepare(ROWS, embed=f"m@{server.address}", cache=tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    OpenAIDoor().load("m", "text")(TEXTS)
    sent = [headers.get("authorization") for headers, _ in server.seen]
    assert sent == [None, "Bearer bela-secret", "Bearer open-secret"]
    assert "secret" not in json.dumps(found.plan.to_dict())
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"secret" in file.read_bytes()]
    with pytest.raises(ParameterError, match="in the clear"):
        OpenAIDoor().digest("m@http://somewhere.invalid/v1", "text", print)
    with pytest.raises(ParameterError, match="password"):
        OpenAIDoor().digest("m@https://me:secret@somewhere.invalid/v1", "text", print)


def test_what_was_paid_for_is_kept(server, tmp_path, monkeypatch):
    """A server that dies half-way: the next attempt sends what has no vector yet."""
    monkeypatch.setattr("bela.features.embedding.doors._openai._Remote.batch", 8)
    good = [(200, {}, json.dumps({"data": vectors(["text"] * 8)}).encode())]
    server.plan = [*good, (400, {}, b"no")]
    for attempt in range(2):
        try:
            prepare(ROWS, embed=f"m@{server.address}", cache=tmp_path)
        except EmbeddingError:
            assert attempt == 0
    assert sum(len(body["input"]) for _, body in server.seen[:1] + server.seen[2:]) == 45


def test_the_address_is_part_of_the_plan(server):
    """It is named, and so is the model; another address is another model."""
    table = open_table(ROWS)
    chosen = plan_features(table, embed=f"m@{server.address}").embed["text"]
    assert (chosen.model, chosen.door) == ("m", server.address)
    assert chosen.digest != plan_features(table, embed="m@openai").embed["text"].digest
