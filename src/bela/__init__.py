"""Label a whole dataset for a few hundred answers, and know how good the labels are."""

from typing import TYPE_CHECKING, Any

from bela.campaign import Campaign, Simulation, certify, label, simulate
from bela.errors import BelaError
from bela.records import Certificate, Question, Result, Role, StopReason

if TYPE_CHECKING:
    from bela._sklearn import BelaLabeler

__version__ = "0.1.0"

__all__ = [
    "BelaError", "BelaLabeler", "Campaign", "Certificate", "Question", "Result", "Role", "Simulation", "StopReason",
    "certify", "label", "simulate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "BelaLabeler":  # imports scikit-learn, which takes a second
        from bela._sklearn import BelaLabeler

        return BelaLabeler
    raise AttributeError(f"module 'bela' has no attribute {name!r}")
