"""A real browser and real servers: Debian's Chromium, driven by Playwright."""

import json
import multiprocessing
import shutil
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bela.campaign import Team

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
# Servers come from a process that has read the libraries already: most of what it takes to start one.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["bela.web", *(f"sklearn.{part}" for part in ("cluster", "ensemble", "linear_model"))])
SERVE = "import runpy; runpy.run_path(path)['main'](**arguments)"  # a file of tests is no module that can be imported
PATIENCE = 60_000  # milliseconds that anything may take, as the machine may be busy; nothing waits for longer


@pytest.fixture(scope="module")
def browser():
    """Chromium, once for the tests of a file: as long as Playwright is there, nothing else can run an event loop."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def digits_file(tmp_path_factory) -> Path:
    """The digits of scikit-learn as pictures, with the truth in a column that is hidden."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, image=(digits.images * 15).astype(np.uint8), digit=digits.target)
    return path


@pytest.fixture(scope="session")
def truth(digits_file) -> list[str]:
    """What each digit is."""
    return [str(digit) for digit in np.load(digits_file)["digit"]]


class Server:
    """A server in a process of its own, which can be killed and started again."""

    def __init__(self, **arguments: object) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://localhost:{self.port}/"
        self.folder = Path(str(arguments["folder"]))
        self._log = Path(f"{self.folder}.log")
        self._arguments = arguments | {"port": self.port, "log": str(self._log)}
        self._process: multiprocessing.process.BaseProcess
        self.start()

    def start(self) -> None:
        """Start, and wait until the page is there."""
        script = {"path": str(Path(__file__).with_name("serve_campaign.py")), "arguments": self._arguments}
        self._process = PROCESSES.Process(target=exec, args=[SERVE, script])
        self._process.start()
        end = time.monotonic() + 120
        while time.monotonic() < end and self._process.is_alive():
            try:
                self.get("state")
                return
            except OSError:
                time.sleep(0.1)
        self.kill()
        raise RuntimeError(f"the server did not start: {self._log.read_text(errors='replace')}")

    @property
    def team(self) -> Team | None:
        """Who may come in; None where everybody may."""
        is_team = self._arguments["serving"].get("team")
        return Team.of(self.folder) if is_team and self.folder.is_dir() else None

    def link(self, name: str, role: str = "owner") -> str:
        """Return somebody's link, who is let in if they were not yet; nobody needs one where there is no team."""
        if self.team is None:
            return self.url
        member = self.team.named(name) or self.team.add(name, is_owner=role == "owner")
        return f"{self.url}?token={member.token}"

    def request(self, path: str, name: str | None = None, body: dict | None = None) -> urllib.request.Request:
        """Return a request of somebody, or of the owner."""
        headers = {"Content-Type": "application/json"}
        if (team := self.team) is not None:
            member = team.owner() if name is None else team.named(name)
            headers["Authorization"] = f"Bearer {member.token}"
        content = None if body is None else json.dumps(body).encode()
        return urllib.request.Request(f"{self.url}api/{path}", content, headers)  # noqa: S310

    def get(self, path: str) -> dict:
        """Ask the server itself."""
        with urllib.request.urlopen(self.request(path), timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def answers_of(self, name: str, expected: int) -> int:
        """How many answers somebody has given; counted anew some times a second, so this waits for what is expected."""
        end = time.monotonic() + 30
        while True:
            people = {person["name"]: person["answers"] for person in self.get("state")["people"]}
            if people.get(name, 0) == expected or time.monotonic() > end:
                return people.get(name, 0)
            time.sleep(0.05)

    def rest(self) -> None:
        """Wait until no revision is being made: pages that show what comes of one are not about to be drawn anew."""
        end = time.monotonic() + 60
        while self.get("state")["revising"]:
            assert time.monotonic() < end, "a revision does not end"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill it without a warning."""
        self._process.kill()
        self._process.join(60)


@pytest.fixture(scope="session")
def servers() -> list[Server]:
    """All servers that were started."""
    return []


@pytest.fixture(scope="session")
def serve(digits_file, tmp_path_factory, servers) -> Iterator[Callable[..., Server]]:
    """Start servers of the digits; all are stopped at the end."""

    def start(
        name: str, *, data: Path | None = None, serving: dict | None = None, answered: int = 0, **settings: object
    ) -> Server:
        server = Server(
            data=str(data or digits_file),
            folder=str(tmp_path_factory.mktemp("campaigns") / f"{name}.bela"),
            settings=({} if data else {"hidden": ["digit"]}) | settings,
            serving=serving or {},
            answered=answered,
        )
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="session")
def team(serve) -> Server:
    """A campaign of several people that has some answers and no end."""
    return serve(
        "team",
        serving={"team": True, "overlap": 0.0, "lease_seconds": 15.0},
        answered=70,
        classes=[str(digit) for digit in range(10)],
    )


WATCH_NOTES = """
window.seenNotes = [];
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) if (node.classList?.contains("toast")) window.seenNotes.push(node.textContent);
  }
}).observe(document, { childList: true, subtree: true });
"""


LOOK = """() => ({
    title: document.querySelector('h1')?.textContent,
    mode: document.querySelector('.answering')?.dataset.mode,
    focus: document.activeElement?.outerHTML.slice(0, 200),
    dialog: document.querySelector('dialog[open]')?.textContent.slice(0, 200),
    notes: window.seenNotes,
    main: document.getElementById('main')?.innerText.slice(0, 400),
    kept: Object.keys(localStorage),
})"""


HOLD = "(send) => new Promise((done) => window.heldRequests.push(() => done(send())))"
FAIL = "() => Promise.reject(new TypeError('there is no connection'))"


class Visitor:
    """Somebody at a page: what they see and what they press."""

    def __init__(self, page, truth: list[str]) -> None:
        self.page, self.truth = page, truth

    def open(self, url: str) -> "Visitor":
        """Open the page and wait for the first row."""
        self.page.goto(url)
        self.wait("() => document.querySelector('.stage .record, .tile .record, .reached')")
        return self

    def wait(self, condition: str, argument: object = None) -> None:
        """Wait until something holds on the page; whoever waits in vain says what is there instead."""
        try:
            self.page.wait_for_function(condition, arg=argument, timeout=PATIENCE)
        except Exception as error:  # of a package that need not be installed
            raise AssertionError(f"{error}\n{condition}, {argument!r}; there is {self.page.evaluate(LOOK)}") from None

    def counts(self, selector: str, n: int) -> None:
        """Wait until there are so many of something: what is looked at once may be about to be drawn anew."""
        self.wait("([what, n]) => document.querySelectorAll(what).length === n", [selector, n])

    def says(self, text: str, within: str = "body") -> None:
        """Wait until something stands somewhere on the page."""
        self.wait("([text, within]) => document.querySelector(within)?.textContent.includes(text)", [text, within])

    @property
    def row(self) -> int:
        """The row on the screen."""
        row = self.row_or_end
        assert row is not None, "there is no need to go on"
        return row

    @property
    def row_or_end(self) -> int | None:
        """The row on the screen; None when the page says that there is no need to go on."""
        look = """() => {
            const row = document.querySelector('h1').textContent.match(/^Row (\\d+)$/);
            return row ? row[1] : document.querySelector('.reached') ? 'end' : null;
        }"""
        found = self.page.wait_for_function(look, timeout=PATIENCE).json_value()
        return None if found == "end" else int(found)

    def press(self, key: str) -> None:
        """Press a key that brings the next row, and wait for that."""
        before = self.page.text_content("h1")
        self.page.keyboard.press(key)
        self.wait("(before) => document.querySelector('h1').textContent !== before", before)

    def answer(self) -> int:
        """Answer the row on the screen by the truth; return it."""
        row = self.row
        self.press(self.truth[row])
        return row

    def to_grid(self, *, switch: bool = True, key: str | None = None) -> int:
        """Switch to the grid, and answer what is drawn at random, by the truth or a key; return how many those were."""
        if switch:
            self.page.keyboard.press("g")
        answered = 0
        while True:
            self.wait("() => document.querySelector('.tiles:not(.over) .tile, .singly:not([hidden])')")
            if self.page.locator(".tile").count():
                return answered
            self.press(key or self.truth[self.row])
            answered += 1

    @property
    def tiles(self) -> list[int]:
        """The rows of the grid on the screen."""
        names = self.page.eval_on_selector_all(".tile", "(tiles) => tiles.map((tile) => tile.ariaLabel)")
        return [int(name.split(":")[0].removeprefix("Row ")) for name in names]

    def first_tile(self, row: int) -> None:
        """Wait until a row is the first of a grid; one that is confirmed stays in sight until the next is there."""
        first = "(row) => document.querySelector('.tiles:not(.over) .tile')?.ariaLabel.startsWith(`Row ${row}:`)"
        self.wait(first, row)

    def confirm(self) -> None:
        """Give each row of the grid its label, by a mark of its own, and confirm them."""
        for row in self.tiles:
            self.page.keyboard.press("ArrowRight")
            self.page.keyboard.press(self.truth[row])
        self.page.keyboard.press("Enter")

    def intercept(self, path: str, instead: str) -> None:
        """Do something instead of sending requests to this path, until they are let go.

        By the page itself: a browser that is told to intercept requests goes on sending some for a moment.
        """
        self.page.evaluate(
            f"""(path) => {{
                const fetched = window.fetch;
                const instead = {instead};
                window.heldRequests = [];
                window.fetch = (url, options) => new URL(url, location).pathname === path
                    ? instead((other = options) => fetched(url, other), options) : fetched(url, options);
                window.letGo = () => {{
                    window.fetch = fetched;
                    window.heldRequests.forEach((go) => go());
                }};
            }}""",
            path,
        )

    def holds(self, n: int) -> None:
        """Wait until so many requests are held."""
        self.wait("(n) => window.heldRequests.length >= n", n)

    def let_go(self) -> None:
        """Let all requests go that are held, and send those that come."""
        self.page.evaluate("() => window.letGo()")

    def settle(self) -> None:
        """Wait until the server has everything."""
        self.wait("() => !Object.keys(localStorage).some((name) => name.startsWith('bela.outbox.'))")

    def toast(self, text: str) -> None:
        """Wait until there is, or was, a note at the edge of the page: it goes away by itself."""
        self.wait("(text) => (window.seenNotes ?? []).some((note) => note.includes(text))", text)


@pytest.fixture
def visit(browser, truth, servers) -> Iterator[Callable[..., Visitor]]:
    """Open pages, each in a browser of its own; at the end none may have complained."""
    opened = []
    complaints: list[str] = []

    def come(
        url: str,
        name: str = "",
        *,
        role: str = "owner",
        beside: Visitor | None = None,
        alarmed: bool = True,
        **options: object,
    ) -> Visitor:
        context = beside.page.context if beside else browser.new_context(**({"viewport": DESKTOP} | options))
        if not beside:
            opened.append(context)
            context.add_init_script(WATCH_NOTES)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if alarmed:
            page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        server = next((one for one in servers if one.url == url), None)
        return Visitor(page, truth).open(server.link(name, role) if server and name else url)

    yield come
    for context in opened:
        for page in context.pages:
            page.goto("about:blank")  # so that its rows go back to the others
        context.close()
    assert complaints == []
