"""What is taken away from the page, by keyboard: a table by two people, texts of 77 classes, pictures."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image
from tests.web.browser.tickets import NAMES


@pytest.fixture
def take(tmp_path):
    """Export in a format by keyboard, and return the files that come."""

    def export(visitor, title: str) -> dict[str, bytes]:
        visitor.settle()
        visitor.page.get_by_role("link", name="Export", exact=True).press("Enter")
        with visitor.page.expect_download() as download:
            visitor.page.locator(".format", has=visitor.page.get_by_text(title, exact=True)).press("Enter")
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        with zipfile.ZipFile(file) as packed:
            return {name: packed.read(name) for name in packed.namelist()}

    return export


def rows_of(files: dict[str, bytes]) -> list[dict[str, str]]:
    """Return the rows of a CSV export, which comes with its certificate."""
    [data] = [name for name in files if name.endswith(".csv")]
    assert set(files) == {data, f"{data}.certificate.json", "README.txt"}
    return list(csv.DictReader(io.StringIO(files[data].decode())))


def test_a_table_by_two_people(visit, serve, take, tmp_path):
    """CSV, JSON and Label Studio's tasks say who answered and when, what somebody else said, and who flagged what."""
    path = tmp_path / "pets.csv"
    path.write_text("colour,weight\n" + "".join(f"{'black' if i % 2 else 'white'},{i}\n" for i in range(90)))
    server = serve("pets", data=path, classes=["cat", "dog"], serving={"team": True, "overlap": 1.0})
    lea = visit(server.url, "Lea")
    row = lea.row
    lea.press("1")
    lea.settle()
    server.answers_of("Lea", 1)
    max_ = visit(server.url, "Max", role="annotator")
    while max_.row != row:
        max_.press(" ")
    max_.page.locator(".suggested .tag", has_text="A second opinion").wait_for()
    assert max_.page.locator(".suggested strong").count() == 0
    max_.page.keyboard.press("f")
    max_.page.keyboard.type("no tail, = 1")
    max_.page.keyboard.press("Control+Enter")
    max_.toast("is flagged")
    max_.press("2")
    max_.settle()

    found = rows_of(take(lea, "CSV"))[row]
    assert (found["label"], found["label_source"], found["answered_by"]) == ("cat", "oracle", "Lea")
    assert found["answered_at"].endswith("Z")
    [opinion], [flag] = json.loads(found["opinions"]), json.loads(found["flags"])
    assert (opinion["by"], opinion["label"], flag["by"], flag["comment"]) == ("Max", "dog", "Max", "no tail, = 1")

    files = take(lea, "JSON")
    assert json.loads(files["pets-labelled.json"])[row]["opinions"] == [opinion]

    files = take(lea, "Label Studio")
    assert [name for name in files if name.endswith(".xml")]
    [tasks] = [json.loads(files[name]) for name in files if name.endswith("label-studio.json")]
    [task] = [task for task in tasks if task["annotations"] and task["meta"].get("flags")]
    assert [one["result"][0]["value"]["choices"] for one in task["annotations"]] == [["cat"], ["dog"]]


def test_texts_of_many_classes(visit, serve, take, tmp_path):
    """Quotes, lines and formulas come back as they are; the page says that there are formulas, or escapes them."""
    texts = [f'=1+{i} "my card",\nline two of {NAMES[i % 77]}' for i in range(160)]
    path = tmp_path / "tickets.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    ada = visit(serve("tickets", data=path, classes=NAMES).url)
    row = ada.row
    ada.page.keyboard.type("not work ref")
    ada.press("Enter")
    files = take(ada, "CSV")
    found = rows_of(files)
    assert [one["text"] for one in found] == texts
    assert (found[row]["label"], found[row]["answered_by"]) == ("refund_not_working", "me")
    ada.says("spreadsheet", ".made")
    assert "spreadsheet" in files["README.txt"].decode()
    ada.page.get_by_label("In CSV and TSV").press("Space")
    assert [one["text"] for one in rows_of(take(ada, "CSV"))] == [f"'{text}" for text in texts]


def test_pictures_are_named_by_their_files(visit, serve, take, tmp_path):
    """The export of a folder of pictures has their paths, and no pixels."""
    folder = tmp_path / "shots"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(40):
        Image.fromarray(rng.integers(0, 255, (12, 12, 3), dtype=np.uint8)).save(folder / f"shot {i:02}.png")
    bo = visit(serve("shots", data=folder, classes=["cat", "dog"]).url)
    row, name = bo.row, bo.page.locator(".stage figcaption").text_content()
    bo.press("2")
    found = rows_of(take(bo, "CSV"))
    assert len(found) == 40
    assert (found[row]["label"], found[row]["answered_by"]) == ("dog", "me")
    assert name in found[row].values()
