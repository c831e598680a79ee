"""Whether loops of a program stack so much that the order of its operations should save memory.

XLA's default order on a CPU starts everything as early as it can. Beside a loop that is a copy of a stack
which the product after the loop reads, made before the loop and kept throughout it. With the order that saves
memory the gradient of an LSTM of 400 steps takes 315 MB instead of 367, in the same processor time.
"""

import math
import re

STACKED = re.compile(r"stablehlo\.dynamic_update_slice .*-> tensor<((?:\d+x)+)(complex<)?[a-z]+(\d+)")
MUCH = 1 << 20

SAVES_MEMORY: dict[str, bool | str] = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}


def are_large(text):
    """Whether a program, given as StableHLO text, has loops and updates arrays of 1 MiB and more in all."""
    return "stablehlo.while" in text and sum(_bytes(*found) for found in STACKED.findall(text)) >= MUCH


def _bytes(shape, pair, bits):
    return math.prod(map(int, shape.split("x")[:-1])) * int(bits) * (2 if pair else 1) // 8
