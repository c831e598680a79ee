"""Convolutions and windows for ``rabbet.lax``, and reductions by any computation.

``rabbet.lax`` finds them here when one of their names is first used.
"""

from rabbet_convolution.convolution import (
    ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, conv, conv_dimension_numbers,
    conv_general_dilated, conv_general_dilated_local, conv_general_dilated_patches, conv_transpose,
    conv_with_general_padding,
)  # fmt: skip
from rabbet_convolution.padding import PaddingType, padtype_to_pads
from rabbet_convolution.reductions import reduce, reduce_window

__all__ = [
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "PaddingType", "conv",
    "conv_dimension_numbers", "conv_general_dilated", "conv_general_dilated_local",
    "conv_general_dilated_patches", "conv_transpose", "conv_with_general_padding", "padtype_to_pads",
    "reduce", "reduce_window",
]  # fmt: skip
