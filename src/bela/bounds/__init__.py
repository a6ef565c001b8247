"""Statistics of counts: no data, no models, no input or output."""

from bela.bounds._adaptive_hoeffding import AdaptiveHoeffding
from bela.bounds._clopper_pearson import share_lower

__all__ = ["AdaptiveHoeffding", "share_lower"]
