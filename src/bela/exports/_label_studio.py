"""Tasks that Label Studio imports: answers as annotations, inferred labels as predictions with their score."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bela.errors import LabelError
from bela.exports._certificate import label_text
from bela.exports._json import json_blocks, write_list
from bela.exports._place import durable
from bela.exports._plain import is_array_data, is_nested, is_text, to_json, undictionary
from bela.exports._rows import SOURCES, LabelledRows, free_name

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_SHOWN = 30
_MANY_CLASSES = 20
_IMAGE = re.compile(r"\.(png|jpe?g|gif|bmp|webp|svg|tiff?)$", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")  # what Label Studio finds after a dollar sign
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A column that the annotator sees: under which key a task has it, and by which tag it is shown.

    None for a column is the number or id of the row.
    """

    column: str | None
    key: str
    tag: str


_NUMBER = _Shown(column=None, key="row", tag="Text")


def write_label_studio(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write a task for each row, and return the labelling configuration that goes with them.

    A task's `data` are the columns as they were; its number, leaf and confidence are in `meta`. No annotation names
    who made it, as Label Studio refuses people whom it does not know: they become those of whoever imports them.
    """
    blocks = json_blocks(rows)
    first = next(blocks, None)
    hidden = {rows.layout.label} if rows.layout.in_place else set()  # whoever labels should not see a label
    shown = [_NUMBER] if first is None else _choose(first[1], hidden)
    with durable(path) as file:
        whole = chain(() if first is None else (first,), blocks)
        write_list((_tasks(rows, start, batch, columns, shown) for start, batch, columns in whole), file)
    classes = [label_text(label) for label in rows.result.classes]
    return {".config.xml": labelling_config(classes, shown, _control(rows))}


def labelling_config(classes: list[str], shown: list[_Shown], control: str) -> str:
    """Return the XML that tells Label Studio what to show, which labels there are, and what the choice is called."""
    view = ET.Element("View")
    items = [column for column in shown if column.tag != "Header"]
    for column in shown:
        if column.tag == "Header":
            ET.SubElement(view, "Header", value=f"{_sane(column.column)}: ${column.key}", size="5")
            continue
        if len(items) > 1:
            ET.SubElement(view, "Header", value=_sane(column.column), size="5")
        ET.SubElement(view, column.tag, name=_item_name(items.index(column)), value=f"${column.key}")
    choices = ET.SubElement(view, "Choices", name=control, toName=_item_name(0), choice="single")
    if len(classes) > _MANY_CLASSES:
        choices.set("layout", "select")
    for label in classes:
        if _NOT_XML.search(label):
            raise LabelError(f"the label {label!r} has a control character that Label Studio cannot take: rename it")
        ET.SubElement(choices, "Choice", value=label)
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def _control(rows: LabelledRows) -> str:
    """Return what the choice is called: nothing that a column is, as Label Studio's exports have both side by side."""
    return free_name("label", set(rows.layout.columns))


def _item_name(i: int) -> str:
    return "item" if i == 0 else f"item_{i + 1}"


def _sane(name: str | None) -> str:
    """Return a column's name as a heading: without what XML cannot hold, and what Label Studio would replace."""
    return _NOT_XML.sub(" ", "row" if name is None else name).replace("$", "")


def _choose(batch: pa.RecordBatch, hidden: set[str]) -> list[_Shown]:
    """Choose what an annotator sees: pictures and texts as such, other values as headings, lists not at all."""
    import pyarrow as pa

    shown = []
    keys = set(batch.schema.names)
    for i, name in enumerate(batch.schema.names[: 10 * _MOST_SHOWN]):
        array = undictionary(batch.column(i))
        kind = array.type
        if name in hidden or is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            continue
        tag = "Header"
        if is_text(kind):
            example = next((text for text in array.to_pylist() if text), "")
            tag = "Image" if _IMAGE.search(example) else "Text"
        key = name if _VARIABLE.match(name) else free_name(f"column_{i}", keys)
        keys.add(key)
        shown.append(_Shown(column=name, key=key, tag=tag))
    # What the choice is about comes first: a picture, else a text; a task without either is shown by its number.
    shown.sort(key=lambda column: ("Image", "Text", "Header").index(column.tag))
    shown = shown[:_MOST_SHOWN]
    if not shown or shown[0].tag == "Header":
        shown.insert(0, replace(_NUMBER, key=free_name(_NUMBER.key, keys)))
    return shown


def _tasks(
    rows: LabelledRows, start: int, batch: pa.RecordBatch, columns: dict[str, list[Any]], shown: list[_Shown]
) -> list[str]:
    if is_array_data(batch.schema):
        columns = {}
    aliases = [column for column in shown if column.key not in columns]
    control = _control(rows)
    tasks = []
    for i in range(batch.num_rows):
        row = start + i
        data = {name: values[i] for name, values in columns.items()}
        for column in aliases:
            data[column.key] = str(rows.id_of(row)) if column.column is None else columns[column.column][i]
        tasks.append(to_json(_task(rows, row, data, control)))
    return tasks


def _task(rows: LabelledRows, row: int, data: dict[str, Any], control: str) -> dict[str, Any]:
    result = rows.result
    confidence = float(result.probability[row])
    known = bool(result.known[row])
    choice = {
        "id": f"row-{row}",
        "from_name": control,
        "to_name": _item_name(0),
        "type": "choices",
        "value": {"choices": [label_text(result.labels[row])]},
    }
    annotation = {"result": [choice], "was_cancelled": False, "ground_truth": False}
    prediction = {"model_version": f"BELA, method {result.method}", "score": confidence, "result": [choice]}
    return {
        "id": row + 1,  # Label Studio counts from one
        "data": data,
        "annotations": [annotation] if known else [],
        "predictions": [] if known else [prediction],
        "meta": {
            "row": rows.id_of(row),
            "label_source": SOURCES[rows.source[row]],
            "leaf": int(result.leaf[row]),
            "confidence": confidence,
        },
    }
