"""Whatever answers questions."""

from bela.oracles._command import CommandOracle
from bela.oracles._function import FunctionOracle
from bela.oracles._oracles import CallableOracle, TruthOracle, answers_of, make_oracle
from bela.oracles._plain import image_path, to_json

__all__ = [
    "CallableOracle",
    "CommandOracle",
    "FunctionOracle",
    "TruthOracle",
    "answers_of",
    "image_path",
    "make_oracle",
    "to_json",
]
