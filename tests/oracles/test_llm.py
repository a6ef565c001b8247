"""Language models that answer, tried with a real server that misbehaves in every way that real ones do."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bela._calls import is_private
from bela.errors import OracleError, ParameterError
from bela.oracles import ChatClient, LLMOracle, Price, Purse
from bela.oracles.llm._cost import most_tokens
from bela.oracles.llm._replies import read_label
from bela.oracles.llm._rows import LONGEST
from bela.storage import PaidCalls

from .llm_server import (
    ModelServer,
    cut_off,
    dripping,
    endless,
    fail,
    html,
    only,
    reset,
    say,
    slow,
    truncated,
)  # fmt: skip

PRICE = Price(into=1000.0, out=5000.0)  # a call of the server's usual size costs 0.15
CLASSES = ["cat", "dog"]


def record_of(row: int) -> dict[str, Any]:
    return {"text": f"row {row} is a {'dog' if row % 2 else 'cat'}", "secret": "hunter2"}


def animal(text: str) -> str:
    return "dog" if "dog" in text else "cat"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that knows cats from dogs."""
    server = ModelServer(animal)
    yield server
    server.close()


Make = Callable[..., LLMOracle]


@pytest.fixture
def make(server: ModelServer) -> Iterator[Make]:
    """Make oracles that wait no longer than tests can bear; pauses are in `oracle.pauses`, notes in `oracle.notes`."""
    made = []

    def make_it(*, records: Any = record_of, url: str | None = None, paid: PaidCalls | None = None,
                price: Price = PRICE, cap: float | None = None, **options: Any) -> LLMOracle:  # fmt: skip
        pauses: list[float] = []
        notes: list[str] = []
        names = ("key", "timeout", "retries", "max_tokens", "model", "wait")
        client = {name: options.pop(name) for name in names if name in options}
        client = {"timeout": 20.0, "retries": 2, "wait": pauses.append, "say": notes.append, "model": "m"} | client
        oracle = LLMOracle(
            records, ChatClient(url or server.url, client.pop("model"), **client), hide=["secret"],
            purse=Purse(paid or PaidCalls(), price, cap), **{"classes": CLASSES, **options},
        )  # fmt: skip
        oracle.pauses, oracle.notes = pauses, notes  # type: ignore[attr-defined]
        made.append(oracle)
        return oracle

    yield make_it
    for oracle in made:
        oracle.close()


def ask(oracle: LLMOracle, *rows: int) -> list[Any]:
    found = {answer.row: answer.label for answer in oracle.answers(np.array(rows, dtype=int))}
    return [found[row] for row in rows]


def test_what_is_sent(make: Make, server: ModelServer) -> None:
    """A call has model, guidelines, classes, examples, the row and the form of the answer; no hidden column."""
    oracle = make(guidelines="Cats purr.", examples=[(2, "cat"), (3, "dog")], key="KEY", max_tokens=7)
    assert ask(oracle, 0, 1) == ["cat", "dog"]
    call = server.calls[0]
    assert call["path"] == "/v1/chat/completions"
    assert call["headers"]["authorization"] == "Bearer KEY"
    body = call["body"]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0, 7)
    form = body["response_format"]["json_schema"]
    assert form["strict"]
    assert form["schema"]["properties"]["label"]["enum"] == CLASSES
    system, *shown, _ = body["messages"]
    assert "Cats purr." in system["content"]
    assert "\ncat\ndog\n" in system["content"]
    assert [message["content"] for message in shown[1::2]] == ['{"label": "cat"}', '{"label": "dog"}']
    assert "hunter2" not in json.dumps(server.calls)
    assert "secret" not in json.dumps(server.calls)


def test_no_key_no_header(make: Make, server: ModelServer) -> None:
    """Without a key there is no authorization."""
    ask(make(), 0)
    assert "authorization" not in {name.lower() for name in server.calls[0]["headers"]}


