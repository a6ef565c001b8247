"""Labelled datasets in the formats that other tools read, each with its certificate.

All formats have the columns of the data, in their order and with their values, and then

=============== ==============================================================================================
`label`         the label; where the data had a column with some of the labels, that column is completed instead
`label_source`  "oracle" for an answer, "given" for a label that the data brought, "inferred" for the rest; "withheld"
                where the label is left blank, as only sure ones were wanted, "unreadable" where nobody can read the row
`leaf`          the number of the leaf that the row is in
`confidence`    how likely the label is right: calibrated, not guaranteed
`answered_by`   who gave the label, where somebody did; of campaigns, as the three that follow
`answered_at`   when that was, in UTC
`opinions`      what else was said about the row: by whom, when, and the label
`flags`         why somebody flagged the row: by whom, when, and the comment
=============== ==============================================================================================

Columns that were hidden from whoever answered are left out, unless they are asked for.

A name that the data have already gets an underscore. Beside a file stands `<file>.certificate.json`, in a folder
`certificate.json`: the bound, what it rests on, and the checksums of data, labels and file.

The formats are in `EXPORTS`. Another package adds one by an entry point of the group `bela.exports` that names an
`ExportFormat`; one that comes with BELA is a module in `bela.exports.formats`.
"""

from bela.exports._campaigns import CampaignRows, campaign_rows
from bela.exports._certificate import (
    certificate_differences,
    certificate_document,
    certificate_path,
    labels_digest,
    read_certificate,
    suggestion_sentence,
)  # fmt: skip
from bela.exports._export import check_export, export
from bela.exports._formats import EXPORTS, ExportFormat, LabelledRows, Layout, loaded_formats, plan_columns
from bela.exports._history import History, history_of
from bela.exports._parts import class_statement, keep_sure, parts_document, sure_claim, sure_statement, together
from bela.exports._spreadsheets import without_escape

__all__ = [
    "EXPORTS", "CampaignRows", "ExportFormat", "History", "LabelledRows", "Layout", "campaign_rows",
    "certificate_differences", "certificate_document", "certificate_path", "check_export", "class_statement",
    "export", "history_of", "keep_sure", "labels_digest", "loaded_formats", "parts_document", "plan_columns",
    "read_certificate", "suggestion_sentence", "sure_claim", "sure_statement", "together", "without_escape",
]  # fmt: skip
