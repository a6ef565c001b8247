"""Tasks that Label Studio imports: answers and given labels as annotations, the rest as predictions with their score.

Beside the file stands `<file>.config.xml`, the labelling configuration to paste into the project before the tasks are
imported. Paths of images are as they were: serve their folder to Label Studio. It refuses all tasks if one of them has
nothing to show, or an object: there is an empty text then, or one that is JSON.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa

from bela.errors import LabelError
from bela.exports._formats import EXPORTS, SOURCES, ExportFormat, LabelledRows, free_name
from bela.exports.formats._text import is_array_data, is_made_of_others, json_blocks, to_json, write_list
from bela.labels import label_to_text
from bela.records import Json

_MOST_SHOWN = 30
_MANY_CLASSES = 20
_IMAGE = re.compile(r"\.(png|jpe?g|gif|bmp|webp|svg|tiff?)$", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")  # what Label Studio finds after a dollar sign
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A column that the annotator sees, None for the id of the row: its key in a task, and the tag that shows it."""

    column: str | None
    key: str
    tag: str

    @property
    def heading(self) -> str:
        """Its name without what XML cannot hold, and what Label Studio would replace."""
        return _NOT_XML.sub(" ", "row" if self.column is None else self.column).replace("$", "")


_NUMBER = _Shown(column=None, key="row", tag="Text")


def write_label_studio(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write a task for each row, and return the labelling configuration that goes with them.

    A task's `data` are the columns as they were; its number, leaf and confidence are in `meta`, and so is who said
    what and when. An opinion is one more annotation. None names who made it, as Label Studio refuses people whom it
    does not know: they become those of whoever imports them.
    """
    blocks = json_blocks(rows)
    first = list(islice(blocks, 1))
    hidden = rows.layout.names["label"]  # where the data have some: whoever labels should not see a label
    shown = _choose(first[0][1], first[0][2], hidden) if first else [_NUMBER]
    control = free_name("label", rows.layout.columns)  # Label Studio's exports have it beside the columns
    with path.open("xb") as file:
        write_list((_tasks(rows, block, shown, control) for block in chain(first, blocks)), file)
    return {".config.xml": _labelling_config([label_to_text(label) for label in rows.result.classes], shown, control)}


def _labelling_config(classes: list[str], shown: list[_Shown], control: str) -> str:
    """Return the XML that tells Label Studio what to show, which labels there are, and what the choice is called."""
    view = ET.Element("View")
    items = [column for column in shown if column.tag != "Header"]
    for column in shown:
        if column not in items:
            ET.SubElement(view, "Header", value=f"{column.heading}: ${column.key}", size="5")
            continue
        if len(items) > 1:
            ET.SubElement(view, "Header", value=column.heading, size="5")
        i = items.index(column)
        ET.SubElement(view, column.tag, name=f"item_{i + 1}" if i else "item", value=f"${column.key}")
    choices = ET.SubElement(view, "Choices", name=control, toName="item", choice="single")
    if len(classes) > _MANY_CLASSES:
        choices.set("layout", "select")
    for label in classes:
        if _NOT_XML.search(label):
            raise LabelError(f"the label {label!r} has a control character that Label Studio cannot take: rename it")
        ET.SubElement(choices, "Choice", value=label)
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def _choose(batch: pa.RecordBatch, columns: dict[str, list[Json]], hidden: str) -> list[_Shown]:
    """Choose what an annotator sees: pictures and texts as such, other values as headings, lists not at all."""
    shown = []
    keys = set(batch.schema.names)
    for i, field in enumerate(list(batch.schema)[: 10 * _MOST_SHOWN]):
        if field.name == hidden or is_made_of_others(field.type):
            continue
        tag = "Header"
        if pa.types.is_large_string(field.type):
            example = next((text for text in batch.column(i).to_pylist() if text), "")
            tag = "Image" if _IMAGE.search(example) else "Text"
        objects = any(
            isinstance(value, (dict, list)) for value in columns[field.name]
        )  # which stay, and are shown as text
        key = field.name if _VARIABLE.match(field.name) and not objects else free_name(f"column_{i}", keys)
        keys.add(key)
        shown.append(_Shown(column=field.name, key=key, tag=tag))
    # What the choice is about comes first: a picture, else a text; a task without either is shown by its number.
    shown = sorted(shown, key=lambda column: ("Image", "Text", "Header").index(column.tag))[:_MOST_SHOWN]
    if not shown or shown[0].tag == "Header":
        shown.insert(0, replace(_NUMBER, key=free_name(_NUMBER.key, keys)))
    return shown


def _tasks(
    rows: LabelledRows, block: tuple[int, pa.RecordBatch, dict[str, list[Json]]], shown: list[_Shown], control: str
) -> list[str]:
    start, batch, columns = block
    if is_array_data(batch.schema):
        columns = {}
    aliases = [column for column in shown if column.key not in columns]
    tasks = []
    for i in range(batch.num_rows):
        data = {name: values[i] for name, values in columns.items()}
        for column in aliases:
            data[column.key] = str(rows.id_of(start + i)) if column.column is None else columns[column.column][i]
        data |= {column.key: _as_shown(data[column.key]) for column in shown}
        tasks.append(to_json(_task(rows, start + i, data, control)))
    return tasks


def _task(rows: LabelledRows, row: int, data: dict[str, Json], control: str) -> dict[str, object]:
    result, known = rows.result, bool(rows.result.known[row])
    label, leaf, confidence = result.labels[row], int(result.leaf[row]), float(result.probability[row])
    choice = _choice(row, label_to_text(label), control)
    prediction = {"model_version": f"BELA, method {result.method}", "score": confidence, "result": [choice]}
    history = rows.history
    opinions = () if history is None else history.opinions.get(row, ())
    said = [choice, *(_choice(row, str(one["label"]), control) for one in opinions)] if known else []
    meta = {"row": rows.id_of(row), "label_source": SOURCES[rows.source[row]], "leaf": leaf, "confidence": confidence}
    if history is not None:
        meta |= {"answered": history.answers.get(row), "opinions": opinions, "flags": history.flags.get(row, ())}
    return {
        "id": row + 1,  # Label Studio counts from one
        "data": data,
        "annotations": [{"result": [one], "was_cancelled": False, "ground_truth": False} for one in said],
        "predictions": [] if known or label is None else [prediction],
        "meta": meta,
    }


def _as_shown(value: Json) -> Json:
    if value is None:
        return ""
    return to_json(value) if isinstance(value, (dict, list)) else value


def _choice(row: int, label: str, control: str) -> dict[str, Json]:
    value: Json = {"choices": [label]}
    return {"id": f"row-{row}", "from_name": control, "to_name": "item", "type": "choices", "value": value}


EXPORTS.add("label-studio", ExportFormat(
    title="Label Studio", description="Answers as annotations, the rest as predictions", write=write_label_studio,
    endings=(".label-studio.json",),
))  # fmt: skip