TROUBLES = [
    fail(429), fail(500), fail(502), fail(503, "overloaded", retry_after="0"), html, truncated, cut_off, reset, endless,
]  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_goes_wrong_in_passing(make: Make, server: ModelServer, trouble: Any) -> None:
    """A call that fails is made again, and the answer is the same; the user is told of it."""
    server.script = [trouble, trouble]
    oracle = make()
    assert ask(oracle, 1) == ["dog"]
    assert len(server.calls) == 3
    assert len(oracle.pauses) == 2  # type: ignore[attr-defined]
    assert all("asking again" in note for note in oracle.notes)  # type: ignore[attr-defined]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_goes_wrong_for_good(make: Make, server: ModelServer, trouble: Any) -> None:
    """After so many tries there is an error of one sentence, and the answers of others are there."""
    oracle = make(parallel=1)
    server.script = [say('{"label": "cat"}'), trouble, trouble, trouble]
    got = []
    with pytest.raises(OracleError, match="nothing that was answered so far is lost") as error:
        got.extend(oracle.answers(np.array([0, 1, 2])))
    assert [answer.row for answer in got] == [0]
    assert "\n" not in str(error.value)
    assert len(server.calls) == 4


@pytest.mark.parametrize("slowly", [slow, dripping])
def test_slow_servers(make: Make, server: ModelServer, slowly: Any) -> None:
    """A server that hangs, or sends a byte now and then for ever, is given up, and counts as paid."""
    until = threading.Event()
    server.script = [slowly(until)] * 2
    paid = PaidCalls()
    oracle = make(timeout=0.15, retries=1, paid=paid)
    with pytest.raises(OracleError, match=r"took longer than 0.15 s"):
        ask(oracle, 0)
    until.set()
    assert paid.spent > 2 * 0.15


def test_nobody_there(make: Make, server: ModelServer) -> None:
    """An address where nobody listens costs nothing, and says so."""
    paid = PaidCalls()
    with pytest.raises(OracleError, match="cannot be reached"):
        ask(make(url="http://127.0.0.1:1/v1", paid=paid), 0)
    assert paid.spent == 0


@pytest.mark.parametrize(("status", "hint"), [(401, "key"), (403, "key"), (404, "address"), (307, "address")])
def test_no_use_to_try_again(make: Make, server: ModelServer, status: int, hint: str) -> None:
    """A wrong key or address is said at once; no key follows a server that sends it elsewhere."""
    server.usual = fail(status, "bad", location="http://127.0.0.1:1/")
    with pytest.raises(OracleError, match=f"status {status}.*is the {hint} right"):
        ask(make(key="KEY"), 0)
    assert len(server.calls) == 1


def test_used_up(make: Make, server: ModelServer) -> None:
    """Where the account is empty, nobody waits."""
    server.usual = lambda handler, body: handler.send(
        429, json.dumps({"error": {"message": "pay", "code": "insufficient_quota"}}).encode()
    )
    with pytest.raises(OracleError, match="pay"):
        ask(make(), 0)
    assert len(server.calls) == 1


@pytest.mark.parametrize("as_date", [False, True])
def test_rate_limits_are_honoured(make: Make, server: ModelServer, as_date: bool) -> None:
    """When a server asks to wait, that is how long it is waited, be it seconds or a date, and by all threads."""
    said = format_datetime(datetime.now(UTC) + timedelta(seconds=41)) if as_date else "40"
    server.script = [fail(429, retry_after=said)]
    oracle = make(parallel=1)
    assert ask(oracle, 0, 1) == ["cat", "dog"]
    assert 39 <= oracle.pauses[0] <= 42  # type: ignore[attr-defined]
    assert all(pause > 30 for pause in oracle.pauses[1:])  # type: ignore[attr-defined]  # nobody has slept in this test
    server.script = [fail(429, retry_after="7200")]
    with pytest.raises(OracleError, match="asks to wait 7200 s"):
        ask(make(), 3)


def test_pauses_grow_and_differ(make: Make, server: ModelServer) -> None:
    """Each pause may be twice as long as the one before, and none is exactly that long."""
    server.script = [fail(500)] * 5
    oracle = make(retries=5)
    ask(oracle, 0)
    for n, pause in enumerate(oracle.pauses):  # type: ignore[attr-defined]
        assert 0.25 * 2**n <= pause <= 0.5 * 2**n


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (lambda body: "json_schema?" if "json_schema" in body.get("response_format", {}) else None, "response_format"),
        (lambda body: "response_format is unknown" if "response_format" in body else None, "max_tokens"),
        (lambda body: "use max_completion_tokens" if "max_tokens" in body else None, "max_completion_tokens"),
        (lambda body: "temperature must be 1" if "temperature" in body else None, "response_format"),
        (lambda body: "max_completion_tokens!" if "max_tokens" in body else
         "temperature?" if "temperature" in body else "what?" if "response_format" in body else None, "model"),
    ],
)  # fmt: skip
def test_servers_that_know_less(make: Make, server: ModelServer, refused: Any, field: str) -> None:
    """What a server does not understand is left out, once for all calls, and it is no failure."""
    server.usual = only(refused)(server.usual)
    oracle = make(parallel=1, retries=0)
    assert ask(oracle, 0, 1) == ["cat", "dog"]
    assert field in server.calls[-1]["body"]
    before = len(server.calls)
    assert ask(oracle, 2) == ["cat"]
    assert len(server.calls) == before + 1


