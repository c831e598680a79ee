"""The bottom interpreter: operations on arrays, executed at once.

Each operator keeps the programs compiled for it by the placements of its arguments, so that the second ``x
+ y`` of a kind is: one dict lookup, one PJRT execute, one wrap (see ``dispatch``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import copysign
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.messages import source_positions
from rabbet.program import python_scalars
from rabbet.program.context import context
from rabbet.program.effects import ordered
from rabbet.program.jaxpr import Equation, Jaxpr, Var
from rabbet.program.required_shardings import places_of
from rabbet.rules import contracts
from rabbet.rules.failures import attribute
from rabbet.rules.primitive import all_primitives
from rabbet.runtime.arrays import callbacks, values
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.compilation import program, program_shardings
from rabbet.runtime.execution import dispatch, effects
from rabbet.runtime.platforms.device_groups import DeviceGroup
from rabbet.runtime.platforms.devices import default_device

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.rules.primitive import Primitive
    from rabbet.runtime.compilation.program import Executable
    from rabbet.runtime.compilation.program_shardings import Spread
    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value

_moves = False  # whether a default device or sharding was ever set while programs were kept
# Per placement; a loop over x + i would otherwise keep them all.
MOST_NUMBERS = 256


def with_number(op: Op, args: tuple[Any, ...]) -> list[Value] | Value:
    """The fast path for ``x + 1.0``: the number's array is kept with the placement of ``x``."""
    if len(args) == 2 and op.primitive.adopt == 0:
        x, y = args
        if type(x) is Array:
            spec, number = x.spec, y
        elif type(y) is Array:
            spec, number = y.spec, x
        else:
            return first(op, args)
        if type(number) in spec.aval.adopting:
            key = (number, copysign(1.0, number)) if number == 0 and type(number) is float else number
            known = spec.numbers.get((type(number), key))
            if known is None:
                known = values.scalar_array(number, spec.aval.scalar, spec.device)
                if len(spec.numbers) >= MOST_NUMBERS:
                    spec.numbers.clear()
                if not python_scalars.wraps(number, spec.aval.dtype):
                    spec.numbers[type(number), key] = known
            args = (x, known) if number is y else (known, y)
            found = op.programs.get((args[0].spec, args[1].spec))
            if found is not None:
                return found[-1](args)
    return first(op, args)


def first(op: Any, args: Any) -> Any:
    """The slow path: make arrays of the arguments, compile if need be."""
    places = places_of(op)
    arrays, device, committed = values.operands(op, args, places)
    key = tuple([a.spec for a in arrays]) or (device,)
    if not places and (default := values.default_of(arrays, device)):
        places = frozenset(default)
        key = (*key, *default)
    found = op.programs.get(key)
    if found is None:
        own = op.primitive.rules.get("evaluate")
        if own is not None:
            return on_host(op, own, arrays, device, committed)
        avals = tuple([a.aval for a in arrays])
        made = executable(op, avals, device, spread_over(op, arrays, device, places))
        runner = made.runner(committed, single=not op.primitive.multiple_results)
        # Those with bodies may be interned nowhere, so that nobody could drop what they keep.
        if not committed and (_moves or op.primitive.special) and type(device) is not DeviceGroup:
            runner = where_default(runner, device, op)
        elif type(device) is DeviceGroup and not places:
            runner = where_none_is_default(runner, device)
        found = op.programs[key] = dispatch.known(runner)
    return found[-1](arrays)


def where_default(runner: Callable[..., Any], device: Device, op: Any) -> Callable[..., Any]:
    """``runner`` as long as ``device`` is the default one, which uncommitted arrays are computed on, and no
    sharding is the default.
    """
    op = weakref.ref(op)  # which holds what is made here

    def run(args: list[Value] | tuple[Value, ...]) -> list[Value] | Value:
        if default_device() is device and config.default_sharding is None:
            return runner(args)
        return first(op(), args)

    return run


def where_none_is_default(runner: Callable[..., Any], group: DeviceGroup) -> Callable[..., Any]:
    """``runner`` of a program made where no sharding was the default, or another: the one that is now may
    refuse these arguments.
    """

    def run(args: list[Value] | tuple[Value, ...]) -> list[Value] | Value:
        if config.default_sharding is not None:
            values.default_of(args, group)
        return runner(args)

    return run


