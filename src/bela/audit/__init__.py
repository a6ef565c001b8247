"""The audit of labels that exist already: draw rows, compare with the truth, certify or refute."""

from bela.audit._audit import Audit, AuditResult, Mistake, Verdict, certify
from bela.audit._evidence import Draw

__all__ = ["Audit", "AuditResult", "Draw", "Mistake", "Verdict", "certify"]