def test_a_row_that_a_server_will_not_take(make: Make, server: ModelServer) -> None:
    """A filter, or a text that is too long, skips that row, free of charge; other rows get the full form as before."""
    server.usual = only(lambda b: "content_filter" if "row 1 " in str(b) else None)(server.usual)
    paid = PaidCalls()
    oracle = make(parallel=1, paid=paid)
    assert ask(oracle, 0, 1, 2) == ["cat", None, "cat"]
    assert "json_schema" in server.calls[-1]["body"]["response_format"]
    assert paid.spent == pytest.approx(0.3)
    server.usual = fail(400, "model is unknown")
    with pytest.raises(OracleError, match="status 400"):
        ask(oracle, 5)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ('{"label": "dog"}', "dog"), ('```json\n{"label": "DOG"}\n```', "dog"), ("Dog.", "dog"),
        ("I think this is a dog!", "dog"), ('{"label": null}', None), ("", None), (None, None),
        ("a dog or a cat", None), ('{"label": "hamster"}', None), ("dogma", None), ('{"label": ["dog"]}', "dog"),
        ('<think>cat? {"label": "cat"}</think>{"label": "dog"}', "dog"), ("<think>a dog, certainly", None),
        ('{"label": "dog"', "dog"), ("[" * 5000, None),
    ],
)  # fmt: skip
def test_replies_are_repaired_or_declined(make: Make, server: ModelServer, reply: str | None, label: Any) -> None:
    """What can be understood is an answer; else the row is skipped, paid for, and not asked again."""
    server.usual = say(reply)
    paid = PaidCalls()
    assert ask(make(paid=paid), 0) == [label]
    assert ask(make(paid=paid), 0) == [label]
    assert len(server.calls) == 1
    assert paid.spent == pytest.approx(0.15)


def test_a_model_that_never_answers_is_given_up(make: Make, server: ModelServer) -> None:
    """Twenty replies without any class are enough; one that named a class, or says that it cannot tell, goes on."""
    oracle = make(parallel=1)
    server.usual = say("As a language model I cannot judge cats.")
    assert ask(oracle, *range(19)) == [None] * 19
    with pytest.raises(OracleError, match=r"named no class in its first 20 replies.*--show-prompt"):
        ask(oracle, 19)
    declining = make(parallel=1)
    server.usual = say('{"label": null}')
    assert ask(declining, *range(20, 60)) == [None] * 40
    knowing = make(parallel=1)
    server.usual = say('{"label": "dog"}')
    assert ask(knowing, 60) == ["dog"]
    server.usual = say("Who knows?")
    assert ask(knowing, *range(61, 90)) == [None] * 29


@given(st.lists(st.text(min_size=1).map(str.strip).filter(bool), min_size=1, unique=True), st.data())
def test_a_class_as_it_is_written_is_that_class(classes: list[str], data: st.DataObject) -> None:
    """Whatever classes are called, a reply in the right form is the class that it names; no reply is an error."""
    name = data.draw(st.sampled_from(classes))
    assert read_label(json.dumps({"label": name}), classes) == name
    assert read_label(data.draw(st.text()), classes) in {None, *classes}


def test_classes_that_differ_in_case_only() -> None:
    """Case is not forgiven where it matters, and one class within another is not it."""
    assert read_label('{"label": "US"}', ["US", "us"]) == "US"
    assert read_label('{"label": "Us"}', ["US", "us"]) is None
    assert read_label("very not good", ["good", "not good"]) == "not good"
    assert read_label('{"label": 3}', ["3", "4"]) == "3"


def test_labels_keep_their_type(make: Make, server: ModelServer) -> None:
    """Classes that are numbers are answered as numbers."""
    server.usual = say('{"label": "3"}')
    assert ask(make(classes=[3, 4]), 0) == [3]


