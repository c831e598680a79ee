"""What a CPU's library of kernels holds besides: memory that the compiler's account leaves out.

XLA:CPU hands whole fusions to YNNPACK, which keeps values within a fusion in memory of its own while that
runs. Measured with jaxlib 0.12, one such fusion at a time: what a contraction computes and a reduction in the
same fusion sums up is there as a whole; so are the operands of a convolution that are made within the fusion,
and its second one once more, in another order. Elementwise operations need no more than blocks.
"""

from __future__ import annotations

from rabbet_plan.hlo import Instruction, Module

LIBRARY = "__ynn_fusion"
CONTRACTIONS = ("dot", "convolution")
NAMES = ("bitcast", "reshape", "copy")  # that only pass a value on


def held_by_libraries(module: Module) -> int:
    """The most bytes that one fusion of a program holds beyond its operands and results."""
    return max([held_within(i) for i in module.instructions.values() if is_of_library(i)], default=0)


def is_of_library(i: Instruction) -> bool:
    """Whether an instruction is a fusion that a library computes."""
    return i.opcode == "fusion" and i.config.get("fusion_config", {}).get("kind") == LIBRARY


def held_within(fusion: Instruction) -> int:
    """The bytes that one fusion holds while it runs."""
    inside = [i for computation in fusion.called for i in computation.instructions]
    held = {i.id: i.shape.size for i in inside if i.opcode in CONTRACTIONS and is_reduced(i)}
    packed = 0
    for i in inside:
        if i.opcode == "convolution":
            held |= {x.id: x.shape.size for x in map(source, i.operands) if x.opcode != "parameter"}
            packed = max(packed, i.operands[1].shape.size)
    return sum(held.values()) + packed


def is_reduced(i: Instruction) -> bool:
    """Whether a reduction reads a value, or what elementwise operations make of it."""
    return any(
        user.opcode == "reduce" or (user.opcode not in CONTRACTIONS and is_reduced(user)) for user in i.users
    )


def source(i: Instruction) -> Instruction:
    """What a value is another name of."""
    while i.opcode in NAMES and i.operands:
        i = i.operands[0]
    return i


__all__ = ["held_by_libraries", "held_within"]
