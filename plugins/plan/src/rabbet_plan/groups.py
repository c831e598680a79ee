"""Which devices a collective operation brings together, and which axes of a mesh that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rabbet_plan.hlo import Instruction
from rabbet_plan.wire import message, numbers, one

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
    split: list[int] = []  # the mesh with axes cut into those parts that are named
    wanted: list[int] = []  # places in `split`
    references = [message(each) for each in found.get(2, [])]
    for i, size in enumerate(sizes):
        parts = sorted(
            [(one(s, 1, 1), one(s, 2, 1), n) for n, (axis, s) in enumerate(map(referred, references)) if axis == i]
        )
        before = 1
        for start, length, n in parts:
            length = length if length > 0 else size
            if start // before > 1:
                split.append(start // before)
            wanted.append((n, len(split)))  # type: ignore[arg-type]
            split.append(length)
            before = start * length
        if size // before > 1 or not parts:
            split.append(size // before)
    ordered = [place for _, place in sorted(wanted)]  # type: ignore[misc]
    rest = [i for i in range(len(split)) if i not in ordered]
    grid = np.asarray(order).reshape(split).transpose([*rest, *ordered])
    return grid.reshape(-1, math.prod([split[i] for i in ordered])).tolist()


def referred(reference: dict[int, list]) -> tuple[int, dict[int, list]]:
    """An axis, and of it ``{1: [elements before], 2: [elements]}``; all of it: no elements, written as -1."""
    part = message(reference[2][-1]) if 2 in reference else {1: [1], 2: [-1]}
    return one(reference, 1), part


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
    places = np.array(np.unravel_index(np.concatenate([np.asarray(g) for g in groups]), sizes)).T
    ends = np.cumsum([len(g) for g in groups])
    seen = [np.zeros(0, int)] * len(sizes)
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        block = places[start:end]
        seen = [np.union1d(s, [len(np.unique(block[:, i]))]) for i, s in enumerate(seen)]
    found = []
    for name, size, counts in zip(mesh, sizes, seen, strict=True):
        most = int(counts.max())
        if most > 1:
            found.append(name if most == size else f"part of {name}")
    return tuple(found)


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
