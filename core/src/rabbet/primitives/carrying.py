"""Rules that a function has for other transformations survive one that goes through the function.

``vmap`` of a function with a derivative rule is a function with a derivative rule: the rule is interpreted in
the same way. ``under`` runs a flat function under a fresh copy of an interpreter, leaves in and leaves out;
everything here is made of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from rabbet import dtypes, tree
from rabbet.primitives import batching, zeros
from rabbet.program.context import context
from rabbet.program.jaxpr import evaluate, open_consts
from rabbet.rules.payloads import Batched, Zero, tangent_aval, zero_for
from rabbet.trace import bodies
from rabbet.trace.interpreter import Tracer, run_traced, typeof
from rabbet.trace.staging import stage


class Carried(NamedTuple):
    """A function with rules on the leaves of payloads: what to bind, and ``finish``, which makes values of an
    interpreter of its results. The first ``consts`` operands are what it captured.
    """

    operands: list
    body: Any
    rules: dict
    consts: int
    finish: Callable


def at(interpreter, thunk):
    """``thunk()`` with ``interpreter`` current."""
    ctx = context
    previous = ctx.interpreter
    ctx.interpreter = interpreter
    try:
        return thunk()
    finally:
        ctx.interpreter = previous


def is_mine(x, interpreter):
    """Whether ``x`` is a tracer of ``interpreter``."""
    return type(x) is Tracer and x.interpreter is interpreter


def payload_or_plain(interpreter, x):
    """The payload of a tracer of ``interpreter``; any other value as a lifted payload."""
    return x.payload if is_mine(x, interpreter) else interpreter.lift(x)


def is_float0(x):
    """Whether ``x`` is the tangent of an integer, a NumPy array without bytes."""
    return type(x) is not Tracer and getattr(x, "dtype", None) == dtypes.float0


def number_of_leaves(structures):
    """How many leaves payloads of these static parts have."""
    return sum(1 if s is bodies.PLAIN else s.num_leaves for s in structures)


class under:
    """A flat function run under a fresh copy of an interpreter: leaves in, leaves of uniform payloads out.

    The function returns a tuple of lists of values. A ``Zero`` among the leaves, which are one per input
    then, stands for a tangent or cotangent that is zero. ``structure`` is the static part that every output
    has, ``plain`` says which outputs of the first list the interpreter had not touched; both are known after
    the first call.
    """

    def __init__(self, interpreter, function, structures):
        self.interpreter, self.function, self.structures = interpreter, function, structures
        self.structure: Any = None
        self.plain: Any = None

    def __call__(self, flat):
        inner, groups = self._run(flat)
        self.plain = [not is_mine(x, inner) for x in groups[0]]
        return [self._leaves(inner, values) for values in groups]

    def given_back(self, flat, structures):
        """Call it for its only list, cotangents of inputs of the given static parts."""
        inner, (values,) = self._run(flat)
        return [
            x if x is None or is_float0(x) else inner.give_back(payload_or_plain(inner, real(x)), s)
            for x, s in zip(values, structures, strict=True)
        ]

    def _run(self, flat):
        inner = self.interpreter.fresh()
        return inner, run_traced(inner, lambda: self.function(*self._values(inner, list(flat))), [])

    def _values(self, inner, flat):
        if not any(type(x) is Zero for x in flat):
            return bodies.put_together(inner, self.structures, flat)
        return [
            zero_of(inner, x, s) if type(x) is Zero else bodies.put_together(inner, (s,), [x])[0]
            for x, s in zip(flat, self.structures, strict=True)
        ]

    def _leaves(self, inner, values):
        leaves = []
        for x in values:
            if is_float0(x):  # the tangent of an integer: nothing to represent
                leaves.append(x)
                continue
            parts, self.structure = tree.flatten(inner.uniform(payload_or_plain(inner, real(x))))
            leaves += parts
        return leaves


def real(x):
    """A symbolic zero as an array."""
    return zeros.instantiate(x)


def zero_of(interpreter, zero, structure):
    """The symbolic zero that the function sees for that of a payload's only leaf."""
    if structure is bodies.PLAIN or zero.aval.dtype == dtypes.float0:
        return zero
    return Zero(tangent_aval(interpreter.type_of(tree.unflatten(structure, [zero]))))


