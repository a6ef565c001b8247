"""A script that dies while it exports, at every single step or at random moments, and says what it found after that.

    python crashing.py TARGET FORMAT [HOW_OFTEN_AT_RANDOM]
    python crashing.py FOLDER one|several HOW_OFTEN        four at once, none of which dies

Each line is a JSON object: the version that is in place (None for none) and what is wrong with it; for single steps
also whether the export got to its end before, and what is in place and what is hidden after the next export.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from bela.errors import ExportError
from bela.exports import check_export, export, labels_digest, read_certificate

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))
STEPS = ("replace", "fsync", "mkdir", "unlink", "rmdir")


def die_after(n: int) -> None:
    """Let the process die in place of its n-th step on disk."""
    left = n

    def wrap(step):
        def dying(*args, **kwargs):
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return step(*args, **kwargs)

        return dying

    for name in STEPS:
        setattr(os, name, wrap(getattr(os, name)))


def die(n: int, target: Path, name: str, version: int) -> bool:
    """Export in another process that dies after n steps; say whether it got to its end before."""
    child = os.fork()
    if child == 0:
        die_after(n)
        export(*TABLES.some_rows(40, version), target, format=name)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def look(target: Path, versions: dict[str, int]) -> dict[str, object]:
    """Say which version is in place, and what is wrong with it."""
    if not target.exists():
        return {"version": None, "problems": []}
    return {"version": versions[read_certificate(target)["labels_sha256"]], "problems": check_export(target)}


def die_everywhere(target: Path, name: str) -> None:
    """Die at each step of a first export, and of one that replaces another."""
    versions = {labels_digest(TABLES.some_rows(40, version)[1].labels): version for version in range(3)}
    for replacing in (False, True):
        for n in range(200):
            if replacing:
                export(*TABLES.some_rows(40, 0), target, format=name)
            done = die(n, target, name, 1)
            found = look(target, versions)
            export(*TABLES.some_rows(40, 2), target.with_name("other"), format=name)  # cleans up
            after = look(target, versions)["version"]
            hidden = [entry for entry in os.listdir(target.parent) if entry.startswith(".")]
            print(json.dumps({"replacing": replacing, "done": done, "after": after, "hidden": hidden} | found))
            if done:
                break
            if not replacing and after is not None:
                shutil.rmtree(target) if target.is_dir() else target.unlink()
        else:
            raise SystemExit("200 steps were not enough")


def die_anywhere(target: Path, name: str, times: int) -> None:
    """Export version after version, killed at a random moment, many times."""
    rng = random.Random(name)  # noqa: S311 - no secret
    cases = [TABLES.some_rows(4000, version) for version in range(3)]
    versions = {labels_digest(result.labels): version for version, (_, result) in enumerate(cases)}
    for _ in range(times):
        child = os.fork()
        if child == 0:
            while True:
                for records, result in cases:
                    export(records, result, target, format=name)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps(look(target, versions)))


def work_side_by_side(targets: list[Path], times: int) -> None:
    """Export in as many processes at once as there are targets, and say what each was refused."""
    records, result = TABLES.some_rows(20)
    children = []
    for target in targets:
        child = os.fork()
        if child == 0:
            for _ in range(times):
                try:
                    export(records, result, target)
                except ExportError as error:
                    print(json.dumps({"refused": str(error)}) + "\n", end="", flush=True)  # one write a line
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2] == "one":
        work_side_by_side([place / "out.csv"] * 4, int(sys.argv[3]))
    elif sys.argv[2] == "several":
        work_side_by_side([place / f"out{i}.csv" for i in range(4)], int(sys.argv[3]))
    elif len(sys.argv) == 3:
        die_everywhere(place, sys.argv[2])
    else:
        die_anywhere(place, sys.argv[2], int(sys.argv[3]))
