"""The recorder: operations that touch a tangent become linear equations, all others run at once on the
level below.

Running forward mode over it takes one pass over the user's function: values are computed (so Python control
flow on them works) and what reverse mode needs is written down on the way, with the values it needs held in
the equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.functions import is_python_scalar, source_position
from rabbet.extend.passes import Equation, Var
from rabbet.extend.primitive import operand_avals
from rabbet.extend.transform import Interpreter, Tracer, context, transpose, typeof

from rabbet_autodiff.split_rules import rule_of
from rabbet_autodiff.splitting import refuse_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.primitive import Op, ShapedArray, Zero
    from rabbet.typing import Value


class Recorder(Interpreter):
    """Payload: the variable of a linear value."""

    __slots__ = ("equations",)
    table = transpose
    outermost = False  # users' code sees the tracers of forward mode, which hold these
    concerns_only_its_own = True

    def __init__(self) -> None:
        self.equations = []

    def handed_over(self) -> list[Equation]:
        """The equations, which hold values of other transformations: a rule may keep this recorder, as the
        parent of the interpreter that it ran under, and keeps none of them.
        """
        equations, self.equations = self.equations, []
        return equations

    def key(self) -> Any:
        return None

    def type_of(self, var: Var) -> ShapedArray:
        return var.aval

    def process(self, op: Op, args: tuple[Value, ...]) -> list[Value] | Value:
        """Record ``op`` if a linear value takes part, else run it on the parent."""
        for a in args:
            if type(a) is Tracer and a.interpreter is self:
                return self.record(op, args)
        ctx = context
        ctx.interpreter = self.parent
        try:
            return op(*args)
        finally:
            ctx.interpreter = self

    def record(self, op: Op, args: Any) -> Any:
        """One linear equation; a call is split first, so that only its linear half is recorded."""
        primitive = op.primitive
        kinds = primitive.kinds
        if "body" in kinds:
            return self.record_half(op, args)
        if "effect" in kinds:
            refuse_effects(op, context.where)
        inputs, avals = [], []
        linear, loose = 0, False
        for a in args:
            if type(a) is Tracer and a.interpreter is self:
                linear += 1
                inputs.append(a.payload)
            else:
                loose = loose or is_python_scalar(a)
                inputs.append(a)
            avals.append(typeof(a))
        if "bilinear" in kinds and linear == len(args):
            raise TypeError(
                f"{primitive.name} of two linear values is not linear{self.called_at()}; only linear "
                "functions can be transposed"
            )
        rule = transpose.lookup(primitive)
        if hasattr(rule, "parts"):
            return rule.parts(op, *args)
        out = op.out(tuple(operand_avals(op, args, typeof) if loose else avals))
        if primitive.multiple_results:
            return self.append(op, inputs, out)
        where = context.where
        v = Var(out)
        self.equations.append(Equation(op, inputs, [v], where))
        return Tracer(self, v, out, where)

    def record_half(self, op: Op, args: tuple[Value, ...]) -> list[Value]:
        """Run the known half of an operator with bodies, record the linear half."""
        flags = tuple([self.is_mine(a) for a in args])
        rule = rule_of(op.primitive)
        if hasattr(rule, "parts"):
            return rule.parts(op, *args)
        halves = rule(op, flags)
        outs = []
        if halves.known is not None:
            context.interpreter = self.parent
            try:
                outs = halves.known(*[args[i] for i in halves.known_in])
            finally:
                context.interpreter = self
        count = halves.out_linear.count(False)
        pools = {"operand": args, "residual": outs[count:]}
        tracers = []
        if halves.linear is not None:
            operands = [pools[pool][i] for pool, i in halves.linear_in]
            inputs = [a.payload if self.is_mine(a) else a for a in operands]
            avals = halves.linear.out(tuple([typeof(a) for a in operands]))
            tracers = self.append(halves.linear, inputs, avals)
        known, linear = iter(outs[:count]), iter(tracers)
        return [next(linear) if lin else next(known) for lin in halves.out_linear]

    def append(self, op: Op, inputs: Any, avals: Sequence[ShapedArray]) -> Any:
        """Add an equation; the tracers of its outputs."""
        where = context.where
        outputs = [Var(a) for a in avals]
        self.equations.append(Equation(op, inputs, outputs, where))
        return [Tracer(self, v, v.aval, where) for v in outputs]

    def called_at(self) -> str:
        """Where the current operation was called, for messages."""
        return f", at {source_position(context.where)}" if context.where is not None else ""

    def is_mine(self, x: Zero | Value) -> bool:
        """Whether ``x`` is a linear value of this recording."""
        return type(x) is Tracer and x.interpreter is self

    def describe(self) -> Any:
        return "differentiation" + super().describe().removeprefix("Recorder")
