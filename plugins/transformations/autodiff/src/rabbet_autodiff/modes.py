"""The two modes on flat lists of arrays: ``forward`` (jvp) and ``record`` (the first half of reverse
mode).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.extend.bodies import add_to, backward
from rabbet.extend.functions import named_like
from rabbet.extend.passes import Jaxpr, Literal, Var
from rabbet.extend.primitive import Dual, Zero, tangent_aval, zero_tangent
from rabbet.extend.transform import Tracer, run_traced, typeof
from rabbet.extend.wrapping import check_in_the_end, look_again

from rabbet_autodiff.interpreter import Forward
from rabbet_autodiff.recorder import Recorder

if TYPE_CHECKING:
    from rabbet.extend.primitive import ShapedArray
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value

    from rabbet_autodiff.functions import Flat


def forward(
    fun: Flat | Callable[..., Any], primals: list[Value] | tuple[Value, ...], tangents: list[Zero | Value]
) -> tuple[list[Zero | Value], ...]:
    """Run ``fun`` (a list of arrays from arrays) on values and tangents; lists of values and of tangents
    (or ``Zero``).
    """
    interpreter = Forward()
    outs = run_traced(interpreter, _on_moving(fun, primals, tangents), _duals(primals, tangents))
    duals = [_dual(interpreter, x) for x in outs]
    return [d.primal for d in duals], [d.tangent for d in duals]


def _duals(primals: list[Value] | tuple[Value, ...], tangents: list[Zero | Value]) -> list[Dual]:
    return [Dual(p, t) for p, t in zip(primals, tangents, strict=True) if type(t) is not Zero]


def _on_moving(
    fun: Flat | Callable[..., Any], primals: list[Value] | tuple[Value, ...], tangents: list[Zero | Value]
) -> Callable[..., Any]:
    """``fun`` as a function of the arguments that have a tangent; the others are plain values."""

    def on_moving(*tracers: Value) -> list[Value]:
        mine = iter(tracers)
        return fun(*[p if type(t) is Zero else next(mine) for p, t in zip(primals, tangents, strict=True)])

    return named_like(on_moving, fun)


def _dual(interpreter: Interpreter, x: Value) -> Dual:
    if type(x) is Tracer and x.interpreter is interpreter:
        return x.payload
    return Dual(x, zero_tangent(typeof(x)))


class Recording(NamedTuple):
    """What ``record`` leaves: linear equations from input variables to output variables (None: the
    derivative is zero).
    """

    inputs: list
    outputs: list
    equations: list

    def pull(self, cotangents: list[Value]) -> Any:
        """The cotangents of the inputs (None where zero) for cotangents of the outputs."""
        try:
            pulled = self._pull(cotangents)
        except FloatingPointError as error:
            pulled = look_again(error, "", self._pull, cotangents)
        check_in_the_end(pulled)
        return pulled

    def _pull(self, cotangents: list[Value]) -> Any:
        held = {}
        for v, ct in zip(self.outputs, cotangents, strict=True):
            if v is not None and type(ct) is not Zero:
                add_to(held, v, ct)
        backward(self.equations, held)
        return [None if v is None else held.get(v) for v in self.inputs]

    def program(self) -> Any:
        """The linear equations as a program, with the values that they hold as its captured arrays."""
        held, equations = {}, []
        for eqn in self.equations:
            inputs = [_atom(x, held) for x in eqn.inputs]
            equations.append(type(eqn)(eqn.op, inputs, eqn.outputs, eqn.where))
        outs = [v for v in self.outputs if v is not None]
        inputs = [v for v in self.inputs if v is not None]
        jaxpr = Jaxpr(inputs, outs, equations, [v for v, _ in held.values()], name="linearized")
        return jaxpr, [x for _, x in held.values()]

    def with_values(self, jaxpr: Jaxpr, values: Any) -> Any:
        """The recording whose ``program`` is ``jaxpr``, holding other values."""
        held = dict(zip(jaxpr.constvars, values, strict=True))
        equations = [
            type(e)(e.op, [_held(v, held) for v in e.inputs], e.outputs, e.where) for e in jaxpr.equations
        ]
        return Recording(self.inputs, self.outputs, equations)


def _held(v: Literal | Var, held: dict[Any, Any]) -> Var | Value:
    return v.value if type(v) is Literal else held.get(v, v)


def _atom(x: Var | Value, held: dict[Any, Any]) -> Literal | Var:
    if type(x) is Var:
        return x
    aval = typeof(x)
    if not aval.shape and not hasattr(x, "aval"):
        return Literal(x, aval)
    if id(x) not in held:
        held[id(x)] = Var(aval), x
    return held[id(x)][0]


def record(fun: Callable[..., Any], primals: Any, moves: Any = None) -> Any:
    """Run ``fun`` once, forward mode over a recorder.

    Args:
      fun: takes arrays, returns a list of arrays.
      primals: arrays; those of floating or complex dtype are differentiated.
      moves: a bool for each of them: False for one whose tangent is zero; None: all may move.

    Returns:
      (outs, recording)
    """
    recorder, interpreter = Recorder(), Forward()
    tangents = [tangent_aval(typeof(p)) for p in primals]
    moves = [True] * len(primals) if moves is None else moves
    inputs = [
        Var(t) if moving and t.dtype == typeof(p).dtype else None
        for p, t, moving in zip(primals, tangents, moves, strict=True)
    ]
    outs: list = []

    def over_recorder(*linear: Value) -> None:
        nonlocal outs
        mine = iter(linear)
        duals = [Dual(p, next(mine)) for p, v in zip(primals, inputs, strict=True) if v is not None]

        def on_moving(*tracers: Value) -> list[Value]:
            moving = iter(tracers)
            return fun(*[p if v is None else next(moving) for p, v in zip(primals, inputs, strict=True)])

        named_like(on_moving, fun)
        outs = [_dual(interpreter, x) for x in run_traced(interpreter, on_moving, duals)]

    run_traced(recorder, named_like(over_recorder, fun), [v for v in inputs if v is not None])
    if recorder.fn is over_recorder:  # where leaks are looked for, its name stands there already
        recorder.fn = fun
    outputs = [d.tangent.payload if recorder.is_mine(d.tangent) else None for d in outs]
    return [d.primal for d in outs], Recording(inputs, outputs, recorder.handed_over())


def transposed(fun: Flat, avals: list[ShapedArray]) -> Any:
    """Record a linear function of arrays of the given types; a ``Recording``."""
    recorder = Recorder()
    inputs = [Var(a) for a in avals]
    outs = run_traced(recorder, fun, inputs)
    outputs = []
    for x in outs:
        outputs.append(x.payload if recorder.is_mine(x) else None)
    return Recording(inputs, outputs, recorder.handed_over()), outs


__all__ = ["Recording", "forward", "record", "transposed"]
