"""Whether a program's arrays are so small that its operations should follow one another.

XLA's order for a CPU lets other threads start what does not need what runs just now. For small arrays
handing that over takes longer than computing it. Measured on 2 cores of a Zen 5 with jaxlib 0.12: a training
step of one layer of attention takes 0.78 to 0.87 of the time that it takes in XLA's order (0.65 with jaxlib
0.10), with at most 12,288 numbers in an array; a physics-informed network 0.49; nineteen more small programs
0.95 to 1.06. A gradient of a convolutional network with larger arrays took 1.2 to 1.45: so they are left out.
"""

import math
import re

MOST = 1 << 14  # numbers
LONGEST = 1 << 18  # characters of a program that is looked at
SHAPE = re.compile(r"tensor<((?:\d+x)+)")

IN_TURN: dict[str, bool | str] = {"xla_cpu_enable_concurrency_optimized_scheduler": False}


def are_all(text: str) -> bool:
    """Whether no array of a program, given as StableHLO text, has more than ``MOST`` numbers."""
    if len(text) > LONGEST:
        return False
    return all(math.prod(map(int, shape.split("x")[:-1])) <= MOST for shape in set(SHAPE.findall(text)))