def test_nothing_is_paid_twice(make: Make, server: ModelServer, tmp_path: Path) -> None:
    """A reply is on disk before it is given: whoever asks the same again, after a crash too, pays nothing."""
    path = tmp_path / "paid.sqlite"
    alike = {"records": lambda row: {"text": f"a cat {row // 4}"}}
    first = [answer.cost for answer in make(paid=PaidCalls(path), **alike).answers(np.arange(8))]
    assert sorted(first) == pytest.approx([0] * 6 + [0.15] * 2)  # rows that are alike are asked about once
    again = PaidCalls(path)
    assert [answer.cost for answer in make(paid=again, **alike).answers(np.arange(8))] == [0.0] * 8
    assert len(server.calls) == 2
    assert again.spent == pytest.approx(0.3)
    assert ask(make(paid=again, guidelines="other", **alike), 0) == ["cat"]  # another prompt is another question
    assert len(server.calls) == 3


def test_an_answer_that_nobody_took(make: Make, server: ModelServer, tmp_path: Path) -> None:
    """Answers that were paid for when somebody gave up are there the next time, with what they cost."""
    oracle = make(paid=PaidCalls(tmp_path / "paid.sqlite"), parallel=4)
    answers = oracle.answers(np.arange(4))
    taken = next(answers)
    answers.close()
    oracle.close()
    later = make(paid=PaidCalls(tmp_path / "paid.sqlite"), parallel=4)
    assert len(list(later.answers(np.arange(4)))) == 4
    assert taken.cost == pytest.approx(0.15)
    assert len(server.calls) == 4
    assert later._purse.paid.spent == pytest.approx(0.6)


def test_several_at_once_and_no_more(make: Make, server: ModelServer) -> None:
    """Calls are made in parallel, up to the bound."""
    everybody, usual = threading.Barrier(3), server.usual

    def together(handler: Any, body: Any) -> None:
        everybody.wait(20)
        usual(handler, body)

    server.usual = together
    assert ask(make(parallel=3), *range(9)) == [animal(record_of(row)["text"]) for row in range(9)]
    assert server.n_most == 3


@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 150, "completion_tokens": 20}, None, "much", {"prompt_tokens": -1}]
)
def test_the_cap_is_never_passed(make: Make, server: ModelServer, parallel: int, usage: Any) -> None:
    """What was spent, by the price and what the server says, is never above the cap, and little is left of it."""
    server.usual = say('{"label": "cat"}', usage=usage)
    paid, cap = PaidCalls(), 6.0
    oracle = make(paid=paid, cap=cap, parallel=parallel, max_tokens=50)
    got = []
    with pytest.raises(OracleError, match=r"the cap of 6 is reached: .* raise --llm-cap"):
        got.extend(oracle.answers(np.arange(1000)))
    most = PRICE.of(most_tokens(oracle._messages(999), oracle.prompt.schema), 50)
    assert cap - most <= paid.spent <= cap
    assert sum(answer.cost for answer in got) == pytest.approx(paid.spent)
    true_cost = PRICE.of(150, 20) * len(server.calls)
    assert true_cost <= cap


def test_a_cap_counts_calls_of_a_process_that_was_killed(make: Make, server: ModelServer, tmp_path: Path) -> None:
    """A call that was under way when the process ended counts with the most that it can have cost."""
    paid = PaidCalls(tmp_path / "paid.sqlite")
    paid.reserve("somewhere", 5.9)
    paid.close()
    with pytest.raises(OracleError, match=r"the cap of 6 is reached: 5\.9 were spent"):
        ask(make(paid=PaidCalls(tmp_path / "paid.sqlite"), cap=6.0), 0)
    assert server.calls == []


def test_what_may_have_been_paid_counts(make: Make, server: ModelServer) -> None:
    """A refused call is free; one that broke off counts with the most it can cost, and goes to the row's costs."""
    paid = PaidCalls()
    server.script = [fail(500), fail(429, retry_after="0"), truncated]
    [answer] = make(paid=paid, retries=3, max_tokens=50).answers(np.array([0]))
    assert answer.cost == pytest.approx(paid.spent)
    assert 0.15 + PRICE.of(0, 50) < answer.cost < 2.0


