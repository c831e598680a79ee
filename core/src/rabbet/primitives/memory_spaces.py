"""In which memory of a device a value lies: part of its type, where it is not the usual one.

``to_memory`` moves a value, and its transpose moves the cotangent back. Operations on values in the host's
memory give values there; one in each memory is an error that says what to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.program.interned import Alive
from rabbet.program.sharded_types import OverDevices, memory_of, with_part
from rabbet.rules.payloads import Batched
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import RuleTable
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value

# The name of the memory that devices use unless they are told otherwise.
USUAL = "device"

memories = RuleTable(
    "memory",
    doc="""(op, *memories) -> for each result the memory in which it lies: a name, None for the usual one

    Primitives without a rule give results where their operands lie; what has no dimensions lies anywhere.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> fetch = Primitive("fetch", lambda x: x, kinds=("elementwise",))
      >>> @fetch.rule("memory")
      ... def memory_of_fetch(op, x):
      ...     return [None]
    """,
)

_alive = Alive()


class InMemory(OverDevices):
    """What a type says of a value that lies in a memory other than the usual one.

    Args:
      memory: its name, such as ``"pinned_host"``.
    """

    __slots__ = ("memory", "__weakref__")
    memory: Any

    def __new__(cls, memory: str) -> InMemory:
        made = _alive.get(memory)
        if made is None:
            made = object.__new__(cls)
            made.memory = memory
            made = _alive.only(memory, made)
        return made

    def results(self, op: Any, avals: Any, outs: tuple[ShapedArray, ...]) -> tuple[ShapedArray, ...]:
        """Where the operands lie, or as the rule of the primitive says; of bodies as their programs say."""
        if "body" in op.primitive.kinds:
            return outs
        known = memories.explain(op.primitive)
        if known is not None and known.source != "body":
            found = known.rule(op, *[memory_of(a) for a in avals])
            return tuple([in_memory(out, m) for out, m in zip(outs, found, strict=True)])
        full = [a for a in avals if a.ndim] or avals
        if len({memory_of(a) for a in full}) > 1:
            shown = ", ".join([a.str_short() for a in avals])
            raise ShardingError(
                f"{op.primitive.name} of {shown}: the operands lie in different memories\n"
                "  to fix: bring them to one before, as with rb.device_put(x, rb.memory.Space.Device)"
            )
        return tuple([in_memory(out, self.memory) for out in outs])

    def fitted(self, x: Any, aval: Any) -> Any:
        """Moved where the type says. An array that nobody put anywhere goes where those beside it are."""
        wanted = memory_of(aval)
        put = type(x) is Tracer or getattr(getattr(x, "spec", None), "committed", False)
        if wanted is not None and not put:
            return x
        return moved(x, wanted)

    def joined(self, other: Any) -> Any:
        """Itself; a loop does not move what it carries."""
        if other is self:
            return self
        there = USUAL if other is None else other.memory
        raise ShardingError(
            f"a value of a loop, or a result of branches, is in the memory {self.memory!r} and in {there!r}; "
            "move it to one with rb.device_put(x, rb.memory.Space.Device)"
        )

    def before(self) -> Any:
        """As JAX writes such types: ``f32<host>[8]``."""
        return "<host>" if "host" in self.memory else f"<{self.memory}>"

    def behind(self) -> Any:
        """Nothing: it stands in front."""
        return ""

    def __repr__(self) -> Any:
        return f"in {self.memory}"

    def __reduce__(self) -> Any:
        return InMemory, (self.memory,)


def in_memory(aval: ShapedArray, memory: str | None) -> Any:
    """The type of a value in a memory; None: the usual one.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray, to_memory
      >>> to_memory.op(memory="pinned_host").out((ShapedArray((8,), "float32"),))
      ShapedArray(float32<host>[8])
    """
    part = None if memory is None else InMemory(memory)
    return aval.update(spread=with_part(aval.spread, InMemory, part))


def moved(x: Value, memory: Any) -> Value:
    """``x``, an array or a traced value, in a memory; None: the usual one. Itself where it lies there."""
    if memory_of(typeof(x)) == memory:
        return x
    return to_memory(x, memory=memory or USUAL)


to_memory = Primitive(
    "to_memory",
    lambda x, memory: in_memory(x, None if memory == USUAL else memory),
    kinds=("linear",),
    doc="the operand in another memory of its device",
)


@to_memory.rule("memory")
def memory_after_moving(op: Op, x: Any) -> Any:
    memory = op.params["memory"]
    return [None if memory == USUAL else memory]


@to_memory.rule("lower")
def lower_to_memory(op: Site, x: Any) -> Any:
    """What XLA's compilers for accelerators read; a compiler that does not know it refuses the program."""
    if op.in_avals[0].memory == op.out.memory:
        return x
    attributes = f'_xla_buffer_placement = "{op.params["memory"]}"'
    return op.emit(
        f'stablehlo.custom_call @annotate_device_placement({x}) {{backend_config = "", has_side_effect = '
        f"true, mhlo.frontend_attributes = {{{attributes}}}}} : ({op.out.mlir}) -> {op.out.mlir}"
    )


@to_memory.rule("lower:cpu")
def lower_to_memory_on_cpu(op: Site, x: Any) -> Any:
    """The processor has one memory, whatever it is called."""
    return x


@to_memory.rule("transpose")
def transpose_to_memory(op: Op, ct: Any, x: Any) -> Any:
    return (moved(ct, memory_of(x.aval)),)


@to_memory.rule("batch")
def batch_to_memory(op: Op, x: Any) -> Any:
    return Batched(op(x.value), x.axis)


lies_in_memory = Primitive(
    "lies_in_memory",
    lambda x, memory: in_memory(x, memory),
    kinds=("linear",),
    doc="the operand, which the compiler puts where what is written into it lies",
)
lies_in_memory.rule("memory")(memory_after_moving)
lies_in_memory.rule("transpose")(transpose_to_memory)
lies_in_memory.rule("batch")(batch_to_memory)


@lies_in_memory.rule("lower")
def lower_lies_in_memory(op: Site, x: Any) -> Any:
    return x


__all__ = ["InMemory", "in_memory", "lies_in_memory", "memories", "memory_of", "moved", "to_memory"]