def default_moves() -> None:
    """From now on the default device, or the sharding that stands for it, may be another at each call, and
    programs of uncommitted arrays ask which it is. Before somebody has set one they need not, so those are
    dropped.
    """
    global _moves
    if not _moves:
        _moves = True
        for one in all_primitives().values():
            one.forget_placements()


class Evaluation:
    """Executes operations. There is one, and every thread starts with it as the current interpreter."""

    __slots__ = ("__weakref__",)
    parent = None
    alive = True
    table = None
    executes = True
    process = dispatch.operations(first, with_number)

    def __reduce__(self) -> str:
        return "EVALUATION"

    def describe(self) -> str:
        return "evaluation"


def eager_unary(op: Op, kinds: str, otherwise: Primitive | Callable[..., Any]) -> Callable[..., Any]:
    """A function of one array that executes ``op`` in its own frame, which is all that an eager call costs.

    Args:
      op: an operator of one operand.
      kinds: dtype kinds (``ShapedArray.kind``) of the arrays on which to do so.
      otherwise: a function, called on everything else: other dtypes, what is no array, an operation not seen
        before, and under transformations.

    Example:
      >>> from rabbet.extend.functions import eager_unary
      >>> def general(x):
      ...     return lax.tanh(lax.convert_element_type(x, "float32"))
      >>> tanh = eager_unary(lax.tanh.op(), "f", general)
      >>> float(tanh(rb.device_put(np.float32(0)))), float(tanh(0))
      (0.0, 0.0)
    """
    return dispatch.unary(op, kinds, otherwise, EVALUATION)


def on_host(
    op: Op, rule: Callable[..., Any], arrays: list[Value], device: Device, committed: bool
) -> list[Value]:
    """Run an operation by its ``evaluate`` rule: ``(op, *arrays) -> NumPy arrays`` of its types."""
    avals = op.outs(tuple([a.aval for a in arrays]))
    effects.wait_for(ordered(op.primitive.effects_of(op.params)))
    what = f"the 'evaluate' rule for primitive {op.primitive.name!r}"
    with callbacks.on_host():
        try:
            given = rule(op, *arrays)
        except Exception as error:
            attribute(error, what, rule, context.where)
            raise
    try:
        outs = [values.host_array(x, aval, device, committed) for x, aval in zip(given, avals, strict=True)]
    except (TypeError, ValueError) as error:
        types = ", ".join([aval.str_short() for aval in avals])
        problem = (
            f"returned {contracts.described(given)}; expected is a list of NumPy arrays of types [{types}]"
        )
        raise contracts.broken(what, rule, f"{problem} ({error})") from None
    return outs if op.primitive.multiple_results else outs[0]


def spread_over(
    op: Op, arrays: list[Value], device: DeviceGroup | Device, places: frozenset[Any]
) -> Spread | None:
    """The ``Spread`` of an operator on these arrays, which are on ``device``; None for a single device."""
    if type(device) is not DeviceGroup:
        return None
    spread = program_shardings.spread_of(arrays, device, None, places)
    if op.primitive.place is None or op.primitive.special:
        return spread
    told = op.params[op.primitive.place].on(device)
    return spread._replace(like=told)  # whatever the operands are like


def executable(
    op: Op, avals: tuple[ShapedArray, ...], device: DeviceGroup | Device, spread: Spread | None = None
) -> Executable:
    """The compiled program of one operator for argument types; made once per device, or spread over
    several.
    """
    key = (avals, device) if spread is None else (avals, spread)
    made = op.executables.get(key)
    if made is None:
        name = op.params.get("name", op.primitive.name)
        # Of a twin: what ran an operator with bodies is given back when the operator is dropped.
        twin = type(op)(op.primitive, op.params) if op.primitive.special else op
        lowering = program.lower(as_program(twin, avals), device.platform, name, spread=spread)
        made = op.executables[key] = program.compile(lowering, device)
    return made


def as_program(op: Op, avals: tuple[ShapedArray, ...]) -> Jaxpr:
    """The program of one operator: one equation; a call's own body."""
    if op.primitive.is_call:
        op.outs(avals)  # checks the types against those it was traced for
        return op.params["jaxpr"]
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in op.outs(avals)]
    where = context.where or source_positions.caller()
    return Jaxpr(invars, outvars, [Equation(op, invars, outvars, where)], name=op.primitive.name)


EVALUATION = Evaluation()

__all__ = ["EVALUATION", "Evaluation", "as_program", "default_moves", "eager_unary", "executable"]
