"""Statistics of counts: no data, no models, no input or output.

The bounds are in `BOUNDS`, each of one of the shapes in `bela.protocols`. One that comes with BELA is a module here
that registers itself; another package adds one by an entry point of the group `bela.bounds`.
"""

from bela.bounds._adaptive_hoeffding import AdaptiveHoeffding
from bela.bounds._betting import ErrorBets, ErrorsLower
from bela.bounds._leaves import HSALBound, PLALBound, admissible_labels, label_interval
from bela.bounds._mending import draws_to_mend
from bela.bounds._planning import AlphaBudget, draws_needed, likely_shares
from bela.bounds._registry import BOUNDS, draw_order, priorities
from bela.bounds._uniform import PriorPosterior, errors_upper, errors_upper_one_look, log_prior_posterior, share_lower

__all__ = [
    "BOUNDS", "AdaptiveHoeffding", "AlphaBudget", "ErrorBets", "ErrorsLower", "HSALBound", "PLALBound",
    "PriorPosterior", "admissible_labels", "draw_order", "draws_needed", "draws_to_mend", "errors_upper",
    "errors_upper_one_look", "label_interval", "likely_shares", "log_prior_posterior", "priorities",
    "share_lower",
]  # fmt: skip
