"""Transformations to check rules with: the standard tables run by the smallest interpreters that can do it.

They serve core's own tests, which have no plugins, and show how little a transformation needs.
"""

from collections.abc import Callable
from typing import NamedTuple

from rabbet.extend.bodies import transpose_program
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Zero,
    call_op,
    full_of_type,
    instantiate,
    move_axis,
    new_axis,
    zero_tangent,
)
from rabbet.extend.transform import Interpreter, batch, payload_of, run_traced, typeof
from rabbet.extend.transform import jvp as jvp_table


class System(NamedTuple):
    """The transformations that laws speak of; functions take and return tuples of arrays.

    Args:
      jvp: ``(fn, primals, tangents) -> (outs, out_tangents)``.
      vjp: ``(fn, *primals) -> (outs, pull)`` where ``pull(cotangents)`` returns one cotangent per primal.
      vmap: ``(fn, in_axes) -> mapped``, the batch dimension in front of every output.
      jit: ``(fn) -> compiled``.
    """

    jvp: Callable
    vjp: Callable
    vmap: Callable
    jit: Callable


class Forward(Interpreter):
    """Payload: ``Dual``. A value whose tangent is zero is plain."""

    table = jvp_table

    def lift(self, value):
        return Dual(value, zero_tangent(typeof(value)))

    def type_of(self, dual):
        return typeof(dual.primal)

    def wrap(self, dual):
        return dual.primal if type(dual.tangent) is Zero else super().wrap(dual)


class Batching(Interpreter):
    """Payload: ``Batched``. A value without the batch dimension is plain."""

    table = batch

    def lift(self, value):
        return Batched(value, None)

    def type_of(self, b):
        aval = typeof(b.value)
        return aval.update(shape=aval.shape[: b.axis] + aval.shape[b.axis + 1 :])

    def wrap(self, b):
        return b.value if b.axis is None else super().wrap(b)


def jvp(fn, primals, tangents):
    """Forward mode."""
    interpreter = Forward()
    outs = run_traced(interpreter, fn, [Dual(x, t) for x, t in zip(primals, tangents, strict=True)])
    duals = [payload_of(interpreter, x) for x in outs]
    return tuple([d.primal for d in duals]), tuple([instantiate(d.tangent) for d in duals])


def vjp(fn, *primals):
    """Reverse mode: the tangents' part of forward mode as a program, transposed."""

    def push(*tangents):
        return jvp(fn, primals, tangents)[1]

    closed = stage(push, [typeof(x).strong() for x in primals], "push")

    def pull(cotangents):
        jaxpr = consts_as_inputs(closed)
        linear = (False,) * len(closed.consts) + (True,) * len(primals)
        results = transpose_program(jaxpr, linear, closed.consts, (True,) * len(jaxpr.outvars), cotangents)
        return tuple(
            [
                full_of_type(typeof(x).strong(), 0) if ct is None else ct
                for ct, x in zip(results, primals, strict=True)
            ]
        )

    return fn(*primals), pull


def vmap(fn, in_axes):
    """Batching; ``in_axes`` has an axis or None per argument."""

    def mapped(*args):
        interpreter = Batching()
        mine = [Batched(x, axis) for x, axis in zip(args, in_axes, strict=True) if axis is not None]
        size = typeof(mine[0].value).shape[mine[0].axis]

        def of_all(*tracers):
            each = iter(tracers)
            return fn(*[x if axis is None else next(each) for x, axis in zip(args, in_axes, strict=True)])

        outs = [payload_of(interpreter, x) for x in run_traced(interpreter, of_all, mine)]
        return tuple([_in_front(b, size) for b in outs])

    return mapped


def _in_front(b, size):
    """The value of a ``Batched`` with its batch dimension in front, repeated there if it has none."""
    return new_axis(b.value, 0, size) if b.axis is None else move_axis(b.value, b.axis, 0)


def jit(fn):
    """One compiled program, named like the function: as the one of ``rabbet.jit``, whose text is the same."""

    def compiled(*args):
        closed = stage(fn, [typeof(x) for x in args])
        name = getattr(fn, "__name__", "compiled")
        return tuple(call_op(consts_as_inputs(closed), name)(*closed.consts, *args))

    return compiled


CORE = System(jvp, vjp, vmap, jit)


def plugins():
    """The transformations that the installed plugins provide."""
    import rabbet

    return System(
        rabbet.jvp, rabbet.vjp, lambda fn, in_axes: rabbet.vmap(fn, in_axes=tuple(in_axes)), rabbet.jit
    )