# ------------------------------------------------------------------------------- through maps and the like
def through(interpreter, op, args):
    """A ``custom_call`` under an interpreter that ``carries``: its payloads have one leaf each."""
    leaves, structures = bodies.take_apart(interpreter, args)
    n, rules = op.params["consts"], op.params["rules"]
    constant, moving = structures[:n], structures[n:]
    body = op.params["jaxpr"]
    uniform = under(interpreter, lambda *values: (evaluate(body, values),), (*constant, *moving))
    closed = stage(lambda *flat: uniform(flat)[0], [typeof(x) for x in leaves], op.params["name"])
    structure = uniform.structure
    carried = {}
    if "jvp" in rules:
        carried["jvp"] = pushforward(interpreter, rules["jvp"], moving)
    if "vjp" in rules:
        carried["vjp"] = pullback(interpreter, rules["vjp"], moving, structure)

    def finish(outs):
        values = bodies.put_together(interpreter, (structure,) * len(outs), outs)
        return [
            interpreter.collapse(x.payload) if plain else x
            for x, plain in zip(values, uniform.plain, strict=True)
        ]

    first = len(closed.consts) + number_of_leaves(constant)
    return Carried([*closed.consts, *leaves], open_consts(closed), carried, first, finish)


def pushforward(interpreter, push, structures):
    """The rule of forward mode under an interpreter."""
    n = len(structures)

    def rule(*values):
        return tuple(push.rule(list(values[:n]), list(values[n:])))

    both = under(interpreter, rule, (*structures, *structures))
    return push._replace(rule=lambda primals, tangents: both([*primals, *tangents]))


def pullback(interpreter, pull, structures, structure):
    """The rules of reverse mode under an interpreter: residuals and cotangents are uniform, results fit the
    inputs.
    """

    def forward(primals, perturbed):
        run = under(interpreter, lambda *values: tuple(pull.forward(list(values), perturbed)), structures)
        return run(primals)

    def backward(residuals, cotangents):
        n = len(residuals)
        run = under(
            interpreter, lambda *values: (list(pull.backward(list(values[:n]), list(values[n:]))),),
            (structure,) * (n + len(cotangents)),
        )  # fmt: skip
        return run.given_back([*residuals, *cotangents], structures)

    return pull._replace(forward=forward, backward=backward)


# ------------------------------------------------------------------------------ through what threads a state
def through_state(interpreter, op, args):
    """A ``custom_call`` under an interpreter that ``carries`` and ``threads``: its values are what they are.

    The state comes in and goes out beside the values, and has no derivative. What the rules compute is not
    part of the function's own run, as the derivatives of primitives are not: their state is left behind.
    """
    leaves, structures = bodies.take_apart(interpreter, bodies.entering(interpreter, args))
    body, outs, consts = bodies.interpret(
        interpreter, op.params["jaxpr"], structures, [typeof(x) for x in leaves]
    )
    first, last, rules = len(consts) + op.params["consts"], len(consts) + len(args), op.params["rules"]
    stateful = Stateful(interpreter, body, first, last, len(outs) - 1, structures[-1], op.params["name"])
    carried = {}
    if "jvp" in rules:
        carried["jvp"] = rules["jvp"]._replace(
            rule=lambda *given: stateful.pushed(rules["jvp"], *given), symbolic=True
        )
    if "vjp" in rules:
        carried["vjp"] = rules["vjp"]._replace(
            forward=lambda *given: stateful.forward(rules["vjp"], *given),
            backward=lambda *given: stateful.backward(rules["vjp"], *given),
        )
    return Carried(
        [*consts, *leaves], body, carried, 0, lambda results: bodies.put_together(interpreter, outs, results)
    )


