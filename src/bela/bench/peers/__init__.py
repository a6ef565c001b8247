"""Other people's programs, one file each: how they are installed, and how they are asked.

A file has `INSTALL` (the arguments of each `pip install`, in their order), `VARIABLES` (of its environment meanwhile),
`PACKAGE` (whose version is told), `ABOUT` (what was used of it) and `LEARNER`. It is run by `_loop.py` in the
environment of its own, where BELA is not: it imports nothing of BELA, and what it is about where it is used.
"""
