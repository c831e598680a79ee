"""Programs over several devices: the shardings that ``jit`` was given, and those of its arguments."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from rabbet import Array, config, device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.backend import common_device
from rabbet.extend.functions import describe_function, to_array
from rabbet.extend.primitive import to_memory
from rabbet.extend.sharding import (
    DeviceGroup,
    EverywhereSharding,
    Sharding,
    SingleDeviceSharding,
    Spread,
    as_place,
    bring_to,
    device_group,
    is_described,
    places_in,
    spread_of,
    topology_devices,
)
from rabbet.extend.transform import is_tracer

from rabbet_jit.unread_arguments import without_readers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rabbet import Device
    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value

    from rabbet_jit.signature import Signature
    from rabbet_jit.stages import Traced
    from rabbet_jit.tracing import Program


def is_none(node: Any) -> bool:
    """Whether a node is None, which asks for nothing."""
    return node is None


def checked(given: Any, name: str) -> tuple[Sharding | None, ...] | Sharding | None:
    """An argument of ``jit``, a pytree of shardings and None, with each made a ``Sharding``.

    Raises:
      TypeError: for a leaf that is none.
    """

    def one(leaf: Any) -> Sharding | None:
        if hasattr(type(leaf), "open_for_jit"):  # a Format, whose module few programs load
            leaf = leaf.open_for_jit()
        if leaf is None:
            return None
        sharding = as_place(leaf, f"jit: {name}")
        if isinstance(sharding, Sharding):
            sharding.refuse_unsettled(f"jit: {name}")
        return sharding if isinstance(sharding, Sharding) else SingleDeviceSharding(sharding)

    return tree.map(one, given, is_leaf=is_none)


def over_several(given: tuple[tuple[Sharding | None, ...] | Sharding | None, ...]) -> bool:
    """Whether a pytree of shardings has one over several devices."""
    return any(not on_one_device(s) for s in tree.leaves(given))


def on_one_device(given: Sharding | None) -> bool:
    """Whether a sharding puts arrays on one device, in its usual memory."""
    return isinstance(given, Sharding) and given.is_plain


class Layouts:
    """The shardings that a function was given. ``late``: some of them are known only where it is called, as a
    ``PartitionSpec`` is that was given before a mesh was set.
    """

    def __init__(
        self, ins: Sharding | None, outs: tuple[Sharding, ...] | Sharding | None, late: bool = False
    ) -> None:
        self.given, self.late = (ins, outs), late

    ins = property(lambda self: self.known(0, "in_shardings"), doc="Those of the arguments.")
    outs = property(lambda self: self.known(1, "out_shardings"), doc="Those of the result.")

    def known(self, number: int, name: str) -> Any:
        """The shardings of arguments or results as they are now."""
        return checked(self.given[number], name) if self.late else self.given[number]

    def here(self) -> Any:
        """Those that are meant now, for what is traced now and asked later."""
        return Layouts(self.ins, self.outs)

    def of_arguments(self, signature: Signature) -> list[Sharding | None]:
        """A sharding or None for each leaf of the arguments."""
        args, kwargs = tree.unflatten(signature.treedef, list(range(len(signature.leaves))))
        ins = self.ins
        if ins is None:
            return [None] * len(signature.leaves)
        if kwargs:
            raise ValueError(
                f"jit of {describe_function(signature.fun)}: in_shardings are for arguments by position, got "
                f"{', '.join(kwargs)} by name"
            )
        prefix = tuple(ins) if isinstance(ins, list) else ins
        return tree.broadcast_prefix(prefix, args, is_none, names=("jit: in_shardings", "the arguments"))

    def of_results(self, out_tree: Any) -> Any:
        """A sharding or None for each leaf of the result; None where nothing was asked for."""
        outs = self.outs
        if outs is None:
            return None
        leaves = tree.unflatten(out_tree, list(range(out_tree.num_leaves)))
        found = tree.broadcast_prefix(outs, leaves, is_none, names=("jit: out_shardings", "the result"))
        return tuple(found)

    def place(self, signature: Signature, leaves: list[Value]) -> list[Value]:
        """Arguments where ``in_shardings`` say.

        Raises:
          ShardingError: for an array that was put elsewhere on purpose.
        """
        wanted = self.of_arguments(signature)
        return [_placed(x, s, signature, i) for i, (x, s) in enumerate(zip(leaves, wanted, strict=True))]

    def check(self, signature: Any) -> None:
        """Refuse arguments of ``trace`` or ``lower`` that lie otherwise than ``in_shardings`` say.

        Raises:
          ShardingError: names the argument and both.
        """
        for i, (x, s) in enumerate(zip(signature.leaves, self.of_arguments(signature), strict=True)):
            own: Any = lying(x) if type(x) is Array and x.committed else layout_of(x)
            if s is not None and own is not None and not fits(own, s, x.ndim):
                raise ShardingError(_elsewhere(s, signature, i, own.public))

    def in_memories(self, signature: Signature, avals: tuple[ShapedArray, ...]) -> tuple[ShapedArray, ...]:
        """The types of arguments, each in the memory that ``in_shardings`` say."""
        wanted = self.of_arguments(signature)
        return tuple(
            [
                a if s is None else to_memory.op(memory=s.other_memory or "device").out((a,))
                for a, s in zip(avals, wanted, strict=True)
            ]
        )

    def check_sizes(self, signature: Any, avals: Sequence[ShapedArray]) -> None:
        """Refuse arguments that cannot be laid out as ``in_shardings`` say, wherever they lie.

        Raises:
          ShardingError: names the argument, its size and the number of parts.
        """
        for i, (aval, s) in enumerate(zip(avals, self.of_arguments(signature), strict=True)):
            if s is not None:
                _divided(s, aval, lambda i=i: f"in_shardings for {signature.name_of(i)}", signature.fun)

    def check_results(self, fun: Callable[..., Any], out_tree: Any, avals: Sequence[ShapedArray]) -> None:
        """The same of results and ``out_shardings``."""
        for aval, s in zip(avals, self.of_results(out_tree) or (), strict=False):
            if s is not None:
                _divided(s, aval, lambda: "out_shardings", fun)

    def constrain(self, signature: Signature, leaves: list[Value]) -> list[Value]:
        """Traced arguments laid out as ``in_shardings`` say, by operations."""
        wanted = self.of_arguments(signature)
        return [_constrained(x, s) for x, s in zip(leaves, wanted, strict=True)]

    def constrain_results(self, out_tree: Any, outs: list[Value]) -> list[Value]:
        """Traced results laid out as ``out_shardings`` say, by operations."""
        wanted = self.of_results(out_tree) or [None] * len(outs)
        return [_constrained(x, s) for x, s in zip(outs, wanted, strict=True)]


def _divided(sharding: Any, aval: ShapedArray, what: Any, fun: Callable[..., Any]) -> None:
    try:
        sharding.check(aval.shape)
    except ShardingError as error:
        raise ShardingError(f"jit of {describe_function(fun)}: {what()}: {error}") from None


def _placed(x: Value, sharding: Sharding | None, signature: Signature, i: int) -> Value:
    if sharding is None:
        return x
    if type(x) is Array and x.committed:
        own = lying(x)
        if own == sharding:
            return x
        if own.is_equivalent_to(sharding, x.ndim):  # the type says what was asked for
            return x if sharding.in_types(x.ndim) is own.in_types(x.ndim) else device_put(x, sharding)
        if own.order is not None and x.sharding.is_equivalent_to(sharding, x.ndim):
            return device_put(x, sharding)  # by rows, since no order is asked for
        raise ShardingError(_elsewhere(sharding, signature, i, x.sharding))
    return device_put(x, sharding)


def fits(own: Any, sharding: Any, ndim: Any) -> Any:
    """Whether what lies as ``own`` lies as asked, in whatever order."""
    return own == sharding or own.by_rows.is_equivalent_to(sharding.by_rows, ndim)


def _elsewhere(sharding: Sharding, signature: Signature, i: int, own: Sharding) -> str:
    return (
        f"jit of {describe_function(signature.fun)}: in_shardings asks for {sharding} for "
        f"{signature.name_of(i)}, which was put on {own}\n  to fix: bring it there with rb.device_put, or "
        "leave in_shardings out: the program follows its arguments"
    )


def _constrained(x: Value, sharding: Sharding | None) -> Value:
    if sharding is None or on_one_device(sharding):
        return x
    return sharding.constrain(x) if is_tracer(x) else device_put(x, sharding)


def lying(x: Any) -> Sharding:
    """How an array lies, with the order of its dimensions in memory where that is not by rows."""
    return x.spec.layout or x.sharding


def layout_of(leaf: Any) -> Sharding | None:
    """The sharding over several devices that an argument of ``trace`` or ``lower`` has, or None."""
    if is_tracer(leaf):
        return None
    sharding: Any = lying(leaf) if type(leaf) is Array else getattr(leaf, "sharding", None)
    if hasattr(type(sharding), "__sharding__"):  # a ShapeDtypeStruct's, which stands for one
        sharding = sharding.__sharding__("ShapeDtypeStruct: sharding")
    if not isinstance(sharding, Sharding) or on_one_device(sharding):
        return None
    return sharding


def device_of(signature: Signature) -> Device | None:
    """The device that the arguments of ``trace`` or ``lower`` were put on or should lie on, or None.

    Raises:
      ValueError: for several.
    """
    leaf: Any
    found: Any = {}
    for i, leaf in enumerate(signature.leaves):
        if is_tracer(leaf):
            continue
        if type(leaf) is Array:
            if leaf.committed and layout_of(leaf) is None:
                found.setdefault(leaf.device, signature.name_of(i))
        elif isinstance(sharding := getattr(leaf, "sharding", None), Sharding) and on_one_device(sharding):
            found.setdefault(sharding.device_order[0], signature.name_of(i))
    if len(found) > 1:
        (one, x), (other, y), *_ = found.items()
        raise ValueError(
            f"{describe_function(signature.fun)}: {x} lies on {one} and {y} on {other}; a program runs on "
            "one device, bring them together with device_put"
        )
    return next(iter(found), None)


def places_for(program: Program, layouts: Any) -> Any:
    """The shardings over several devices that a program names, captures or was given for its results."""
    found = set(places_in(program.closed.jaxpr))
    for x in program.closed.consts:
        if type(x) is Array and layout_of(x) is not None:
            found.add(layout_of(x))
    for sharding in layouts.of_results(program.out_tree) or () if layouts is not None else ():
        if sharding is not None and not on_one_device(sharding):
            found.add(sharding)
    return sorted(found, key=repr)


def unread(program: Program, leaves: Any) -> Any:
    """Committed arguments on one device of which no result or effect is made: they may lie anywhere.

    Returns:
      from the number of each to whether an operation takes it nevertheless, so that it must be brought along.
    """
    jaxpr = program.closed.jaxpr
    apart = {x.spec.device for x in leaves if x.spec.committed and x.spec.layout is None}
    if len(apart) < 2:
        return {}
    found = jaxpr.once("unread arguments", lambda: without_readers(jaxpr))
    own = [i for i, x in enumerate(leaves) if x.spec.committed and x.spec.layout is None]
    return {i: found[i] for i in own if i in found}


def settle(jitted: Any, program: Program, leaves: Any, name: Any) -> Any:
    """Bring arguments to one place: that of the committed ones and of the shardings within the program.

    Returns:
      (device or ``DeviceGroup``, whether on purpose, leaves)
    """
    places = places_for(program, jitted.layouts)
    if jitted.device is not None and not places:
        return jitted.device, True, bring_to(leaves, jitted.device)
    given, aside = leaves, {} if jitted.keep_unused else unread(program, leaves)
    leaves = [None if i in aside else x for i, x in enumerate(leaves)]
    place, committed = common_device(leaves, jitted.fun, name, places=places)
    if type(place) is DeviceGroup and aside:  # the shardings of all arguments are part of its program
        leaves = given
        place, committed = common_device(leaves, jitted.fun, name, places=places)
    elif aside:
        brought = iter(bring_to([x for x in leaves if x is not None], place))
        along = [device_put(x, place) if aside.get(i) else x for i, x in enumerate(given)]
        return place, committed, [x if i in aside else next(brought) for i, x in enumerate(along)]
    leaves, default = bring_to(leaves, place), config.default_sharding
    computes = bool(program.closed.jaxpr.equations)
    if computes and not places and default is not None and place is default.group:
        default.refuse_others([x.spec.layout for x in leaves])
    return place, committed, leaves


def spread_for(traced: Traced, wanted: list[Sharding | None]) -> Spread | None:
    """The ``Spread`` of a traced function, or None for a program on one device.

    Args:
      wanted: the sharding over several devices of each argument leaf, or None for what goes anywhere.
    """
    program, layouts = traced.program, traced.asked.layouts
    wanted = [*wanted, *[None] * (len(program.closed.jaxpr.invars) - len(wanted))]  # cells from outside
    if layouts is not None:
        asked = layouts.of_arguments(traced.signature)
        asked += [None] * (len(wanted) - len(asked))
        asked = [None if on_one_device(s) else s for s in asked]
        wanted = [w if s is None else s for s, w in zip(asked, wanted, strict=True)]
    places = [*places_for(program, layouts), *[s for s in wanted if s is not None]]
    default = config.default_sharding
    if default is not None and traced.device is None and (places or not wanted):
        everywhere = EverywhereSharding(default.group)
        places += [default] if all(s == everywhere for s in places) else []
    if not places:
        return None
    if any(s.has_devices for s in places):
        group, _ = common_device((), traced.asked.fun, places=places)
    else:  # it is written for as many devices, and not compiled
        group = nameless_group(places[0].num_devices)
    everywhere = EverywhereSharding(group)
    if is_described(group):  # nothing can be brought there
        consts = [layout_of(c) or everywhere for c in program.closed.consts]
    else:
        consts = [x.spec.layout for x in bring_to([to_array(c) for c in program.closed.consts], group)]
    ins = (*consts, *[everywhere if s is None else s.on(group) for s in wanted])
    outs = None if layouts is None else layouts.of_results(program.out_tree)
    if outs is not None:  # what is left in cells comes behind
        outs += (None,) * (len(program.closed.jaxpr.outvars) - len(outs))
        only = SingleDeviceSharding(group.devices[0]) if len(group.devices) == 1 else None
        outs = tuple([None if s == only else s and s.on(group) for s in outs])  # there it is in any case
    for sharding in outs or ():
        if on_one_device(sharding):
            raise ShardingError(
                f"jit of {describe_function(traced.asked.fun)}: out_shardings names {sharding} beside "
                f"shardings over {group}; results of one program lie on the same devices"
            )
    return Spread(group, ins, outs, spread_of((), group, (*ins, *(outs or ())), places).like)


@functools.lru_cache(maxsize=64)
def nameless_group(count: Any) -> Any:
    """As many devices as shardings are for that name none."""
    return device_group(tuple(topology_devices("cpu", str(count))))


def refit(x: Any, sharding: Any, what: Any) -> Any:
    """An argument of a compiled program laid out as it was compiled for.

    Raises:
      ShardingError: for an array that was put elsewhere on purpose.
    """
    if x.spec.layout == sharding:
        return x
    own = lying(x)
    if own.order != sharding.order and x.sharding.is_equivalent_to(sharding.by_rows, x.ndim):
        return device_put(x, sharding)
    if x.committed and not isinstance(sharding, EverywhereSharding):
        if own.is_equivalent_to(sharding, x.ndim):
            return x
        raise ShardingError(
            f"{what} was put on {x.sharding}, and the program was compiled for {sharding}; bring it there "
            "with rb.device_put, or call the jitted function, which follows its arguments"
        )
    return device_put(x, sharding) if x.spec.device is not sharding.group or x.committed else x
