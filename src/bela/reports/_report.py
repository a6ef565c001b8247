"""One HTML file about a campaign that can be sent to a colleague: it needs no network, and runs no script."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from xml.etree.ElementTree import Element

from bela.reports._charts import as_drawing, draw_course, draw_sureness
from bela.reports._elements import Child, h, parse_fragment, to_html
from bela.reports._facts import AskedRow, CampaignFacts, ClassFacts, Example
from bela.reports._parts import label_name, named, percent, percent_floor, picture, table, terms, width

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_LEAVES = 40
_MOST_CLASSES = 60
_REASONS = {
    "target": "The target is reached.",
    "budget": "The budget is used up.",
    "exhausted": "There is nothing left to ask.",
    "stopped": "The campaign may go on: this is how it stood.",
}
_SOURCES = {"oracle": "answered", "given": "from the data", "corrected": "corrected"}
_ROLES = {"training": "to learn from", "bounds": "drawn at random"}


def write_report(facts: CampaignFacts) -> str:
    """Return the report as one HTML document; everything that comes from data or people is escaped."""
    style = files("bela.reports").joinpath("_report.css").read_text(encoding="utf-8")
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        h("meta", name="referrer", content="no-referrer"),
        h("title", f"{facts.name}: labels and certificate"),
        h("style", style),
    )
    body = h(
        "body",
        h("header", h("h1", facts.name, dir_="auto"), h("p.soft", f"Labels and certificate, as of {facts.created}")),
        h("main", [part for part in _parts(facts) if part is not None]),
        h("footer", h("p", "Written by BELA. This file holds everything it shows, and runs no script.")),
    )
    return "<!DOCTYPE html>\n" + to_html(h("html", head, body, lang="en")) + "\n"


def _parts(facts: CampaignFacts) -> list[Element | None]:
    return [
        _certificate(facts),
        _course(facts),
        _classes(facts),
        _leaves(facts),
        _examples(facts),
        _questions(facts),
        _people(facts),
        _guidelines(facts),
        _origin(facts),
    ]


def _certificate(facts: CampaignFacts) -> Element:
    """The number, what it means, and what it rests on."""
    certificate = facts.certificate
    bound, confidence, counts = certificate["bound"], certificate["confidence"], certificate["counts"]
    guaranteed = certificate["kind"] in ("anytime", "one-look")
    claim = f"of all {counts['rows']:,} labels are right ({percent(confidence)} sure)"
    if bound <= 0:
        number, claim = "Nothing certain yet", "The answers so far are too few for a number that can be trusted."
    elif guaranteed:
        number = f"At least {percent_floor(bound)}"
    else:
        number, claim = (
            percent_floor(bound),
            f"says the published bound about {counts['rows']:,} labels. It is no guarantee.",
        )
    return h(
        "section",
        h("h2", "What is certain"),
        h("p.number", number),
        h("p", h("strong", claim)),
        _scale(bound, facts.expected, certificate["target"]),
        h("p.soft", certificate["statement"]),
        [h("p", text) for text in _meaning(facts)],
        terms(
            [
                ("State", _REASONS.get(certificate["stop_reason"], certificate["stop_reason"])),
                ("Answers", f"{counts['asked']:,}: {counts['training']:,} to learn from, {counts['bounds']:,} drawn"),
                ("Skipped", f"{counts['skipped']:,}" if counts["skipped"] else ""),
                ("Known from the data", f"{counts['given']:,}" if counts["given"] else ""),
                ("Corrected unasked", f"{facts.n_corrected:,}" if facts.n_corrected else ""),
                (
                    "Right, as expected",
                    "" if facts.expected is None else f"{percent(facts.expected, 1)} (an estimate)",
                ),
                ("Still needed", _forecast(facts)),
            ]
        ),
    )


def _meaning(facts: CampaignFacts) -> list[str]:
    """Say in plain words what the number rests on, and what it cannot know."""
    counts = facts.certificate["counts"]
    inferred = counts["rows"] - counts["asked"] - counts["given"] - facts.n_corrected
    texts = [
        f"People were asked about {counts['asked']:,} of {counts['rows']:,} rows. The other labels (about "
        f"{max(inferred, 0):,}) were inferred from these answers."
    ]
    if facts.certificate["kind"] == "anytime":
        texts.append(
            "The number counts only answers to rows that were drawn at random after the labels were made, so the "
            "labels cannot have been fitted to them. It holds at every moment at once: looking often, and stopping "
            "when it is high enough, does not make it less true."
        )
    if counts["skipped"]:
        texts.append("Rows that were drawn and skipped count as wrong.")
    texts.append(
        "Right means: what the people who answered would have said. The number cannot know whether they are mistaken. "
        "Where several people answered about the same row, it rests on the first answer, or on what was settled later."
    )
    return texts


def _scale(bound: float, expected: float | None, target: float | None) -> Element:
    words = f"{percent_floor(bound)} certain" + ("" if target is None else f", target {percent(target)}")
    bar = h("div.scale", role="img", aria_label=words)
    if expected is not None:
        bar.append(h("i.expected", style=width(expected)))
    bar.append(h("i", style=width(bound)))
    if target is not None:
        bar.append(h("b", style=f"left: {100 * target:.2f}%"))
        late = ".late" if target > 0.85 else ""
        bar.append(h(f"span{late}", f"target {percent(target)}", style=f"left: {100 * target:.2f}%"))
    return bar


def _course(facts: CampaignFacts) -> Element | None:
    if len(facts.course) < 2:
        return None
    last = facts.course[-1]
    words = f"Chart: after {last.answers:,} answers {percent_floor(last.lower)} of the labels are certainly right."
    return h(
        "section",
        h("h2", "How it came about"),
        h(
            "figure",
            as_drawing(draw_course(facts.course, facts.certificate["target"]), words),
            h("figcaption", h("span.key"), "certainly right", h("span.key.expected"), "right, as the model expects"),
        ),
        h("p.note", "The certain share falls where all rows were labelled anew, and is built up again from new draws."),
    )


def _classes(facts: CampaignFacts) -> Element:
    most = max((one.n_rows for one in facts.classes), default=1) or 1
    shown = sorted(facts.classes, key=lambda one: -one.n_rows)[:_MOST_CLASSES]
    rows: list[list[Child]] = [
        [label_name(one.label), h("span.share", h("i", style=width(one.n_rows / most))), f"{one.n_rows:,}",
         f"{one.n_known:,}"]
        for one in shown
    ]  # fmt: skip
    left = len(facts.classes) - len(shown)
    return h(
        "section",
        h("h2", "Classes"),
        table(("Label", "", "Rows", "of these known"), rows, numbers={2, 3}),
        h("p.note", f"and {left:,} smaller ones") if left else None,
        h("h3", "How sure the labels are"),
        h("figure", as_drawing(draw_sureness(facts.sureness), "Chart: rows by the probability of their label.")),
        _confusions(facts),
    )


def _confusions(facts: CampaignFacts) -> list[Element]:
    if not facts.n_foretold:
        return []
    parts = [
        h("h3", "What was foretold"),
        h("p", f"{facts.n_right:,} of {facts.n_foretold:,} answers were what the labels had said before."),
    ]
    if facts.confusions:
        rows: list[list[Child]] = [
            [label_name(foretold), label_name(answered), f"{n:,}"] for foretold, answered, n in facts.confusions[:12]
        ]
        parts.append(table(("Foretold", "Answered", "Times"), rows, numbers={2}))
    return parts


def _leaves(facts: CampaignFacts) -> Element | None:
    if not facts.leaves:
        return None
    shown, rest = facts.leaves[:_MOST_LEAVES], facts.leaves[_MOST_LEAVES:]
    rows: list[list[Child]] = [
        [label_name(leaf["label"]), f"{leaf['size']:,}", f"{leaf['known']:,}", percent(leaf["probability"], 1),
         percent_floor(leaf["lower"])]
        for leaf in shown
    ]  # fmt: skip
    left = f"and {len(rest):,} smaller leaves with {sum(leaf['size'] for leaf in rest):,} rows" if rest else ""
    return h(
        "section",
        h("h2", "Leaves"),
        h("p.soft", "Parts of the data whose rows share a label and resemble each other, the largest first."),
        table(("Label", "Rows", "Known", "Right, as expected", "Certainly right"), rows, numbers={1, 2, 3, 4}),
        h("p.note", left) if left else None,
    )


def _examples(facts: CampaignFacts) -> Element | None:
    shown = [one for one in facts.classes if one.surest or one.doubtful]
    if not shown:
        return None
    return h(
        "section",
        h("h2", "Examples"),
        h("p.soft", "Of rows that nobody was asked about: the surest of each label, and those most in doubt."),
        [_example_class(one) for one in shown],
    )


def _example_class(one: ClassFacts) -> list[Element]:
    parts = [h("h3", label_name(one.label))]
    for name, examples in (("surest", one.surest), ("most in doubt", one.doubtful)):
        if examples:
            pictured = any(example.pictures for example in examples)
            parts.append(h("p.note", name))
            parts.append(h("ul.rows" if pictured else "ul.rows.texts", [_example(example) for example in examples]))
    return parts


def _example(example: Example) -> Element:
    note = _SOURCES.get(example.source) or percent(example.probability, 1)
    return h(
        "li",
        [picture(address) for address in example.pictures],
        h("span.text", example.text, dir_="auto") if example.text else None,
        h("span.soft", f"{example.name} · {note}", dir_="auto"),
    )


def _questions(facts: CampaignFacts) -> Element:
    asked, total = facts.asked, facts.certificate["counts"]["asked"] + facts.certificate["counts"]["skipped"]
    shown = "all of them" if len(asked) >= total else f"{len(asked):,} of {total:,}, evenly chosen"
    pictured = any(one.pictures for one in asked)
    several = len({one.by for one in asked}) > 1
    head = [*(("",) if pictured else ()), "Row", "Asked", "Foretold", "Answer", *(("By",) if several else ()), "When"]
    listed = table(head, [_question(one, pictured, several) for one in asked])
    return h(
        "section",
        h("h2", "What was asked"),
        h("details", h("summary", f"The questions in their order ({shown})"), listed)
        if asked
        else h("p", "Nothing yet."),
    )


def _question(one: AskedRow, pictured: bool, several: bool) -> list[Child]:
    answer = h("span.soft", "skipped") if one.answer is None else label_name(one.answer)
    if one.answer is not None and one.foretold is not None and one.foretold != one.answer:
        answer.set("class", "wrong")
    when = datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m-%d %H:%M")
    row = h(
        "span", h("strong", one.name, dir_="auto"), h("span.text", f"\n{one.text}", dir_="auto") if one.text else None
    )
    pictures = h("span", [picture(address) for address in one.pictures])
    return [
        *((pictures,) if pictured else ()), row, _ROLES.get(one.role, one.role),
        "" if one.foretold is None else label_name(one.foretold), answer, *((named(one.by),) if several else ()), when,
    ]  # fmt: skip


def _people(facts: CampaignFacts) -> Element | None:
    if len(facts.people) < 2 and not facts.flags:
        return None
    parts: list[Element | None] = [h("h2", "People")]
    if len(facts.people) > 1:
        rows: list[list[Child]] = [
            [named(name), f"{answers:,}", f"{skipped:,}"] for name, answers, skipped in facts.people
        ]
        parts.append(table(("Name", "Answers", "Skipped"), rows, numbers={1, 2}))
    if facts.agreement:
        parts.append(h("h3", "Agreement"))
        parts.append(terms([(name, f"{value:.3f}") for name, value in facts.agreement]))
    if facts.flags:
        parts.append(h("h3", "Marked for later"))
        rows = [[named(row), named(comment), named(by)] for row, comment, by in facts.flags]
        parts.append(table(("Row", "Comment", "By"), rows))
    return h("section", parts)


def _guidelines(facts: CampaignFacts) -> Element | None:
    words = parse_fragment(facts.guidelines) if facts.guidelines.strip() else None
    if words is None:
        return None
    words.set("class", "guidelines")
    words.set("dir", "auto")
    return h("section", h("h2", "What people were told to go by"), words)


def _origin(facts: CampaignFacts) -> Element:
    certificate = facts.certificate
    journal = certificate.get("journal", {})
    return h(
        "section",
        h("h2", "How to check it"),
        h(
            "p",
            "The labels follow from the data, the seed and the answers in the campaign's journal; ",
            h("code", "bela verify"),
            " computes them again and compares.",
        ),
        terms(
            [
                *facts.data,
                ("Method, seed", f"{certificate['method']}, {certificate['seed']}"),
                ("Fingerprint of the data", certificate["data"]["fingerprint"]),
                ("Digest of the labels", certificate["labels_sha256"]),
                ("Journal", f"{journal['events']:,} events, {journal['digest']}" if journal else ""),
                *facts.versions,
            ]
        ),
    )


def _forecast(facts: CampaignFacts) -> str:
    found, target = facts.forecast, facts.certificate["target"]
    if found is None or target is None or facts.certificate["stop_reason"] == "target":
        return ""
    return f"about {found.answers:,} answers for {percent(target)} (between {found.low:,} and {found.high:,})"
