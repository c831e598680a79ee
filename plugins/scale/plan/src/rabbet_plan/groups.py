"""Which devices a collective operation brings together, and which axes of a mesh that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rabbet_plan.hlo import Instruction
from rabbet_plan.protobuf import message, numbers, one

# Fields of HloInstructionProto that hold groups, and the one that holds pairs of source and target.
LISTED, IN_LIST, IOTA, ON_MESH, PAIRS = 49, 87, 92, 93, 52


def groups_of(instruction: Instruction, devices: int) -> list[list[int]]:
    """The groups of partitions that compute together, each in its order; all in one where nothing is said."""
    found = instruction.fields
    if ON_MESH in found:
        return on_mesh(message(found[ON_MESH][-1]))
    if IOTA in found:
        return from_iota(message(found[IOTA][-1]))
    if IN_LIST in found:
        inner = message(found[IN_LIST][-1])
        if 2 in inner:
            return from_iota(message(inner[2][-1]))
        if 1 in inner:
            return listed(inner[1])
    if LISTED in found:
        return listed(found[LISTED])
    return [list(range(devices))]


def listed(groups: list) -> list[list[int]]:
    """Groups that are written out."""
    return [numbers(message(group).get(1, [])) for group in groups]


def from_iota(found: dict[int, list]) -> list[list[int]]:
    """Groups written as ``[2,4]<=[4,2]T(1,0)``: a grid of numbers, transposed and cut anew."""
    count, each = one(found, 1), one(found, 2)
    shape, order = numbers(found.get(3, [])), numbers(found.get(4, []))
    grid = np.arange(math.prod(shape)).reshape(shape)
    return grid.transpose(order or None).reshape(count, each).tolist()


def on_mesh(found: dict[int, list]) -> list[list[int]]:
    """Groups written as axes of a mesh of the compiler's own, each whole or a part."""
    mesh = message(one(found, 1, b""))
    sizes = [one(message(axis), 2) for axis in mesh.get(1, [])]
    order = numbers(mesh.get(2, [])) or range(math.prod(sizes))
    wanted = [referred(message(each), sizes) for each in found.get(2, [])]
    pieces: list[int] = []  # sizes of the mesh's axes, cut where a part of one begins or ends
    places: dict[tuple[int, int], int] = {}  # of the piece of an axis that begins there
    for axis, size in enumerate(sizes):
        cuts = {1, size, *[c for a, begin, end in wanted if a == axis for c in (begin, end)]}
        for begin, end in zip(sorted(cuts), sorted(cuts)[1:], strict=False):
            places[axis, begin] = len(pieces)
            pieces.append(end // begin)
    last = [
        p for axis, begin, end in wanted for (a, at), p in places.items() if a == axis and begin <= at < end
    ]
    first = [p for p in range(len(pieces)) if p not in last]
    grid = np.asarray(order).reshape(pieces).transpose([*first, *last])
    return grid.reshape(-1, math.prod([pieces[p] for p in last])).tolist()


def referred(reference: dict[int, list], sizes: list[int]) -> tuple[int, int, int]:
    """An axis, and of it the part from ``begin`` to ``end``, in elements that come before: all of an axis of
    4 is from 1 to 4, its outer half from 1 to 2.
    """
    axis = one(reference, 1)
    if 2 not in reference:
        return axis, 1, sizes[axis]
    part = message(reference[2][-1])
    begin = one(part, 1, 1)
    return axis, begin, begin * one(part, 2, 1)


def pairs_of(instruction: Instruction) -> list[tuple[int, int]]:
    """Source and target of each transfer of a permutation."""
    found = [message(each) for each in instruction.fields.get(PAIRS, [])]
    return [(one(each, 1), one(each, 2)) for each in found]


def axes_of(groups: Sequence[Sequence[int]], mesh: Mapping[str, int]) -> tuple[str, ...]:
    """The axes of a mesh over which groups extend, in the mesh's order.

    Args:
      groups: numbers of partitions, which are those of the mesh row by row.
      mesh: sizes by name.

    Returns:
      the names; of an axis of which the groups take a part, ``"part of NAME"``.
    """
    sizes = list(mesh.values())
    most = [1] * len(sizes)
    for group in groups:
        coordinates = np.unravel_index(np.asarray(group), sizes)
        most = [max(m, len(np.unique(c))) for m, c in zip(most, coordinates, strict=True)]
    rows = zip(mesh, sizes, most, strict=True)
    return tuple([name if count == size else f"part of {name}" for name, size, count in rows if count > 1])


def axes_of_pairs(pairs: Sequence[tuple[int, int]], mesh: Mapping[str, int]) -> tuple[str, ...]:
    """The axes of a mesh along which pairs of source and target differ."""
    moving = [(s, t) for s, t in pairs if s != t]
    if not moving:
        return ()
    sizes = list(mesh.values())
    places = np.array(np.unravel_index(np.asarray(moving), sizes))  # [axis, pair, end]
    differ = (places[:, :, 0] != places[:, :, 1]).any(1)
    return tuple([name for name, moved in zip(mesh, differ, strict=True) if moved])


__all__ = ["axes_of", "axes_of_pairs", "groups_of", "pairs_of"]
