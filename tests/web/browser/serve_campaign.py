"""Serve a campaign for a test until it is killed; the one argument is a JSON object with the arguments of `main`.

Creates the campaign if it is not there, with the settings given, and answers its first questions by the truth if asked.
"""

import json
import sys
from pathlib import Path

import numpy as np

from bela.campaign import create_campaign, open_campaign
from bela.web import serve


def main(*, data: str, folder: str, port: int, settings: dict, serving: dict, answered: int = 0) -> None:
    """Open or create the campaign, and serve it: to a team by links, and to one person without."""
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


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
