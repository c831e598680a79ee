"""How a program is spread over several devices: the shardings of its arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rabbet.primitives.memory_spaces import USUAL, in_memory, to_memory
from rabbet.program.jaxpr import Equation, Jaxpr, Var
from rabbet.program.sharded_types import memory_of
from rabbet.runtime.arrays.sharding import EverywhereSharding, Sharding, SingleDeviceSharding
from rabbet.runtime.jaxlib import raw_shards
from rabbet.runtime.platforms.device_groups import DeviceGroup

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.typing import Value


class Spread(NamedTuple):
    """How a program is spread over several devices.

    Attributes:
      group: the ``DeviceGroup``.
      ins: the ``Sharding`` of each argument, of captured arrays first.
      outs: that of each result, or None for what the compiler thinks best.
      like: a sharding of the kind in which to say what the compiler chose.
      likes: one for each result, where arguments lie on several meshes; None: ``like`` for all.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.sharding import EverywhereSharding, Spread, device_group
      >>> group = device_group(tuple(rb.devices()[:1]))
      >>> everywhere = EverywhereSharding(group)
      >>> x = rb.device_put(np.ones(3, np.float32), everywhere)
      >>> program = stage(lambda x: [lax.neg(x)], [rb.typeof(x)]).jaxpr
      >>> lowering = lower_program(program, spread=Spread(group, (everywhere,)))
      >>> compile_program(lowering, group).runner(True, single=True)([x])
      Array([-1., -1., -1.], dtype=float32)
    """

    group: DeviceGroup
    ins: tuple[Sharding, ...]
    outs: tuple[Sharding | None, ...] | None = None
    like: Sharding | None = None
    likes: Any = None


def spread_of(
    arrays: list[Value] | tuple[Any, ...],
    group: DeviceGroup,
    outs: tuple[Sharding | None, ...] | None = None,
    places: Any = (),
) -> Spread:
    """The ``Spread`` of a program on arrays that are on the group already.

    Args:
      outs: the shardings of its results, with None for what the compiler thinks best; or None.
      places: the shardings that the program names.

    Example:
      >>> from rabbet.extend.sharding import spread_of
      >>> from rabbet.extend.sharding import EverywhereSharding, device_group
      >>> everywhere = EverywhereSharding(device_group(tuple(rb.devices()[:1])))
      >>> spread_of([rb.device_put(np.ones(4), everywhere)], everywhere.group).ins == (everywhere,)
      True
    """
    ins = tuple([a.spec.layout for a in arrays])
    given = (*ins, *(outs or ()), *sorted(places, key=str))
    kinds = [s.on(group).by_rows for s in given if s is not None]
    like = next((s for s in kinds if type(s) is not EverywhereSharding), None)
    return Spread(group, ins, outs, like)


def as_typed(spread: Spread | None, jaxpr: Jaxpr) -> Any:
    """The ``Spread`` of a program with its results laid out as their types say where nobody asked for
    something else.
    """
    if spread is None or spread.like is None:
        return spread
    avals = jaxpr.out_avals
    spread = spread._replace(likes=spread.like.of_results(jaxpr, spread.ins))
    asked = spread.outs or (None,) * len(avals)
    each = spread.likes or [spread.like] * len(avals)
    outs = [s or in_memory_of(k.asked(a), a) for s, k, a in zip(asked, each, avals, strict=True)]
    return spread._replace(outs=tuple(outs)) if any(outs) else spread


def attributes_of(spread: Spread, jaxpr: Jaxpr, kept: tuple[int, ...]) -> Any:
    """What the text of a program says of the shardings of its arguments and results."""
    arguments = [*jaxpr.constvars, *jaxpr.invars]
    ins = []
    for i, (k, v) in enumerate(zip(kept, arguments, strict=True)):
        spread.ins[k].check(v.aval.shape)
        ins.append((i, spread.ins[k].attributes(v.aval.physical.ndim)))
    outs = []
    for i, (sharding, v) in enumerate(zip(spread.outs or (), jaxpr.outvars, strict=bool(spread.outs))):
        if sharding is not None:
            sharding.check(v.aval.shape)
            outs.append((i, sharding.attributes(v.aval.physical.ndim)))
    return ins, outs


def chosen(spread: Any, avals: Any, hlos: Any, read: Any = ()) -> Any:
    """The ``Sharding`` of each result.

    Args:
      spread: the ``Spread`` of the program; what it asks for comes first.
      avals: the types of the results.
      hlos: the shardings that the compiler chose, or None where there is one partition.
      read: the sharding of each argument, and its number of dimensions.

    Returns:
      a list: what the compiler chose is written as the sharding of the first argument that lies so; None for
      what cannot be expressed on a mesh.
    """
    asked = spread.outs or (None,) * len(avals)
    count, found = len(spread.group), []
    likes = spread.likes or [spread.like] * len(avals)
    for i, (sharding, like, aval) in enumerate(zip(asked, likes, avals, strict=True)):
        if sharding is None and like is not None:
            counts, parts = (1,) * aval.ndim, np.zeros((count, aval.ndim), int)
            if hlos is not None:
                counts, parts = raw_shards.tiles_of(hlos[i], aval.physical.ndim, count)
            tiles = counts[: aval.ndim], parts[:, : aval.ndim]
            sharding = in_words_of(read, like.like(*tiles), tiles)
            sharding = in_memory_of(sharding, aval)
        elif sharding is None:
            first = spread.group.devices[0]
            sharding = SingleDeviceSharding(first) if count == 1 else EverywhereSharding(spread.group)
            sharding = in_memory_of(sharding, aval)
        found.append(sharding)
    return found


def in_memory_of(sharding: Sharding | None, aval: ShapedArray) -> Sharding | None:
    """A sharding in the memory that a type names."""
    if sharding is None or sharding.other_memory == memory_of(aval):
        return sharding
    return sharding.with_memory_kind(memory_of(aval))


def in_asked_memories(spread: Spread | None, jaxpr: Jaxpr) -> Any:
    """A program with its results moved to the memories of the shardings that were asked for, and added up, or
    made addends, as these say.
    """
    outs, moves = list(jaxpr.outvars), []
    for i, sharding in enumerate((spread and spread.outs) or ()):
        aval = outs[i].aval
        if sharding is not None and sharding.addends != addends_of(aval):
            like: Any = sharding if sharding.addends or spread is None else spread.like
            for op in like.laying(aval, sharding):
                laid = Var(op.out((outs[i].aval,)))
                moves.append(Equation(op, [outs[i]], [laid]))
                outs[i] = laid
            aval = outs[i].aval
        if sharding is None or sharding.other_memory == memory_of(aval):
            continue
        there = Var(in_memory(aval, sharding.other_memory))
        moves.append(Equation(to_memory.op(memory=sharding.other_memory or USUAL), [outs[i]], [there]))
        outs[i] = there
    if not moves:
        return jaxpr
    return Jaxpr(jaxpr.invars, outs, [*jaxpr.equations, *moves], jaxpr.constvars, jaxpr.effects, jaxpr.name)


def addends_of(aval: ShapedArray) -> frozenset:
    """The axes along which devices hold addends of values of a type."""
    return frozenset() if aval.spread is None else aval.spread.unreduced


def in_words_of(read: Any, sharding: Any, tiles: Any) -> Any:
    """The first of the shardings in ``read`` that means the same on the same mesh, or ``sharding``."""
    ndim = len(tiles[0])
    for own, own_ndim in read:
        same = own.by_rows
        if own_ndim != ndim or type(same) is not type(sharding) or same.like(*tiles) != sharding:
            continue
        if same.is_equivalent_to(sharding, ndim):
            return same
    return sharding


__all__ = ["Spread", "as_typed", "attributes_of", "chosen", "spread_of"]
