"""Answers needed to certify a share of the labels, for every method: part a of `bela bench`, into docs/answers.

    python benchmarks/answers.py [--methods bela,margin,...] [--seeds 5]

Needs BELA_DATA. Rows that are there are kept, so that a run that was broken off goes on; delete those of
docs/answers/answers.csv that are to be measured anew. `--seeds 0` writes the page anew.
"""

import sys
from pathlib import Path

from bela.cli import main

OUT = Path(__file__).parent.parent / "docs" / "answers"

if __name__ == "__main__":
    sys.exit(main(["bench", "--only", "a", "--to", str(OUT), "--seeds", "5", *sys.argv[1:]]))
