"""Whatever answers questions."""

from bela.oracles._oracles import CallableOracle, TruthOracle, make_oracle

__all__ = ["CallableOracle", "TruthOracle", "make_oracle"]
