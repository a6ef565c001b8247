"""A scripted campaign that is killed at random moments, or whose disk is full, and what is found after that.

    python killing.py FOLDER [--kills N] [--full N] [--disk N] [--rows N] [--actions N] [--seed N]

Each line is a JSON object: one round, with the moment that it ended in and what was wrong afterwards (nothing, if all
is well). `python benchmarks/durability.py` runs it at length. In each round a child opens the campaign and goes on with
it: it answers, skips, takes back, relabels, flags and exports. After each action that has been acknowledged it says so,
with a digest of the journal and of all that can be seen of the campaign at that moment. Then it dies. Another child
opens the campaign and compares. The parent does nothing but fork, as threads do not survive that.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bela.book import undo_step
from bela.campaign import StoredCampaign, create_campaign, open_campaign
from bela.errors import BelaError
from bela.exports import check_export, export
from bela.storage import SQLiteJournal

LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
EXPORTS = ("out.csv", "out.parquet", "out")
MOMENTS = {  # when to kill: after a mark of the child, and so many seconds later at most
    "opening": 0.8,
    "asking": 0.4,  # a revision takes about as long
    "writing": 0.004,
    "exporting": 0.08,
    "anywhere": 2.5,
}
MOST = 250  # answers, before the next campaign begins


# ------------------------------------------------------------------------------------------------------- the child


class Child:
    """Goes on with a campaign, and says what it has done."""

    def __init__(self, folder: Path, truth: list[int], out: int, rng: random.Random) -> None:
        self._folder, self._truth, self._out, self._rng = folder, truth, out, rng

    def say(self, **what: Any) -> None:
        _write_all(self._out, json.dumps(what) + "\n")

    def run(self, n_actions: int, *, background: bool, ballast: Path | None = None) -> None:
        """Do one thing after another; when the disk is full, say so, make room and go on."""
        self.say(mark="opening")
        n_errors = 0
        with open_campaign(self._folder / "data.bela", background=background) as stored:
            self._acknowledge(stored, "opened")
            for _ in range(n_actions):
                try:
                    self._do_something(stored)
                except BelaError as error:
                    n_errors += 1
                    self.say(error=f"{type(error).__name__}: {error}")
                    if n_errors == 4 and ballast is not None:
                        make_room(ballast)
                if stored.campaign.stop_reason is not None:
                    break
        self.say(mark="closed")

    def _do_something(self, stored: StoredCampaign) -> None:
        campaign, rng = stored.campaign, self._rng
        match rng.choices(range(7), [60, 12, 6, 8, 7, 3, 5])[0]:
            case 0 | 1 as grid:
                self.say(mark="asking")
                questions = campaign.ask(5 if grid else 1)
                self._acknowledge(stored, "asked")
                for question in questions:
                    self.say(mark="writing")
                    campaign.tell(question.id, self._truth[question.row], by="Ann" if grid else None)
                    self._acknowledge(stored, "answered", question.row)
            case 2 if campaign.open_questions:
                self.say(mark="writing")
                campaign.skip(campaign.open_questions[-1].id)
                self._acknowledge(stored, "skipped")
            case 3 if campaign.book.steps:
                row = undo_step(campaign.book).row
                self.say(mark="writing")
                campaign.undo()
                self._acknowledge(stored, "undone", *([] if row is None else [row]))
            case 4:
                row = rng.randrange(campaign.n_rows)
                self.say(mark="writing")
                campaign.relabel(row, rng.randrange(10))
                self._acknowledge(stored, "relabelled", row)
            case 5:
                self.say(mark="writing")
                campaign.flag(rng.randrange(campaign.n_rows), "look")
                self._acknowledge(stored, "flagged")
            case 6 if campaign.n_asked:
                name = rng.choice(EXPORTS)
                self.say(mark="exporting", name=name)
                export(stored.records, campaign.result(), self._folder / name, given=stored.given)
                self.say(exported=name)

    def _acknowledge(self, stored: StoredCampaign, action: str, *rows: int) -> None:
        """Say what was done; what follows from it is computed after it was acknowledged, as always."""
        journal, answer = stored.journal, stored.campaign.book.label
        about = {"events": journal.n_events, "digest": journal.digest, "rows": [[row, answer(row)] for row in rows]}
        self.say(action=action, **about)
        self.say(seen=seen(stored), **about)


def seen(stored: StoredCampaign) -> str:
    """Return a digest of all that can be seen of a campaign."""
    return hashlib.sha256(repr(sorted(LIVES.view(stored.campaign).items())).encode()).hexdigest()


# ------------------------------------------------------------------------------------------------------ the parent


class Rounds:
    """One campaign after the other, each of many rounds."""

    def __init__(self, folder: Path, n_rows: int, n_actions: int, seed: int) -> None:
        self.n_actions = n_actions
        self.folder, self.rng = folder, random.Random(seed)  # noqa: S311 - no secret
        self.truth: list[int] = []
        self._write_data(n_rows)
        self._campaigns = 0
        self._thorough = False  # whether the present check trusts no cache

    @property
    def path(self) -> Path:
        return self.folder / "data.bela"

    def _write_data(self, n_rows: int) -> None:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        lines = [",".join(f"p{i}" for i in range(64))] + [",".join(f"{v:g}" for v in x) for x in X[:n_rows]]
        (self.folder / "data.csv").write_text("\n".join(lines) + "\n")
        self.truth = [int(label) for label in y[:n_rows]]

    def renew(self) -> None:
        """Begin another campaign, if there is none or it has come far."""
        if not self.path.exists() or self._in_child(self._has_come_far):
            shutil.rmtree(self.path, ignore_errors=True)
            self._campaigns += 1
            self._in_child(self._begin)

    def _has_come_far(self) -> bool:
        with open_campaign(self.path, read_only=True) as stored:
            return stored.campaign.n_asked >= min(MOST, 0.7 * len(self.truth))

    def _begin(self) -> None:
        method = "bela" if self._campaigns % 3 else "hsal"
        create_campaign(self.folder / "data.csv", self.path, target=0.99, seed=self._campaigns, method=method).close()

    def kill(self, moment: str) -> dict[str, Any]:
        """Let a child go on with the campaign, kill it, and say what was found."""
        self.renew()
        after = self.rng.randrange(1, 12) if moment in ("asking", "writing") else 1
        background, seed = self.rng.random() < 0.5, self.rng.random()
        child, pipe = self._fork(lambda out: self._child(out, seed).run(self.n_actions, background=background))
        lines = _Lines(pipe)
        for line in lines:
            after -= line.get("mark") == moment or moment == "anywhere"
            if after <= 0:
                break
        time.sleep(self.rng.random() * MOMENTS[moment])
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = lines.rest()
        died = next((line["mark"] for line in reversed(said) if "mark" in line), "opening")
        if died != "opening" and ("exported" in said[-1] or "events" in said[-1]):
            died = "between actions"
        self._thorough = self.rng.random() < 0.1
        found = self._in_child(lambda: self.check(said))
        return {"moment": moment, "died": died, "background": background, **found}

    def full(self, *, limit: bool) -> dict[str, Any]:
        """Let a child go on until there is no room, and with room again; say what was found."""
        self.renew()
        seed, ballast = self.rng.random(), self.folder / "ballast"
        room = self.rng.randrange(0, 60_000)

        def run(out: int) -> None:
            if limit:
                journal = self.path / "journal.sqlite"
                log = journal.with_name(f"{journal.name}-wal")
                size = max(journal.stat().st_size, log.stat().st_size if log.exists() else 0)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
            else:
                fill(ballast, room)
            child = self._child(out, seed)
            try:
                child.run(self.n_actions, background=False, ballast=ballast)
            except BelaError as error:  # it could not even be opened
                child.say(error=f"{type(error).__name__}: {error}")

        child, pipe = self._fork(run)
        said = _Lines(pipe).rest()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        make_room(ballast)
        self._thorough = self.rng.random() < 0.1
        found = self._in_child(lambda: self.check(said))
        errors = [line["error"] for line in said if "error" in line]
        wrong = found.pop("wrong")
        if status:
            wrong.append(f"the child ended with {status}")
        wrong += [f"unclear: {error}" for error in errors if not _is_clear(error)]
        return {"moment": "limit" if limit else "full", "died": "full", "errors": sorted(set(errors))[:3],
                "n_errors": len(errors), **found, "wrong": wrong}  # fmt: skip

    def _child(self, out: int, seed: float) -> Child:
        return Child(self.folder, self.truth, out, random.Random(seed))  # noqa: S311 - no secret

    def preload(self) -> None:
        """Import what children will need, once for all of them; a child says what that is."""

        def needed() -> list[str]:
            self._begin()
            with open_campaign(self.path) as stored:
                child = self._child(os.open(os.devnull, os.O_WRONLY), 0)
                for question in stored.campaign.ask(5):
                    stored.campaign.tell(question.id, self.truth[question.row])
                for name in EXPORTS:
                    export(stored.records, stored.campaign.result(), self.folder / name)
                    check_export(self.folder / name)
                child._acknowledge(stored, "asked")
            return list(sys.modules)

        for name in self._in_child(needed):
            with suppress(ImportError):
                importlib.import_module(name)
        shutil.rmtree(self.path)

    def _in_child(self, work: Callable[[], Any]) -> Any:
        """Return what a function returns, as plain values; it is called in a process of its own."""
        child, pipe = self._fork(lambda out: _write_all(out, json.dumps({"returned": work()}) + "\n"))
        said = _Lines(pipe).rest()
        os.waitpid(child, 0)
        if "returned" not in said[-1]:
            raise RuntimeError(said[-1])
        return said[-1]["returned"]

    def _fork(self, work: Callable[[int], None]) -> tuple[int, int]:
        pipe, out = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child:
            os.close(out)
            return child, pipe
        status = 1
        try:
            os.close(pipe)
            work(out)
            status = 0
        except BaseException as error:  # a child must not go on as its parent
            _write_all(out, json.dumps({"crashed": repr(error)}) + "\n")
        finally:
            os._exit(status)

    def check(self, said: list[dict[str, Any]]) -> dict[str, Any]:
        """Compare what is on disk with what was acknowledged."""
        wrong: list[str] = [line["crashed"] for line in said if "crashed" in line]
        acknowledged = [line for line in said if "events" in line]
        last = acknowledged[-1] if acknowledged else None
        try:
            if last is not None:
                wrong += self._check_moment(last, [line for line in acknowledged if "action" in line])
            looks = [line for line in acknowledged if "seen" in line]
            if looks and looks[-1]["events"] != (last or {}).get("events"):
                wrong += self._check_view(looks[-1])
            with open_campaign(self.path) as stored:  # nobody has it locked
                n_events, first = stored.journal.n_events, seen(stored)
            with open_campaign(self.path, read_only=True, recompute=self._thorough) as stored:
                if seen(stored) != first:
                    wrong.append("a second replay is another one")
        except BelaError as error:
            wrong.append(str(error))
            n_events = -1
        for name in EXPORTS:
            target = self.folder / name
            if os.path.lexists(target):
                wrong += check_export(target)
        n_actions = sum("action" in line for line in said)
        return {"acknowledged": n_actions, "events": n_events, "wrong": wrong}

    def _check_moment(self, last: dict[str, Any], actions: list[dict[str, Any]]) -> list[str]:
        journal = SQLiteJournal(self.path / "journal.sqlite", read_only=True, until=last["events"])
        n_events, digest = journal.n_events, journal.digest
        journal.close()
        if (n_events, digest) != (last["events"], last["digest"]):
            return [f"of {last['events']} acknowledged events there are {n_events}"]
        answers = {row: label for action in actions for row, label in action["rows"]}
        with open_campaign(self.path, read_only=True, until=last["events"]) as stored:
            lost = [row for row, label in answers.items() if stored.campaign.book.label(row) != label]
            wrong = [f"the answer to row {row} is lost" for row in lost]
            if "seen" in last and seen(stored) != last["seen"]:
                wrong.append("the replayed state is not the live one")
        return wrong

    def _check_view(self, look: dict[str, Any]) -> list[str]:
        with open_campaign(self.path, read_only=True, until=look["events"]) as stored:
            return [] if seen(stored) == look["seen"] else ["the replayed state is not the live one"]


class _Lines:
    """What a child says, line by line as it comes."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._text, self._said = pipe, b"", []  # type: ignore[var-annotated]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\n" in self._text:
                line, _, self._text = self._text.partition(b"\n")
                self._said.append(json.loads(line))
                yield self._said[-1]
            more = os.read(self._pipe, 1 << 16)
            if not more:
                return
            self._text += more

    def rest(self) -> list[dict[str, Any]]:
        for _ in self:
            pass
        os.close(self._pipe)
        return self._said


