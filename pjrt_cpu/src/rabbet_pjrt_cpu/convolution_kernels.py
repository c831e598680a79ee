"""Whose kernels a program's convolutions run in: XLA's own (of Eigen), or those of its library, the default.

XLA decides it for a whole program, by an option, so it is read off the program's text. A program gets Eigen's
if each of its convolutions is of a kind that gains by them. Measured on machines with AVX-512 (Zen 4 and
Zen 5, 2 cores), float32, channels last, 3x3 kernels with stride 1; the time with Eigen's kernels as a share
of the time with the library's:

| examples, places, features in and out | jaxlib | forward | gradient by the kernel | by the operand |
|---|---|---|---|---|
| 64, 14x14, 16 to 32 | 0.10 | 0.75 | 0.39 | 0.84 |
| 8, 56x56, 64 to 64 | 0.10 | 0.58 | 0.78 | 0.61 |
| 16, 28x28, 128 to 128 | 0.10 | 0.70 | 0.75 | 1.12 |
| 32, 14x14, 256 to 256 | 0.10 | 1.05 | 0.58 | 1.08 |
| 1, 56x56, 64 to 64 | 0.10 | 1.17 | 3.3 | 1.11 |
| 32, 32x32, 3 to 32 | 0.10 | 0.40 | 0.37 | 2.5 |
| 64, 14x14, 16 to 32 | 0.12 | 0.80 | 0.64 | 0.60 |
| 32, 16x16, 32 to 64 | 0.12 | 1.04 | 0.64 | 1.16 |
| 16, 32x32, 64 to 64 | 0.12 | 1.07 | 0.71 to 1.28 | 1.0 to 1.9 |
| 32, 32x32, 3 to 32 | 0.12 | 1.26 | 0.34 | 2.5 |

Kernels of 5x5 and 7x7 and strides of 2 win on some machines and lose on others (0.23 to 4), so they keep the
library's.
"""

import math
import re

from rabbet.extend.native import compiler_has

CONVOLUTION = re.compile(
    r"stablehlo\.convolution\(.*?dim_numbers = \[(.*?)\]x\[(.*?)\]->\[(.*?)\], window = \{(.*?)\} "
    r"\{(.*?)\} : \(tensor<(.*?)>, tensor<(.*?)>\) -> tensor<(.*?)>"
)
STEPS = re.compile(r"(?:stride|lhs_dilate|rhs_dilate) = \[(.*?)\]")
UNGROUPED = "batch_group_count = 1 ", "feature_group_count = 1 "
LEAST_EXAMPLES = 8  # that the gradient by a kernel sums over
LEAST_FEATURES = 16
MOST_PLACES = 9  # of a kernel
MOST_PRODUCTS = {False: 128 * 128, True: 16 * 32}  # features in times features out; True: with a fast library


def are_faster_in_eigen(text, version=None):
    """Whether the convolutions of a program, given as StableHLO text, are faster without the library.

    Args:
      version: of jaxlib, such as ``"0.10.2"``; None: of the one that is installed.
    """
    count = text.count("stablehlo.convolution(")
    if not count:
        return False
    most = MOST_PRODUCTS[compiler_has("convolutions of many features", version)]
    found = CONVOLUTION.findall(text)
    return len(found) == count and all(gains(most, *parts) for parts in found)


def gains(most, _, rhs, result, window, groups, x, w, out):
    """Whether one convolution does, from the parts of its text."""
    plain = {n for steps in STEPS.findall(window) for n in steps.split(", ")} == {"1"}
    if not plain or "reverse" in window or not all(part in groups for part in UNGROUPED):
        return False
    if not all(array.endswith("xf32") for array in (x, w, out)):
        return False
    kernel, made = sizes(rhs, w), sizes(result, out)
    examples = features = kernel["i"]  # what products are summed over besides places
    if places(made) < places(kernel):  # the gradient by a kernel: the kernel here is an image
        return examples >= LEAST_EXAMPLES and kernel["o"] >= LEAST_FEATURES and places(made) <= MOST_PLACES
    few = min(features, kernel["o"]) < LEAST_FEATURES
    return not few and places(kernel) <= MOST_PLACES and features * kernel["o"] <= most


def sizes(numbers, array):
    """The size of each dimension by its name: ``i``, ``o``, ``b``, ``f`` or a number."""
    return dict(zip(numbers.split(", "), map(int, array.split("x")[:-1]), strict=True))


def places(by_name):
    return math.prod([n for name, n in by_name.items() if name.isdigit()])
