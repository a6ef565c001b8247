"""One measurement in a process of its own: `python -m bela.bench NAME JOB` prints what was found as JSON."""

import json
import sys

from bela.bench import PARTS

if __name__ == "__main__":
    name, job = sys.argv[1:]
    part = next(part for part in PARTS.values() if part.name == name)
    print(json.dumps(part.measure(**json.loads(job))))
