"""Labelled datasets in the formats that other tools read, each with its certificate.

All formats have the columns of the data, in their order and with their values, and then

=============== ==============================================================================================
`label`         the label; where the data had a column with some of the labels, that column is completed instead
`label_source`  "oracle" for an answer, "given" for a label that the data brought, "inferred" for the rest
`leaf`          the number of the leaf that the row is in
`confidence`    how likely the label is right: calibrated, not guaranteed
=============== ==============================================================================================

A name that the data have already gets an underscore. Beside a file stands `<file>.certificate.json`, in a folder
`certificate.json`: the bound, what it rests on, and the checksums of data, labels and file.

csv, tsv
    UTF-8. Texts are in quotes and numbers are not; a missing value is nothing at all, an empty text is `""`. Values
    made of others are JSON, bytes are in base 64. Of an array there is nothing but `row` and our columns. Labels such
    as "nan" or "None" are read by pandas with ``keep_default_na=False``, and floats to the last bit with
    ``float_precision="round_trip"``. Texts are not altered: one that begins with `=` is a formula to a spreadsheet, so
    import columns from strangers as text.
parquet
    Every type as it was.
jsonl, json
    An object a line, or one list of them. NaN becomes null, times ISO 8601, bytes base 64; infinite numbers are
    refused, as JSON has none.
hf
    A folder for `datasets.load_from_disk`, written without that package.
label-studio
    A list of tasks: answers and given labels as annotations, the rest as predictions with their score, and
    `<file>.config.xml`, the labelling configuration to paste into the project. Paths of images are as they were: serve
    their folder to Label Studio.
snorkel
    An .npz file: ``LabelModel(cardinality=len(f["classes"])).fit(L_train=f["L"])``, see `write_snorkel`.
"""

from bela.exports._certificate import (
    certificate_differences,
    certificate_document,
    certificate_path,
    labels_digest,
    read_certificate,
)
from bela.exports._export import FORMATS, check_export, export
from bela.exports._rows import Layout, plan_columns
from bela.exports._snorkel import write_snorkel

__all__ = [
    "FORMATS",
    "Layout",
    "certificate_differences",
    "certificate_document",
    "certificate_path",
    "check_export",
    "export",
    "labels_digest",
    "plan_columns",
    "read_certificate",
    "write_snorkel",
]
