"""Whether a program has many products of arrays so small that its operations should follow one another.

XLA's order for a CPU lets other threads start what does not need what runs just now. For small products
handing that over takes longer than computing them; the order that saves memory hands over less. Measured on 2
cores of a Zen 5 with jaxlib 0.12, in alternating processes: a physics-informed network took 0.46 to 0.51 of
the time, a network with a layer of attention 0.83 to 0.88. Twelve other programs with small arrays and fewer
products took 0.91 to 1.09, so they stay as they are. So do long programs: training steps of transformers with
1, 2 and 4 layers of width 32 took 1.00 to 1.02, 0.92 to 1.01 and 1.23 to 1.31, with up to 1.4 of the memory
for temporaries. Arrays of up to ``FEW`` numbers XLA computes in turn by itself.
"""

import math
import re

from rabbet_pjrt_cpu.long_stacks import SAVES_MEMORY

FEW, MOST = 128, 1 << 14  # numbers of the largest array
PRODUCTS = 8  # at least
LONGEST = 40_000  # characters: the physics-informed networks that gained have up to 39,000
SHAPE = re.compile(r"tensor<((?:\d+x)+)")
DEVICES = re.compile(r"mhlo\.num_(?:partitions|replicas) = (?!1\b)")

IN_TURN = SAVES_MEMORY


def are_multiplied_often(text: str) -> bool:
    """Whether a program for one device, given as StableHLO text, has ``PRODUCTS`` products and more, and its
    largest array more than ``FEW`` numbers and at most ``MOST``.
    """
    if len(text) > LONGEST or text.count("stablehlo.dot_general") < PRODUCTS or DEVICES.search(text):
        return False
    sizes = [math.prod(map(int, shape.split("x")[:-1])) for shape in set(SHAPE.findall(text))]
    return FEW < max(sizes, default=0) <= MOST