class Stateful(NamedTuple):
    """A function under an interpreter that threads a state, for its rules.

    Its inputs are what it captured, from ``first`` to ``last`` what the rules know, and the leaves of the
    state; its outputs are as many as ``count`` and the leaves of the state.
    """

    interpreter: Any
    body: Any
    first: int
    last: int
    count: int  # type: ignore[assignment]  # no one counts values in it
    state: Any
    name: str

    def pushed(self, push, primals, tangents):
        self.refuse_captured([type(t) is not Zero for t in tangents])
        tangents = tangents[self.first : self.last]
        given = tangents if push.symbolic else [zeros.instantiate(t) for t in tangents]
        outs, moved = self.run(primals, push.rule, self.known(primals), given)
        after = self.state_after(primals)
        return [*outs, *after], [*moved, *[zero_for(typeof(x)) for x in after]]

    def forward(self, pull, primals, perturbed):
        self.refuse_captured(perturbed)
        known = self.known(primals)
        outs, residuals = self.run(primals, pull.forward, known, perturbed[self.first : self.last])
        return [*outs, *self.state_after(primals)], residuals

    def backward(self, pull, residuals, cotangents):
        found = self.run(None, pull.backward, residuals, cotangents[: self.count])
        behind = self.state.treedef.num_leaves
        return [*[None] * self.first, *found, *[None] * behind]

    def known(self, primals):
        return list(primals[self.first : self.last])

    def run(self, primals, function, *args):
        """A function under the interpreter, of which only the results count."""
        inner = self.interpreter.aside()
        if primals is not None:
            inner.state = tree.unflatten(self.state.treedef, primals[self.last :])
        return run_traced(inner, lambda: function(*args), [])

    def state_after(self, primals):
        return evaluate(self.body, primals)[self.count :]

    def refuse_captured(self, moving):
        if any(moving[: self.first]):
            raise TypeError(
                f"{self.name!r} has a derivative rule of its own and closes over a value that is being "
                "differentiated; make that value an argument, so that the rule can see it"
            )


# -------------------------------------------------------------------------------------- through forward mode
def through_forward(interpreter, op, args):
    """A ``custom_call`` under forward mode, of which the rule for batching survives: the function on values
    and tangents is mapped by the rule's own derivative.
    """
    leaves, structures = bodies.take_apart(interpreter, args)
    n, rule = op.params["consts"], op.params["rules"]["batch"]
    avals = [typeof(x) for x in leaves]
    body, outs, consts = bodies.interpret(interpreter, op.params["jaxpr"], structures, avals)

    def batched(mapped, payloads):
        inner = interpreter.fresh()
        at_front = grouped(structures[n:], payloads)
        found = run_traced(inner, lambda: rule(mapped, [whole(mapped, inner, *x) for x in at_front]), [])
        return [
            Batched(leaf, b.axis)
            for b, s in zip(found, outs, strict=True)
            for leaf in bodies.forced(inner, b.value, s)
        ]

    def finish(results):
        return bodies.put_together(interpreter, outs, results)

    first = len(consts) + number_of_leaves(structures[:n])
    return Carried([*consts, *leaves], body, {"batch": batched}, first, finish)


def grouped(structures, payloads):
    """Batched leaves by the value that they belong to, each with its static part."""
    given = iter(payloads)
    return [(s, [next(given) for _ in range(1 if s is bodies.PLAIN else s.num_leaves)]) for s in structures]


def whole(mapped, inner, structure, parts):
    """The batched value of an interpreter from its batched leaves, some of which may be the same for all."""
    if structure is bodies.PLAIN:
        return parts[0]
    if all(b.axis is None for b in parts):
        return Batched(bodies.put_together(inner, (structure,), [b.value for b in parts])[0], None)
    leaves = [
        batching.new_axis(b.value, 0, mapped.size)
        if b.axis is None
        else batching.move_axis(b.value, b.axis, 0)
        for b in parts
    ]
    return Batched(bodies.put_together(inner, (structure,), leaves)[0], 0)
