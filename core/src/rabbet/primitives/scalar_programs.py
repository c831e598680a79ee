"""Programs of scalars on arrays: a function of numbers, such as that of ``x.at[i].apply``, at each place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.primitives import calls, scans, shape
from rabbet.program.jaxpr import Var
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.typing import Value


def without_calls(program: Jaxpr) -> Jaxpr:
    """The same program with the bodies of calls in their places.

    Example:
      >>> from rabbet.extend.passes import stage, without_calls
      >>> program = stage(lambda x: [rb.jit(lax.neg)(x)], [rb.typeof(1.0)]).jaxpr
      >>> [e.op.primitive.name for e in without_calls(program).equations]
      ['neg']
    """
    if not any(eqn.op.primitive is calls.jit for eqn in program.equations):
        return program
    return program.once(
        "without calls",
        lambda: stage(lambda *args: _run(program, args), program.in_avals, program.name).jaxpr,
    )


def _run(program: Jaxpr, args: list[Value] | tuple[Value, ...]) -> list[Value]:
    env = dict(zip(program.invars, args, strict=True))
    for eqn in program.equations:
        inputs = [env[v] if type(v) is Var else v.value for v in eqn.inputs]
        if eqn.op.primitive is calls.jit:
            outs = _run(eqn.op.params["jaxpr"], inputs)
        else:
            outs = eqn.op(*inputs)
            outs = outs if eqn.op.primitive.multiple_results else [outs]
        env.update(zip(eqn.outputs, outs, strict=True))
    return [env[v] if type(v) is Var else v.value for v in program.outvars]


def is_elementwise(program: Jaxpr) -> bool:
    """Whether a program of scalars means something on arrays as it stands.

    Example:
      >>> from rabbet.extend.passes import is_elementwise, stage
      >>> is_elementwise(stage(lambda x, y: [lax.add(x, y)], [rb.typeof(1.0)] * 2).jaxpr)
      True
    """
    return all("elementwise" in eqn.op.primitive.kinds for eqn in program.equations)


def at_each_place(program: Jaxpr, args: list[Value], consts: list[Any] | tuple[Any, ...] = ()) -> list[Value]:
    """A program of scalars applied at each place of arrays of one shape.

    Args:
      program: takes ``consts`` (any arrays) and then scalars.
      args: arrays of one shape.

    Returns:
      a list of arrays of that shape.

    Example:
      >>> from rabbet.extend.passes import at_each_place, stage
      >>> number = rb.typeof(np.float32(0))
      >>> program = stage(lambda x, y: [lax.cond(x > y, lambda: x, lambda: y)], [number] * 2).jaxpr
      >>> at_each_place(program, [np.float32([1, 5]), np.float32([3, 2])])
      [Array([3., 5.], dtype=float32)]
    """
    aval = typeof(args[0])
    if not aval.shape or (not consts and is_elementwise(program)):
        outs = _run(program, [*consts, *args])
        return [_spread(x, aval.shape) for x in outs]
    flat = [shape.reshape(x, new_sizes=(aval.size,)) for x in args]
    outs = scans.scan(
        *consts, *flat, jaxpr=program, length=aval.size, reverse=False, consts=len(consts), carry=0, unroll=1
    )
    return [shape.reshape(x, new_sizes=aval.shape) for x in outs]


def _spread(x: Value, wanted: tuple[int, ...]) -> Any:
    if typeof(x).shape == wanted:
        return x
    return shape.broadcast_in_dim(x, shape=wanted, broadcast_dimensions=())


__all__ = ["at_each_place", "is_elementwise", "without_calls"]
