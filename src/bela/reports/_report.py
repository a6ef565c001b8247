"""One HTML file about a campaign that can be sent to a colleague: it needs no network, and runs no script."""

import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree.ElementTree import ParseError, XMLParser

from jinja2 import Environment, PackageLoader, StrictUndefined

from bela.errors import ExportError
from bela.exports import suggestion_sentence
from bela.labels import label_to_text
from bela.records import Guarantee
from bela.reports._charts import draw_course, draw_sureness
from bela.shares import percent_text, share_text
from bela.storage import write_durably
from bela.views import CampaignFacts

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # what no document may hold
_REASONS = {
    "target": "The target is reached.",
    "refuted": "The target is refuted.",
    "budget": "The budget is used up.",
    "exhausted": "There is nothing left to ask.",
    "stopped": "The campaign may go on: this is how it stood.",
}
_ROLES = {"training": "to learn from", "bounds": "drawn at random"}
_MOST_LEAVES = 40
_MOST_CLASSES = 60
_TEMPLATES = Environment(
    loader=PackageLoader("bela.reports", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip
_TEMPLATES.filters.update(
    label=label_to_text,
    n=lambda number: f"{number:,}",
    percent=percent_text,
    percent_1=lambda share: f"{100 * share:.1f} %",
    share=share_text,
    width=lambda share: f"{100 * min(max(share, 0.0), 1.0):.2f}%",
    moment=lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M"),
)


def write_report(facts: CampaignFacts) -> str:
    """Return the report as one HTML document; everything that comes from data or people is escaped."""
    certificate, course = facts.certificate, facts.course
    suggested = certificate.get("with_suggestion", {"draws": 0, "others": 0})  # which older documents do not have
    guarantee, audit = Guarantee(certificate["guarantee"]), facts.audit
    lower = certificate["lower"] if audit is None else course[-1].lower
    after = f"after {course[-1].answers:,} answers at least {share_text(course[-1].lower)}" if course else ""
    words = f"Chart: {after} of the labels are right."
    document = _TEMPLATES.get_template("_report.html").render(
        facts=facts, certificate=certificate, counts=certificate["counts"], guarantee=guarantee, lower=lower,
        suggested=suggested, again=certificate.get("again", {"asked": 0}), cost=certificate.get("cost", 0.0),
        helper=certificate.get("helper"),
        suggestion=suggestion_sentence(suggested["draws"]) if suggested["draws"] else "",
        claim=audit.claim if audit else guarantee.claim(lower, certificate["confidence"]),
        n_inferred=_n_inferred(facts), roles=_ROLES,
        reason=_REASONS.get(certificate["stop_reason"], certificate["stop_reason"]),
        course=draw_course(course, certificate["target"], words) if len(course) > 1 else None,
        sureness=draw_sureness(facts.sureness, "Chart: rows by the probability of their label.") if not audit else None,
        classes=sorted(facts.classes, key=lambda one: -one.n_rows)[:_MOST_CLASSES],
        most=max((one.n_rows for one in facts.classes), default=1) or 1,
        leaves=facts.leaves[:_MOST_LEAVES], smaller_leaves=facts.leaves[_MOST_LEAVES:],
        pictured=any(one.pictures for one in facts.asked), several=len({one.by for one in facts.asked}) > 1,
        guidelines=_well_formed(facts.guidelines),
    )  # fmt: skip
    return _NO_TEXT.sub("\ufffd", document)


def save_report(text: str, path: Path) -> None:
    """Write a report, in place of what was there; if that fails, what was there stays."""
    try:
        write_durably(path, text.encode())
    except OSError as error:
        raise ExportError(f"the report {path} cannot be written: {error.strerror or error}") from None


def _n_inferred(facts: CampaignFacts) -> int:
    counts: dict[str, int] = facts.certificate["counts"]
    return max(0, counts["rows"] - counts["asked"] - counts["given"] - facts.n_corrected)


def _well_formed(html: str) -> str:
    """Return guidelines as Markdown made them; nothing rather than something half understood."""
    parser = XMLParser()  # noqa: S314 - not from outside: what Markdown made, without declarations
    try:
        parser.feed(f"<div>{_NO_TEXT.sub('', html)}</div>")
        parser.close()
    except ParseError:
        return ""
    return html.strip()