@given(st.text(), st.text())
def test_the_bound_on_tokens(text: str, system: str) -> None:
    """No text has more tokens than bytes, in a call that has some more."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    assert most_tokens(messages, {}) >= len((text + system).encode("utf-8", "surrogatepass"))


def test_pictures(make: Make, server: ModelServer, tmp_path: Path) -> None:
    """Pictures go as small data addresses without what a camera wrote, wherever they come from."""
    data = tmp_path / "data"
    data.mkdir()
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (900, 600), "red").save(data / "a.jpg", exif=exif)
    raw = (data / "a.jpg").read_bytes()
    photo = Image.open(io.BytesIO(raw))

    class Table:
        root = data

        @staticmethod
        def record(row: int) -> dict[str, Any]:
            values: list[Any] = ["a.jpg", raw, {"bytes": raw, "path": None}, np.eye(12).tolist(), photo]
            return {"photo": values[row], "text": "a dog"}

    assert ask(make(records=Table(), parallel=1), *range(5)) == ["dog"] * 5
    assert photo.size == (900, 600)
    for call in server.calls:
        text, picture = call["body"]["messages"][-1]["content"]
        assert text == {"type": "text", "text": "photo: [picture 1]\ntext: a dog"}
        content = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
        assert b"taken at home" not in content
        assert max(Image.open(io.BytesIO(content)).size) <= 512


def test_files_outside_the_data_stay_here(make: Make, server: ModelServer, tmp_path: Path) -> None:
    """A file that names pictures elsewhere on this machine does not get them sent, not by a link either."""
    data, private = tmp_path / "data", tmp_path / "private.png"
    data.mkdir()
    Image.new("RGB", (9, 9)).save(private)
    (data / "link.png").symlink_to(private)

    class Table:
        root = data

        @staticmethod
        def record(row: int) -> dict[str, Any]:
            return {"text": [str(private), "../private.png", "link.png"][row]}

    ask(make(records=Table()), 0, 1, 2)
    assert "data:image" not in json.dumps(server.calls)


def test_long_texts_are_cut(make: Make, server: ModelServer) -> None:
    """A text without end does not cost without end."""
    ask(make(records=lambda row: {"text": "cat " * 100_000}), 0)
    content = server.calls[0]["body"]["messages"][-1]["content"]
    assert content.endswith("… (cut here)")
    assert len(content) < LONGEST + 20


def test_a_thousand_classes(make: Make, server: ModelServer) -> None:
    """Many classes are no trouble, also where a server refuses so long a schema."""
    names = [f"class {n}" for n in range(1000)]
    server.usual = only(lambda body: "enum is limited to 500" if "json_schema" in str(body) else None)(
        say('{"label": "class 77"}')
    )
    assert ask(make(classes=names), 0) == ["class 77"]


@pytest.mark.parametrize(
    ("url", "private"),
    [("https://a.b/v1", True), ("http://localhost:1/v1", True), ("http://127.0.0.1/", True), ("http://[::1]/v1", True),
     ("http://10.0.0.1/v1", False), ("http://localhost.evil.com/v1", False)],
)  # fmt: skip
def test_who_can_read_along(url: str, private: bool) -> None:
    """Only what is encrypted or stays on this machine is private."""
    assert is_private(url) is private


@pytest.mark.parametrize(
    "url", ["", "api.openai.com", "ftp://a", "http://", "https://u:p@a/v1", "http://a:b/", "http://a?k=1"]
)
def test_what_is_no_address(url: str) -> None:
    """A wrong address is said before anything is sent."""
    with pytest.raises(ParameterError, match="is not the address of a server"):
        ChatClient(url, "m")


@pytest.mark.parametrize("price", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_what_is_no_price(price: str) -> None:
    """A wrong price is said."""
    with pytest.raises(ParameterError, match="IN,OUT"):
        Price.parse(price)


def test_a_cap_needs_a_price() -> None:
    """Without a price nobody can keep a cap."""
    with pytest.raises(ParameterError, match="--llm-price"):
        Purse(PaidCalls(), Price(), 3.0)
    with pytest.raises(ParameterError, match="from 0 on"):
        Purse(PaidCalls(), PRICE, float("nan"))


def test_closing_ends_all_waiting(server: ModelServer) -> None:
    """Whoever closes an oracle in the middle of a pause waits no longer than for calls under way."""
    server.usual = fail(429, retry_after="500")
    oracle = LLMOracle(record_of, ChatClient(server.url, "m"), classes=CLASSES)
    answers = oracle.answers(np.array([0]))

    def take() -> None:
        with pytest.raises(OracleError):
            list(answers)

    thread = threading.Thread(target=take)
    thread.start()
    while not server.calls:
        time.sleep(0.01)
    oracle.close()
    thread.join(20)
    assert not thread.is_alive()
