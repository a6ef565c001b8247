"""A whole campaign in a real browser, by keyboard alone, to its target and its export."""

import csv
import zipfile

from bela.exports import check_export


def test_whole_campaign_by_keyboard(visit, serve, tmp_path):
    """From no class at all to a file of labels of which as many are right as was promised."""
    server = serve("whole", target=0.9)
    ada = visit(server.url)
    known: set[str] = set()
    while (row := ada.row_or_end) is not None:
        label = ada.truth[row]
        if not known:
            ada.page.locator("#first-classes:focus").wait_for()
            ada.page.keyboard.type(label)
            ada.page.keyboard.press("Control+Enter")
            ada.page.locator(".first-minute").wait_for(state="hidden")
        elif label not in known:
            ada.page.keyboard.press("+")
            ada.page.keyboard.type(label)
            ada.page.keyboard.press("Enter")
            ada.page.locator(".palette .class", has_text=label).wait_for()
        known.add(label)
        ada.page.keyboard.press(label)
        ada.wait("(name) => document.querySelector('h1').textContent !== name", f"Row {row}")
    ada.settle()  # the target may be reached before the last answer has arrived
    state = server.get("state")
    assert state["stop_reason"] == "target"
    assert state["lower"] >= 0.9
    assert ada.page.locator(".reached").text_content().startswith("Target reached")

    ada.page.get_by_role("link", name="Export the labels").press("Enter")
    with ada.page.expect_download() as download:
        ada.page.get_by_role("button", name="CSV").press("Enter")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    zipfile.ZipFile(file).extractall(tmp_path)
    data = file.with_suffix("")
    assert check_export(data) == []  # its certificate is with it, and about it
    with data.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    labels = [row["label"] for row in rows]
    assert sum(row["answered_by"] == "me" for row in rows) == state["answers"]
    assert "digit" not in rows[0]
    right = sum(label == true for label, true in zip(labels, ada.truth, strict=True))
    assert right >= state["lower"] * len(labels)
    ada.page.get_by_label("Target, per cent").fill("97")
    ada.page.get_by_role("button", name="Change").press("Enter")
    ada.page.get_by_text("The target is 97").wait_for()
    assert server.get("state")["target"] == 0.97
