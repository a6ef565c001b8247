"""Run the command line with `python -m bela.cli`."""

import sys

from bela.cli import main

if __name__ == "__main__":
    sys.exit(main())
