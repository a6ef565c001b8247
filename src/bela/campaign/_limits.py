"""When a campaign stops: a target for all labels, one for those of each class, and a budget."""

from typing import TypedDict

from bela.book import Book
from bela.errors import ParameterError
from bela.methods import DEFAULT_METHOD
from bela.records import Assessment, Label, Parts


class Limits(TypedDict):
    """When to stop, as events record it."""

    target: float | None
    class_target: float | None
    budget: int | None


def check_limits(
    target: float | None, budget: int | None, n_rows: int, *, class_target: float | None = None, method: str
) -> Limits:
    """Return when to stop; an error if a target or a budget makes no sense."""
    if target is not None and not 0 < target <= 1:
        raise ParameterError(f"target is a share above 0 and at most 1, not {target}")
    if class_target is not None and not 0 < class_target <= 1:
        raise ParameterError(f"a class target is a share above 0 and at most 1, not {class_target}")
    if budget is not None and not (0 <= budget <= n_rows and int(budget) == budget):
        raise ParameterError(f"budget is a whole number from 0 to the number of rows, {n_rows}, not {budget}")
    if class_target is not None and target is None and budget is None:
        raise ParameterError("a class target stands beside a target or a budget: give one of them too")
    if class_target is not None and method != DEFAULT_METHOD:
        raise ParameterError(f"the method {method!r} cannot aim at classes: leave the class target out, or use 'bela'")
    return {
        "target": None if target is None else float(target), "budget": None if budget is None else int(budget),
        "class_target": None if class_target is None else float(class_target),
    }  # fmt: skip


def all_reached(book: Book, assessment: Assessment) -> bool:
    """Whether all labels together, and those of each class, are certified as far as somebody wants them to be."""
    target, class_target = book.target, book.class_target
    if assessment.reached is not None:
        return assessment.reached
    if (target is None and class_target is None) or (target is not None and assessment.certificate.lower < target):
        return False
    return class_target is None or not classes_below(class_target, assessment.parts)


def classes_below(class_target: float, parts: Parts | None) -> list[Label | None]:
    """Return the classes whose labels are not certified to their target; None stands for all while none is known."""
    bounds = () if parts is None else parts.by_class
    return [one.label for one in bounds if one.lower < class_target] if bounds else [None]
