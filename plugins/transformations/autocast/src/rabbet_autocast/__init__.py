"""Products in a smaller dtype, in programs written for float32: ``autocast`` and ``loss_scaling``."""

from rabbet_autocast.casting import autocast, lowered, rules
from rabbet_autocast.scaling import LossScaling, loss_scaling

__all__ = ["LossScaling", "autocast", "loss_scaling", "lowered", "rules"]
