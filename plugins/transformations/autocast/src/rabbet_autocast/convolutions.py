"""The rule for convolutions."""

from rabbet_autocast.casting import product as conv_general_dilated

__all__ = ["conv_general_dilated"]
