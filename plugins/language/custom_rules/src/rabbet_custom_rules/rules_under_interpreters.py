"""Functions with rules of their own, under an interpreter that goes through them.

``vmap`` of a function with a derivative rule is a function with a derivative rule: the rule is interpreted in
the same way. ``Under`` runs a flat function under a fresh copy of an interpreter, leaves in and leaves out;
``through`` makes of a call of such a function the call to bind instead, and each rule that survives says what
it is under the interpreter (``CustomRule.under``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from rabbet import tree
from rabbet.extend.bodies import count_leaves, entering, interpret, is_tracer_of, put_together, take_apart
from rabbet.extend.passes import Jaxpr, consts_as_inputs, evaluate, stage
from rabbet.extend.transform import axes_used_in, payload_of, run_traced, typeof


class Passage(NamedTuple):
    """A function under an interpreter, as its rules see it.

    Attributes:
      interpreter: goes through the function; a copy ``to_keep``, since rules outlive the trace.
      inputs: the static parts of the inputs that the rules know, and of the state, if there is one, behind.
      outputs: the static parts of the outputs, and of the state behind.
      body: the program on leaves.
      first, last: which inputs of ``body`` the rules know; those before were captured, a state is behind.
      name: the function's.
      plain: of each output, whether the interpreter had not touched it: then there is one for all leaves.
        Empty where the function communicates along named axes: there one result may have been made of all.

    Example:
      >>> from rabbet.extend.bodies import PLAIN
      >>> from rabbet_custom_rules import Passage
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.transform import Interpreter
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr
      >>> Passage(Interpreter(), (PLAIN,), (PLAIN,), program, 0, 1, "f").name
      'f'
    """

    interpreter: Any
    inputs: tuple
    outputs: tuple
    body: Jaxpr
    first: int
    last: int
    name: str
    plain: tuple = ()


def to_keep(interpreter):
    """A copy of an interpreter for rules, which programs keep. It has neither the function that runs nor the
    level below: those hold the arguments of the call that is being traced.

    Example:
      >>> from rabbet_custom_rules import to_keep
      >>> from rabbet.extend.transform import Interpreter
      >>> to_keep(Interpreter()).fn is None
      True
    """
    kept = interpreter.fresh()
    kept.fn = kept.parent = None
    return kept


class Carried(NamedTuple):
    """A function with rules on the leaves of payloads: what to bind, and ``finish``, which makes values of an
    interpreter of its results. The first ``consts`` operands are what it captured.
    """

    operands: list
    body: Any
    rules: dict
    consts: int
    finish: Callable


class Under:
    """A flat function run under a fresh copy of an interpreter: leaves in, leaves of uniform payloads out.

    The function returns a tuple of lists of values. ``structure`` is the static part that every output has,
    ``plain`` says which outputs of the first list the interpreter had not touched; both are known after the
    first call. Rules may keep it: it holds nothing of the trace that made it.

    Example:
      >>> from rabbet.extend.bodies import PLAIN
      >>> from rabbet_custom_rules import Under
      >>> from rabbet.extend.transform import Interpreter
      >>> class Pairs(Interpreter):
      ...     def lift(self, value):
      ...         return value, 0.0
      ...     def type_of(self, pair):
      ...         return rb.typeof(pair[0])
      >>> under = Under(Pairs(), lambda x, y: ([y, x],), (PLAIN, PLAIN))
      >>> under([1.0, 2.0]), under.plain
      ([[2.0, 0.0, 1.0, 0.0]], [True, True])
    """

    def __init__(self, interpreter, function, structures):
        self.interpreter, self.function, self.structures = to_keep(interpreter), function, structures
        self.structure: Any = None
        self.plain: Any = None

    def __call__(self, flat):
        inner, groups = self.run(flat)
        self.plain = [not is_tracer_of(x, inner) for x in groups[0]]
        return [self.leaves(inner, values) for values in groups]

    def run(self, flat):
        """The interpreter that ran the function, and what it returned."""
        inner = self.interpreter.fresh()
        return inner, run_traced(inner, lambda: self.function(*self.values(inner, list(flat))), [])

    def values(self, inner, flat):
        """What the function is called on."""
        return put_together(inner, self.structures, flat)

    def leaves(self, inner, values):
        """The leaves of the uniform payloads of values."""
        found = []
        for x in values:
            parts, self.structure = tree.flatten(inner.uniform(payload_of(inner, x)))
            found += parts
        return found


def through(interpreter, op, args):
    """A ``custom_call`` under an interpreter that goes through it, with the rules that survive."""
    if interpreter.carries and not interpreter.threads:
        return _uniformly(interpreter, op, args)
    return _as_it_is(interpreter, op, args)


def _surviving(op, passage):
    rules = op.params["rules"].items()
    return {name: rule.under(passage) for name, rule in rules if rule.survives(passage.interpreter)}


def _uniformly(interpreter, op, args):
    """All outputs have one static part, which rules know before they run; payloads have one leaf each."""
    leaves, structures = take_apart(interpreter, args)
    n, body = op.params["consts"], op.params["jaxpr"]
    uniform = Under(interpreter, lambda *values: (evaluate(body, values),), structures)
    closed = stage(lambda *flat: uniform(flat)[0], [typeof(x) for x in leaves], op.params["name"])
    outputs = (uniform.structure,) * len(body.outvars)
    first = len(closed.consts) + count_leaves(structures[:n])
    last = len(closed.consts) + len(leaves)
    made = consts_as_inputs(closed)
    plain = () if axes_used_in(body) else tuple(uniform.plain)
    kept = to_keep(interpreter)
    passage = Passage(kept, structures[n:], outputs, made, first, last, op.params["name"], plain)

    def finish(outs):
        values = put_together(interpreter, outputs, outs)
        return [
            interpreter.collapse(x.payload) if plain else x
            for x, plain in zip(values, uniform.plain, strict=True)
        ]

    return Carried([*closed.consts, *leaves], made, _surviving(op, passage), first, finish)


def _as_it_is(interpreter, op, args):
    """Payloads keep their static parts. A state comes in and goes out beside the values; then rules are given
    all inputs, since they have to say what becomes of it.
    """
    leaves, structures = take_apart(interpreter, entering(interpreter, args))
    n, name = op.params["consts"], op.params["name"]
    avals = [typeof(x) for x in leaves]
    body, outs, consts = interpret(interpreter, op.params["jaxpr"], structures, avals)
    first = len(consts) + count_leaves(structures[:n])
    last = len(consts) + count_leaves(structures[: len(args)])
    passage = Passage(to_keep(interpreter), structures[n:], outs, body, first, last, name)
    return Carried(
        [*consts, *leaves], body, _surviving(op, passage), 0 if interpreter.threads else first,
        lambda results: put_together(interpreter, outs, results),
    )  # fmt: skip


__all__ = ["Carried", "Passage", "Under", "through", "to_keep"]
