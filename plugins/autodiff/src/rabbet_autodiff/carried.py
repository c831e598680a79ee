"""Derivative rules under an interpreter that goes through their function, such as ``vmap``, or one that
threads a state.
"""

from rabbet import dtypes, tree
from rabbet.extend.bodies import PLAIN, put_together
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Zero, full_of_type, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import Tracer, payload_of, run_traced, typeof
from rabbet_custom_rules import Under

from rabbet_autodiff.modes import forward


def is_float0(x):
    """Whether ``x`` is the tangent of an integer, a NumPy array without bytes."""
    return type(x) is not Tracer and getattr(x, "dtype", None) == dtypes.float0


class UnderWithZeros(Under):
    """``Under`` for functions of tangents and cotangents.

    A ``Zero`` among the leaves, which are one per input then, stands for one that is zero; float0 arrays, the
    tangents of integers, stay what they are.
    """

    def values(self, inner, flat):
        if not any(type(x) is Zero for x in flat):
            return super().values(inner, flat)
        return [
            zero_of(inner, x, s) if type(x) is Zero else put_together(inner, (s,), [x])[0]
            for x, s in zip(flat, self.structures, strict=True)
        ]

    def leaves(self, inner, values):
        found = []
        for x in values:
            found += [x] if is_float0(x) else super().leaves(inner, [instantiate(x)])
        return found

    def given_back(self, flat, structures):
        """Call it for its only list, cotangents of inputs of the given static parts."""
        inner, (values,) = self.run(flat)
        return [
            x if x is None or is_float0(x) else inner.give_back(payload_of(inner, instantiate(x)), s)
            for x, s in zip(values, structures, strict=True)
        ]


def zero_of(interpreter, zero, structure):
    """The symbolic zero that the function sees for that of a payload's only leaf."""
    if structure is PLAIN or zero.aval.dtype == dtypes.float0:
        return zero
    return Zero(tangent_aval(interpreter.type_of(tree.unflatten(structure, [zero]))))


# ------------------------------------------------------------------------------- through maps and the like
def pushforward(passage, push):
    """The flat rule of forward mode under an interpreter."""
    n = len(passage.inputs)

    def rule(*values):
        return tuple(push(list(values[:n]), list(values[n:])))

    both = UnderWithZeros(passage.interpreter, rule, (*passage.inputs, *passage.inputs))
    return lambda primals, tangents: both([*primals, *tangents])


def pullback(passage):
    """The flat rules of reverse mode under an interpreter: residuals and cotangents are uniform, results fit
    the inputs.
    """
    interpreter, inputs = passage.interpreter, passage.inputs
    structure = passage.outputs[0] if passage.outputs else None

    def of(pull):
        def forward(primals, perturbed):
            on = lambda *values: tuple(pull.forward(list(values), perturbed))
            return UnderWithZeros(interpreter, on, inputs)(primals)

        def backward(residuals, cotangents):
            n = len(residuals)
            run = UnderWithZeros(
                interpreter, lambda *values: (list(pull.backward(list(values[:n]), list(values[n:]))),),
                (structure,) * (n + len(cotangents)),
            )  # fmt: skip
            return run.given_back([*residuals, *cotangents], inputs)

        return forward, backward

    return of


# ------------------------------------------------------------------------------ through what threads a state
class Stateful:
    """A function under an interpreter that threads a state, for its rules.

    The state comes in and goes out beside the values. What the rules compute is not part of the function's
    own run, as the derivatives of primitives are not: their state is left behind. Rules say nothing of the
    derivative of the state, so one that has a derivative is an error.
    """

    def __init__(self, passage):
        self.interpreter, self.body, self.name = passage.interpreter, passage.body, passage.name
        self.first, self.last = passage.first, passage.last
        self.state = passage.inputs[-1].treedef
        self.outputs = len(passage.outputs) - 1

    def pushforward(self, push):
        """The flat rule of forward mode."""

        def rule(primals, tangents):
            self.refuse([type(t) is not Zero for t in tangents])
            tangents = tangents[self.first : self.last]
            given = tangents if push.symbolic else [instantiate(t) for t in tangents]
            outs, moved = self.run(primals, push.rule, self.known(primals), given)
            after = self.state_after(primals)
            return [*outs, *after], [*moved, *[zero_tangent(typeof(x)) for x in after]]

        return rule

    def pullback(self, pull):
        """The flat rules of reverse mode."""

        def onward(primals, perturbed):
            self.refuse(perturbed)
            known = self.known(primals)
            outs, residuals = self.run(primals, pull.forward, known, perturbed[self.first : self.last])
            return [*outs, *self.state_after(primals)], residuals

        def backward(residuals, cotangents):
            found = self.run(None, pull.backward, residuals, cotangents[: self.outputs])
            return [*[None] * self.first, *found, *[None] * self.state.num_leaves]

        return onward, backward

    def known(self, primals):
        return list(primals[self.first : self.last])

    def run(self, primals, function, *args):
        """A function under the interpreter, of which only the results count. Where the state is not known, in
        the backward pass, it begins with zeros.
        """
        inner = self.interpreter.aside()
        types = [v.aval for v in self.body.invars[self.last :]]
        state = [full_of_type(t, 0) for t in types] if primals is None else primals[self.last :]
        inner.state = tree.unflatten(self.state, state)
        return run_traced(inner, lambda: function(*args), [])

    def state_after(self, primals):
        return evaluate(self.body, primals)[self.outputs :]

    def refuse(self, moving):
        """Refuse what rules cannot see: a captured value that is differentiated, and a state that has a
        derivative when the function is left.
        """
        if any(moving[: self.first]):
            raise TypeError(
                f"{self.name!r} has a derivative rule of its own and closes over a value that is being "
                "differentiated; make that value an argument, so that the rule can see it"
            )
        moving = tuple(moving)
        if self.body.once(("state moves", moving), lambda: self.state_moves(moving)):
            raise TypeError(
                f"{self.name!r} has a derivative rule of its own, which does not say how the state of "
                f"{self.interpreter.describe()} changes with its arguments\n  to fix: the interpreter "
                "says rb.lax.stop_gradient(...) of what it writes into the state, if nobody differentiates "
                "that; else call a function without such a rule"
            )

    def state_moves(self, moving):
        """Whether the state that leaves the function has a tangent if these inputs have one."""
        moves = []

        def run(*primals):
            tangents = [p if m else zero_tangent(typeof(p)) for p, m in zip(primals, moving, strict=True)]
            outs, tangents = forward(lambda *xs: evaluate(self.body, xs), primals, tangents)
            moves[:] = [type(t) is not Zero for t in tangents[self.outputs :]]
            return outs

        stage(run, [v.aval for v in self.body.invars], self.name)
        return any(moves)
