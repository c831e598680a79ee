"""How many operations instructions do, and how many bytes they move between memory and processor."""

from __future__ import annotations

import math

from rabbet_plan.execution_counts import inside
from rabbet_plan.hlo import Instruction, Shape
from rabbet_plan.protobuf import message, numbers, one

ELEMENTWISE = frozenset(
    """
    abs add atan2 cbrt ceil cosine divide erf exponential exponential-minus-one floor log log-plus-one
    logistic maximum minimum multiply negate power remainder round-nearest-afz round-nearest-even rsqrt sign
    sine sqrt subtract tan tanh
    """.split()
)
REDUCING = frozenset(("reduce", "reduce-window", "all-reduce", "reduce-scatter"))
# What takes no time: names for values that are there already.
FREE = frozenset(
    """
    parameter constant tuple get-tuple-element bitcast while conditional call after-all partition-id
    replica-id add-dependency optimization-barrier opt-barrier domain all-gather-done all-reduce-done
    collective-permute-done async-done async-update copy-done send-done recv-done
    """.split()
)
MATRIX_CALLS = ("gemm", "matmul", "Gemm")


def flops(instruction: Instruction) -> float:
    """Operations of floating-point numbers, a multiplication and an addition as two: those of matrix products
    and convolutions, one for each element of others, and of native calls what their primitives' rules say.
    """
    return sum([own_flops(i) for i in inside(instruction)])


def matrix_flops(instruction: Instruction) -> float:
    """Those of matrix products and convolutions alone."""
    return sum([products(i) for i in inside(instruction)])


def own_flops(i: Instruction) -> float:
    if i.told is not None:
        return i.told.flops + i.told.transcendentals
    found = products(i)
    if found:
        return found
    if i.opcode in ELEMENTWISE and i.shape.is_float:
        return i.shape.count
    if i.opcode in REDUCING and i.operands and i.operands[0].shape.is_float:
        return sum([o.shape.count for o in i.operands])
    return 0


def products(i: Instruction) -> float:
    """The operations of one matrix product or convolution."""
    if i.opcode == "dot":
        contracted = numbers(message(one(i.fields, 30, b"")).get(1, []))
        return 2.0 * i.shape.count * math.prod([i.operands[0].shape.dimensions[d] for d in contracted])
    if i.opcode == "convolution":
        return of_convolution(i)
    if i.opcode == "custom-call" and any(word in i.target for word in MATRIX_CALLS) and len(i.operands) > 1:
        return of_called_product(i)
    return 0


def of_called_product(i: Instruction) -> float:
    """The operations of a matrix product by a library."""
    contracted, _ = called_dimensions(i)
    left = i.operands[0].shape
    return 2.0 * i.shape.arrays[0].count * math.prod([left.dimensions[d] for d in contracted])


def called_dimensions(i: Instruction) -> tuple[list[int], list[int]]:
    """Of the left operand of a product by a library the dimensions that are summed over, and the batch's."""
    config = i.config.get("gemm_backend_config") or i.config.get("onednn_matmul_config") or i.config
    dims = (config.get("dot_dimension_numbers") if isinstance(config, dict) else None) or {}
    contracted = dims.get("lhs_contracting_dimensions")
    if contracted is None:
        contracted = [len(i.operands[0].shape.dimensions) - 1]
    return [int(d) for d in contracted], [int(d) for d in dims.get("lhs_batch_dimensions", ())]


def dimensions_of_product(i: Instruction) -> tuple[list[int], list[int]] | None:
    """The same of any matrix product; None of what is none, and of a convolution."""
    if i.opcode == "dot":
        dims = message(one(i.fields, 30, b""))
        return numbers(dims.get(1, [])), numbers(dims.get(3, []))
    return called_dimensions(i) if i.opcode == "custom-call" and products(i) else None


