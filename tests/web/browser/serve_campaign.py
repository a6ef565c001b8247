"""Serve a campaign for a test until the process is killed."""

import os
from pathlib import Path

import numpy as np

from bela.campaign import create_campaign, open_campaign
from bela.web import serve


def main(
    *, data: str, folder: str, port: int, settings: dict, serving: dict, log: str, answered: int = 0
) -> None:  # fmt: skip
    """Open or create the campaign, and serve it: to a team by links, and to one person without.

    It is created with the settings given, if it is not there; its first questions are answered by the truth if asked.
    """
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # not a pipe, which might fill up while nobody reads it
    os.dup2(said, 1)
    os.dup2(said, 2)
    path = Path(folder)
    if path.exists():
        stored = open_campaign(path, background=True)
    else:
        stored = create_campaign(data, path, background=True, **settings)
        truth = np.load(data)["digit"] if answered else None
        while truth is not None and stored.campaign.n_asked < answered:
            for question in stored.campaign.ask(10):
                stored.campaign.tell(question.id, str(truth[question.row]), by="the start")
    serve(stored, port=port, token=bool(serving.get("team")), open_browser=False, **serving)
