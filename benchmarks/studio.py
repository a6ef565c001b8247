"""Hand exports to Label Studio's own importer, in a process of its own environment.

    python -m venv /tmp/label-studio && /tmp/label-studio/bin/pip install label-studio
    bela export DIR --to tasks.label-studio.json
    /tmp/label-studio/bin/python benchmarks/studio.py tasks.label-studio.json [...]

Label Studio runs in this process with a database of its own in a temporary folder, and without the statistics that it
sends otherwise. A project is made from the configuration beside each file, and the file posted to its import as a
browser does. Says what came of it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def start(folder: str) -> Any:
    """Set Label Studio up in a folder; return a client that is logged in."""
    os.environ |= {
        "LABEL_STUDIO_BASE_DATA_DIR": folder, "DJANGO_DB": "sqlite", "COLLECT_ANALYTICS": "0", "SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "0", "FEATURE_FLAGS_OFFLINE": "1", "DEBUG": "1",
    }  # fmt: skip
    import label_studio

    sys.path.insert(0, str(Path(label_studio.__file__).parent))
    os.environ["DJANGO_SETTINGS_MODULE"] = "core.settings.label_studio"  # which is found from now on
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from django.conf import settings
    from django.core.management import call_command
    from organizations.models import Organization
    from rest_framework.test import APIClient
    from users.models import User

    call_command("migrate", verbosity=0)
    settings.ALLOWED_HOSTS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = ["*"], None
    user = User.objects.create_user(email="somebody@example.org", password="only for this run")  # noqa: S106
    user.active_organization = Organization.create_organization(created_by=user, title="here")
    user.save()
    client = APIClient()
    client.force_authenticate(user)
    client.force_login(user)
    return client


def import_file(client: Any, path: Path) -> dict[str, Any]:
    """Import the tasks of a file into a new project, and compare what is there with what was in it."""
    from tasks.models import Task

    config = path.with_name(f"{path.name}.config.xml").read_text(encoding="utf-8")
    made = client.post("/api/projects/", {"title": "project", "label_config": config}, format="json")
    if made.status_code != 201:
        return {"file": path.name, "status": made.status_code, "said": made.content.decode()[:500]}
    project = made.json()["id"]
    with path.open("rb") as file:
        taken = client.post(f"/api/projects/{project}/import", {"file": file}, format="multipart")
    if taken.status_code != 201:
        return {"file": path.name, "status": taken.status_code, "said": taken.content.decode()[:500]}
    wanted, found = (
        json.loads(path.read_text(encoding="utf-8")),
        list(Task.objects.filter(project=project).order_by("id")),
    )
    same = sum(
        (task.data, task.meta, task.annotations.count(), task.predictions.count())
        == (one["data"], one["meta"], len(one["annotations"]), len(one["predictions"]))
        for task, one in zip(found, wanted, strict=True)
    )
    return {"file": path.name, "status": taken.status_code, "tasks": len(found), "as they were": same}


def main() -> None:
    """Import each file that is named."""
    with tempfile.TemporaryDirectory() as folder:
        client = start(folder)
        for name in sys.argv[1:]:
            print(json.dumps(import_file(client, Path(name))), flush=True)


if __name__ == "__main__":
    main()
