"""Whatever answers questions and is believed.

The oracles that can be chosen by name are in `ORACLES`. Another package adds one by an entry point of the group
`bela.oracles` that names an `OracleKind`; one that comes with BELA is a module in `bela.oracles.kinds`.
"""

from bela.oracles._kinds import ORACLES, OracleContext, OracleKind, OracleOptions
from bela.oracles._reader import image_path
from bela.oracles.kinds._command import CommandOracle
from bela.oracles.kinds._function import CallableOracle, FunctionOracle, make_oracle
from bela.oracles.kinds._truth import TruthOracle

__all__ = [
    "ORACLES", "CallableOracle", "CommandOracle", "FunctionOracle", "OracleContext", "OracleKind", "OracleOptions",
    "TruthOracle", "image_path", "make_oracle",
]  # fmt: skip
