"""Statistics of counts: no data, no models, no input or output."""

from bela.bounds._adaptive_hoeffding import AdaptiveHoeffding
from bela.bounds._betting import ErrorBets
from bela.bounds._clopper_pearson import share_lower
from bela.bounds._hypergeometric import errors_upper_one_look
from bela.bounds._planning import draws_needed, level_reached, likely_shares, nats_won
from bela.bounds._prior_posterior import PriorPosterior, errors_upper
from bela.bounds._spending import AlphaBudget

__all__ = [
    "AdaptiveHoeffding",
    "AlphaBudget",
    "ErrorBets",
    "PriorPosterior",
    "draws_needed",
    "errors_upper",
    "errors_upper_one_look",
    "level_reached",
    "likely_shares",
    "nats_won",
    "share_lower",
]
