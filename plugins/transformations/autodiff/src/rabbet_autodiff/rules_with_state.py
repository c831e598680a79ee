"""Derivative rules of a function under an interpreter that threads a state.

The state comes in and goes out beside the values. What the rules compute is not part of the function's own
run, as the derivatives of primitives are not: it leaves no state (``Interpreter.aside``). The state after the
function has the derivative that its own operations give it, which do without the rules. It is one linear
equation, transposed only where somebody differentiates the state, so that a function with a loop that reverse
mode cannot go through keeps its rule's derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax, tree
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Zero, full_of_type, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import run_traced, typeof

from rabbet_autodiff import modes
from rabbet_autodiff.primitives.custom_linear import custom_linear

if TYPE_CHECKING:
    import numpy as np
    from rabbet.typing import Value


class Stateful:
    """A function under an interpreter that threads a state, for its rules.

    Args:
      passage: what the interpreter made of the function: the state is its last input and last output.
    """

    def __init__(self, passage: Any) -> None:
        # Rules are kept: what goes on from here has not the state that the interpreter has now, which holds
        # values of the trace.
        self.interpreter = passage.interpreter.fresh()
        self.interpreter.state = None
        self.body, self.name = passage.body, passage.name
        self.first, self.last = passage.first, passage.last
        self.state = passage.inputs[-1].treedef
        self.outputs = len(passage.outputs) - 1
        # Which leaves of the state have a derivative.
        moves = passage.interpreter.state_moves
        self.moving = self.body.once("moving state", self.find_moving) if moves else ()

    def pushforward(self, push: Any) -> Any:
        """The flat rule of forward mode."""

        def rule(primals: list[Value], tangents: list[Zero | Value]) -> tuple[list[Zero | Value], ...]:
            self.refuse_captured([type(t) is not Zero for t in tangents])
            inside = tangents[self.first : self.last]
            given = inside if push.symbolic else [instantiate(t) for t in inside]
            outs, moved = self.run(primals, push.rule, self.known(primals), given)
            after = self.state_after(primals)
            return [*outs, *after], [*moved, *self.state_tangents(primals, tangents, after)]

        return rule

    def pullback(self, pull: Any) -> Any:
        """The flat rules of reverse mode. ``backward`` is given ``Zero`` for cotangents that are zero."""
        inputs = len(self.body.invars) if self.moving else 0  # kept behind the rule's residuals

        def forward(primals: list[Value], perturbed: tuple[bool, ...]) -> tuple[list[Value], ...]:
            self.refuse_captured(perturbed)
            known = self.known(primals)
            outs, residuals = self.run(primals, pull.forward, known, perturbed[self.first : self.last])
            return [*outs, *self.state_after(primals)], [*residuals, *list(primals)[:inputs]]

        def backward(residuals: list[Value], cotangents: list[Zero | np.generic]) -> list[Value | None]:
            count = len(residuals) - inputs
            own, primals = list(residuals[:count]), list(residuals[count:])
            given = list(cotangents[: self.outputs])
            given = given if pull.symbolic else [instantiate(ct) for ct in given]
            found = self.run(None, pull.backward, own, given)
            found = [*[None] * self.first, *found, *[None] * self.state.num_leaves]
            of_state = [cotangents[self.outputs + i] for i in self.moving]
            if all(type(ct) is Zero for ct in of_state):
                return found
            pulled = self.pulled_state(primals, of_state, [True] * len(primals))
            return [added(a, b) for a, b in zip(found, pulled, strict=True)]

        return forward, backward

    def find_moving(self) -> tuple[int, ...]:
        """Which leaves of the state have a tangent after the function, if all that can has one before."""
        avals = [v.aval for v in self.body.invars]
        found = [i for i, a in enumerate(self.body.out_avals[self.outputs :]) if dtypes.kind(a.dtype) in "fc"]
        moves = []

        def run(*primals: Value) -> list[Value]:
            moving = [dtypes.kind(typeof(p).dtype) in "fc" for p in primals]
            tangents = [p if m else zero_tangent(typeof(p)) for p, m in zip(primals, moving, strict=True)]
            outs, tangents = modes.forward(lambda *xs: self.state_after(xs), primals, tangents)
            moves[:] = [type(t) is not Zero for t in tangents]
            return outs

        if found:
            stage(run, avals, self.name)
        return tuple([i for i in found if moves[i]])

    def still(self) -> frozenset[Any]:
        """The numbers of the outputs that have no derivative: leaves of the state."""
        leaves = set(range(self.state.num_leaves)) - set(self.moving)
        return frozenset([self.outputs + i for i in leaves])

    def known(self, primals: list[Value]) -> list[Value]:
        return list(primals[self.first : self.last])

    def run(
        self, primals: list[Value] | None, function: Callable[..., Any], *args: list[Value] | tuple[bool, ...]
    ) -> list[Value] | tuple[list[Value], ...]:
        """A function aside, of which only the results count."""
        inner = self.interpreter.aside()
        if inner is None:
            return function(*args)
        # In the backward pass the state is not known: it begins with zeros there.
        types = [v.aval for v in self.body.invars[self.last :]]
        state = [full_of_type(t, 0) for t in types] if primals is None else primals[self.last :]
        inner.state = tree.unflatten(self.state, state)
        try:
            return run_traced(inner, lambda: function(*args), [])
        except Exception as error:
            error.add_note(
                f"the derivative rule of {self.name!r} was run under {type(inner).__name__}.aside(), where "
                "only linear operations on tangents are allowed; without that method the rule is not observed"
            )
            raise

    def state_after(self, primals: list[Value] | tuple[Value, ...]) -> list[Value]:
        return evaluate(self.body, primals)[self.outputs :]

    def moving_state(self, *primals: Value) -> list[Value]:
        """The leaves of the state that have a derivative, as a function of all inputs."""
        after = self.state_after(primals)
        return [after[i] for i in self.moving]

    def state_tangents(self, primals: list[Value], tangents: Any, after: list[Value]) -> list[Zero | Value]:
        """The tangents of the state after the function."""
        found = [zero_tangent(typeof(x)) for x in after]
        moving = tuple([type(t) is not Zero and t.dtype != dtypes.float0 for t in tangents])
        if not self.moving or not any(moving):
            return found
        given = [t for t, m in zip(tangents, moving, strict=True) if m]
        linear = custom_linear(
            *primals, *given,
            forward=lambda known, ts: self.pushed_state(known, ts, moving),
            backward=lambda known, cts: self.pulled_state(known, cts, moving),
            residuals=len(primals), moving=moving, name=self.name, symbolic=True,
            out_avals=tuple([tangent_aval(typeof(after[i])) for i in self.moving]),
        )  # fmt: skip
        for i, tangent in zip(self.moving, linear, strict=True):
            found[i] = tangent
        return found

    def pushed_state(self, primals: list[Value], given: list[Value], moving: tuple[bool, ...]) -> list[Value]:
        """The tangents of the state's moving leaves, from those of the inputs that move."""
        each = iter(given)
        tangents = [
            next(each) if m else zero_tangent(typeof(p)) for p, m in zip(primals, moving, strict=True)
        ]
        return [instantiate(t) for t in modes.forward(self.moving_state, primals, tangents)[1]]

    def pulled_state(self, primals: Any, cotangents: Any, moves: Any) -> list[Value | None]:
        """The cotangent of each input for those of the state's moving leaves; None for inputs that cannot
        move.
        """
        _, recording = modes.record(self.moving_state, primals, moves)
        pulled = recording.pull(cotangents)
        return [
            full_of_type(tangent_aval(typeof(p)), 0) if ct is None and v is not None else ct
            for ct, v, p in zip(pulled, recording.inputs, primals, strict=True)
        ]

    def refuse_captured(self, moving: list[bool] | tuple[bool, ...]) -> None:
        if any(moving[: self.first]):
            raise TypeError(
                f"{self.name!r} has a derivative rule of its own and closes over a value that is being "
                "differentiated; make that value an argument, so that the rule can see it"
            )


def added(a: Any, b: Any) -> Any:
    """The sum of two cotangents, of which either may be None or ``Zero``."""
    if b is None or type(b) is Zero:
        return a
    return b if a is None or type(a) is Zero else lax.add(a, b)