def _write_all(out: int, text: str) -> None:
    content = text.encode()
    while content:
        content = content[os.write(out, content) :]


def fill(ballast: Path, room: int) -> None:
    """Fill a disk, but for some room."""
    free = shutil.disk_usage(ballast.parent).free
    with ballast.open("wb") as file:
        file.write(b"\0" * max(free - room, 0))


def make_room(ballast: Path) -> None:
    """Make room again, or lift the limit on the size of files."""
    ballast.unlink(missing_ok=True)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def _is_clear(error: str) -> bool:
    kind = error.partition(":")[0]
    return kind in ("JournalError", "ExportError", "DataError") and "\n" not in error and len(error) < 400


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path | None]:
    """Lend a small disk in memory; None where nobody may have one."""
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"bela-disk-{os.getpid()}"  # noqa: S108 - the name is its own
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=False)  # noqa: S607
        folder.rmdir()


def main() -> None:
    """Run the rounds and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--full", type=int, default=0, help="rounds with a limit on the size of files")
    parser.add_argument("--disk", type=int, default=0, help="rounds on a small disk, where one may be mounted")
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--actions", type=int, default=60, help="of one child, at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rounds = Rounds(options.folder, options.rows, options.actions, options.seed)
    rounds.preload()
    moments, n_killed = cycle(MOMENTS), 0
    while n_killed < options.kills:
        found = rounds.kill(next(moments))
        n_killed += found["died"] != "closed"  # some come to their end before
        print(json.dumps(found), flush=True)
    for _ in range(options.full):
        print(json.dumps(rounds.full(limit=True)), flush=True)
    with small_disk(12) if options.disk else nullcontext() as disk:
        if disk is not None:
            rounds = Rounds(disk, min(options.rows, 600), options.actions, options.seed)
            for _ in range(options.disk):
                print(json.dumps(rounds.full(limit=False)), flush=True)


if __name__ == "__main__":
    main()
