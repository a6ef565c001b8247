"""What `bela bench` measures: every claim that is made about BELA, and other programs beside it."""

from bela.bench._data import LabelledData, load_labelled
from bela.bench._measure import one_pass, wide_pass
from bela.bench._memory import OwnMemory, peak_mb
from bela.bench._parts import ONE_THREAD, BenchPart, Scope
from bela.bench._run import PARTS, chosen_parts, run_parts

__all__ = [
    "ONE_THREAD", "PARTS", "BenchPart", "LabelledData", "OwnMemory", "Scope", "chosen_parts", "load_labelled",
    "one_pass", "peak_mb", "run_parts", "wide_pass",
]  # fmt: skip
