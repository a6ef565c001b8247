"""What is certified of parts of the rows, in plain words and ready for JSON; and labels with all others left blank."""

from dataclasses import replace

import numpy as np

from bela.errors import ParameterError
from bela.records import Certificate, Json, Result, SurePart, check_sure_share
from bela.shares import percent_text, share_text


def keep_sure(result: Result, share: float) -> Result:
    """Return a result with the labels of the sure part alone: where fewer are certainly right, the label is None."""
    share = check_sure_share(share)
    if result.parts is None:
        raise ParameterError(f"the method {result.method!r} does not say which rows are sure: the method `bela` does")
    labels = result.labels.astype(object)
    labels[~result.parts.at(share).rows] = None
    return replace(result, labels=labels, only_sure=share)


def together(confidence: float, statements: int) -> float:
    """Return the confidence with which several statements hold together, if each holds with this one.

    >>> round(together(0.95, 2), 12)
    0.9
    """
    return max(0.0, 1.0 - statements * (1.0 - confidence))


def class_statement(certificate: Certificate) -> str:
    """Say what the bounds by class are worth."""
    return (
        "For all classes at once: of the rows that carry a label, at least the share that is given for it is right "
        f"(confidence {percent_text(certificate.confidence)}). This is a statement of its own: it and the one about "
        f"all labels hold together with confidence {percent_text(together(certificate.confidence, 2))}."
    )


def sure_claim(part: SurePart) -> str:
    """Say of which rows so many are right."""
    n_known, share = part.n_rows - part.n_inferred, percent_text(part.share)
    known = "1 row that was answered" if n_known == 1 else f"{n_known:,} rows that were answered"
    if not part.n_inferred:
        return f"Nothing is {share} sure yet beyond the {known}: it takes more draws."
    if part.rows.all():
        return f"At least {share} of the labels of all {part.n_rows:,} rows are right."
    covered = share_text(part.n_rows / len(part.rows))
    others = "the surest other one" if part.n_inferred == 1 else f"the {part.n_inferred:,} surest others"
    return f"At least {share} of the labels of {part.n_rows:,} rows ({covered}) are right: the {known}, and {others}."


def sure_statement(certificate: Certificate) -> str:
    """Say what the sure parts are worth."""
    alone, two, three = (percent_text(together(certificate.confidence, n)) for n in (1, 2, 3))
    return (
        f"All that is said of sure rows holds at once (confidence {alone}). This is a statement of its own: it and the "
        f"one about all labels hold together with confidence {two}, these and the one by class with {three}."
    )


def parts_document(result: Result) -> dict[str, Json]:
    """Return what is certified by class, and which rows are sure, for a certificate; nothing where nobody says."""
    if result.parts is None:
        return {"by_class": None, "sure": None}
    confidence = float(result.parts.confidence)
    classes: list[Json] = [
        {"label": one.label, "rows": one.n_rows, "lower": float(one.lower)} for one in result.parts.by_class
    ]
    parts: list[Json] = [
        {"share": share, "rows": part.n_rows, "inferred": part.n_inferred, "statement": sure_claim(part)}
        for share, part in result.parts.sure.items()
    ]
    return {
        "by_class": {"confidence": confidence, "statement": class_statement(result.certificate), "classes": classes},
        "sure": {"confidence": confidence, "statement": sure_statement(result.certificate), "parts": parts},
    }


def kept_document(result: Result) -> dict[str, Json] | None:
    """Say to which part the labels were kept; None where there are all of them."""
    if result.only_sure is None or result.parts is None:
        return None
    part = result.parts.at(result.only_sure)
    n_blank = int(np.sum(~part.rows))
    blank = f"The labels of the other {n_blank:,} rows are left blank." if n_blank else "No label is left blank."
    worth = f" This holds with confidence {percent_text(result.parts.confidence)}, as a statement of its own."
    return {
        "share": part.share, "rows": part.n_rows, "blank": n_blank, "confidence": float(result.parts.confidence),
        "statement": f"{sure_claim(part)} {blank}{worth if part.n_inferred else ''}",
    }  # fmt: skip
