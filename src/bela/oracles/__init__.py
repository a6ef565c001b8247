"""Whatever answers questions and is believed.

The oracles that can be chosen by name are in `ORACLES`. Another package adds one by an entry point of the group
`bela.oracles` that names an `OracleKind`; one that comes with BELA is a module in `bela.oracles.kinds`.
"""

from bela.oracles._kinds import ORACLES, ModelChoice, OracleContext, OracleKind, OracleOptions
from bela.oracles._permissions import Permissions
from bela.oracles._reader import image_path
from bela.oracles.kinds._command import CommandOracle
from bela.oracles.kinds._function import CallableOracle, FunctionOracle, make_oracle
from bela.oracles.kinds._llm import MODEL_FILE, read_model
from bela.oracles.kinds._truth import TruthOracle
from bela.oracles.llm import ChatClient, LLMOracle, Price, Purse, model_name

__all__ = [
    "MODEL_FILE", "ORACLES", "CallableOracle", "ChatClient", "CommandOracle", "FunctionOracle", "LLMOracle",
    "ModelChoice", "OracleContext", "OracleKind", "OracleOptions", "Permissions", "Price", "Purse", "TruthOracle",
    "image_path", "make_oracle", "model_name", "read_model",
]  # fmt: skip