def of_convolution(i: Instruction) -> float:
    """The operations of a convolution: those products in which no padding and no hole takes part."""
    dims = message(one(i.fields, 16, b""))
    left, right, out = i.operands[0].shape, i.operands[1].shape, i.shape
    pairs = 1
    windows = [message(d) for d in message(one(i.fields, 15, b"")).get(1, [])]
    spatial = zip(windows, numbers(dims.get(11, [])), numbers(dims.get(12, [])), strict=True)
    for window, at, out_at in spatial:
        pairs *= meetings(window, left.dimensions[at], out.dimensions[out_at])
    batch, feature = out.dimensions[one(dims, 9)], out.dimensions[one(dims, 10)]
    groups = max(1, one(i.fields, 61, 1))
    return 2.0 * batch * feature * right.dimensions[one(dims, 3)] * pairs / groups


def meetings(window: dict[int, list], size: int, out: int) -> int:
    """How often an element of a kernel meets one of the array, along one dimension."""
    length, stride, low = one(window, 1, 1), one(window, 2, 1) or 1, signed_one(window, 3)
    kernel_step, base_step = one(window, 5, 1) or 1, one(window, 6, 1) or 1
    end = (size - 1) * base_step
    found = 0
    for k in range(length):
        shift = k * kernel_step - low
        if base_step == 1:  # out positions o with 0 <= o * stride + shift <= end
            first = max(0, -(shift // stride))
            last = min(out - 1, (end - shift) // stride)
            found += max(0, last - first + 1)
        else:
            places = [o * stride + shift for o in range(out)]
            found += sum([0 <= p <= end and p % base_step == 0 for p in places])
    return found


def signed_one(window, number):
    found = numbers(window.get(number, []))
    return found[-1] if found else 0


def traffic(instruction: Instruction) -> float:
    """Bytes read from and written to a device's main memory. What lies in a memory of another kind, such as a
    TPU's VMEM, counts as nothing; of an array that is only cut from, the part counts.
    """
    i = instruction
    if i.told is not None:
        return i.told.bytes
    if i.opcode in FREE:
        return 0
    if i.opcode == "fusion" and i.called:
        return of_fusion(i)
    if i.opcode in ("dynamic-slice", "slice", "gather"):
        return 2.0 * in_memory(i.shape)
    if i.opcode in ("dynamic-update-slice", "scatter"):
        return 2.0 * in_memory(i.operands[1 if i.opcode == "dynamic-update-slice" else -1].shape)
    return sum([in_memory(o.shape) for o in i.operands]) + in_memory(i.shape)


def in_memory(shape: Shape) -> int:
    """The bytes of the arrays of a type that lie in the main memory."""
    return sum([a.size for a in shape.arrays if a.space == 0])


def of_fusion(i: Instruction) -> float:
    body = i.called[0]
    users: dict[int, list[Instruction]] = {}
    for each in body.instructions:
        for operand in each.operands:
            users.setdefault(operand.id, []).append(each)
    read = 0.0
    for number, parameter in body.parameters.items():
        if number < len(i.operands) and in_memory(i.operands[number].shape):
            read += min(in_memory(i.operands[number].shape), read_of(parameter, users))
    written = body.root.operands if body.root.opcode == "tuple" else [body.root]
    return read + sum([written_of(r, i.shape) for r in written])


def read_of(value: Instruction, users) -> float:
    """How much of an operand a fusion reads."""
    found = 0.0
    for user in users.get(value.id, []):
        if user.opcode in ("dynamic-slice", "slice", "gather") and user.operands[0] is value:
            found += user.shape.size
        elif user.opcode == "dynamic-update-slice" and user.operands[0] is value:
            found += 0.0  # written in place
        elif user.opcode == "bitcast":
            found += read_of(user, users)
        else:
            return float("inf")
    return found


def written_of(root: Instruction, shape: Shape) -> float:
    """How much one result of a fusion writes."""
    while root.opcode == "bitcast" and root.operands:
        root = root.operands[0]
    if root.opcode == "dynamic-update-slice":
        return root.operands[1].shape.size
    if shape.dtype != "tuple":
        return in_memory(shape)
    return in_memory(root.shape)


__all__ = ["dimensions_of_product", "flops", "in_memory", "matrix_flops", "traffic"]
