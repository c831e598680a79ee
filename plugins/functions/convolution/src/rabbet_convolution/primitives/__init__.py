"""The primitives of convolutions, windows and reductions by any computation, each with its rules."""

from rabbet_convolution.primitives.computations import reduce, reduce_window
from rabbet_convolution.primitives.convolution import conv_general_dilated
from rabbet_convolution.primitives.window_choices import select_and_gather_add, select_and_scatter_add
from rabbet_convolution.primitives.window_scatter import select_and_scatter
from rabbet_convolution.primitives.window_sums import reduce_window_max, reduce_window_min, reduce_window_sum

__all__ = [
    "conv_general_dilated", "reduce", "reduce_window", "reduce_window_max", "reduce_window_min",
    "reduce_window_sum", "select_and_gather_add", "select_and_scatter", "select_and_scatter_add",
]  # fmt: skip
