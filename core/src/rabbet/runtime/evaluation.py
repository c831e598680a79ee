"""The bottom interpreter: operations on arrays, executed at once.

Each operator keeps the programs compiled for it by the placements of its arguments, so that the second ``x
+ y`` of a kind is: one dict lookup, one PJRT execute, one wrap. The placement of a single argument is the key
itself, those of several are a tuple.
"""

from math import copysign
from typing import Any

from rabbet.messages import source_positions
from rabbet.messages.tracebacks import fold_traceback, folds_itself
from rabbet.program.context import context
from rabbet.program.effects import ordered
from rabbet.program.jaxpr import Equation, Jaxpr, Var
from rabbet.runtime import callbacks, effects, program, values
from rabbet.runtime.array import Array

# Per placement; a loop over x + i would otherwise keep them all.
MOST_NUMBERS = 256
new = object.__new__


class Evaluation:
    """Executes operations. There is one, and every thread starts with it as the current interpreter."""

    __slots__ = ()
    parent = None
    alive = True
    table = None

    def process(self, op, args):
        """Run one operation on arrays; a list with multiple results."""
        try:
            # Most have one operand or two, for which a comprehension is a tenth of all that this costs.
            if len(args) == 1:
                (x,) = args
                known = op.programs.get(x.spec)
                raws = [x.raw]
            elif len(args) == 2:
                x, y = args
                known = op.programs.get((x.spec, y.spec))
                raws = [x.raw, y.raw]
            else:
                known = op.programs.get(tuple([a.spec for a in args]))
                raws = [a.raw for a in args]
        except AttributeError:
            return self.with_number(op, args)
        if known is None:
            return self.first(op, args)
        execute, handlers, spec, runner = known
        if execute is None:
            return runner(args)
        # What the runner would do, without the call; and Array(raw, spec), without that of __init__.
        try:
            raw = execute(raws).consume_with_handlers(handlers)[0]
        except Exception:  # again through the runner, which knows how to say what is wrong with the arguments
            return runner(args)
        out = new(Array)
        out.raw, out.spec, out.aval = raw, spec, spec.aval
        return out

    def with_number(self, op, args):
        """The fast path for ``x + 1.0``: the number's array is kept with the placement of ``x``."""
        if len(args) == 2 and op.primitive.adopt == 0:
            x, y = args
            if type(x) is Array:
                spec, number = x.spec, y
            elif type(y) is Array:
                spec, number = y.spec, x
            else:
                return self.first(op, args)
            if type(number) in spec.aval.adopting:
                key = (number, copysign(1.0, number)) if number == 0 and type(number) is float else number
                known = spec.numbers.get((type(number), key))
                if known is None:
                    known = values.scalar_array(number, spec.aval.scalar, spec.device)
                    if len(spec.numbers) >= MOST_NUMBERS:
                        spec.numbers.clear()
                    spec.numbers[type(number), key] = known
                args = (x, known) if number is y else (known, y)
                runner = op.programs.get((args[0].spec, args[1].spec))
                if runner is not None:
                    return runner[-1](args)
        return self.first(op, args)

    def first(self, op, args):
        """The slow path: make arrays of the arguments, compile if need be."""
        arrays, device, committed = values.operands(op, args)
        key = arrays[0].spec if len(arrays) == 1 else tuple([a.spec for a in arrays])
        if not arrays:
            key = (device,)
        known = op.programs.get(key)
        if known is None:
            own = op.primitive.rules.get("evaluate")
            if own is not None:
                return on_host(op, own, arrays, device, committed)
            avals = tuple([a.aval for a in arrays])
            runner = executable(op, avals, device).runner(committed, single=not op.primitive.multiple_results)
            known = op.programs[key] = (*getattr(runner, "direct", (None, None, None)), runner)
        return known[-1](arrays)

    def __reduce__(self):
        return "EVALUATION"

    def describe(self):
        return "evaluation"


def at_once(op, kinds, otherwise):
    """A function of one array that executes ``op`` in its own frame, which is all that an eager call costs.

    Args:
      op: an operator of one operand.
      kinds: dtype kinds (``ShapedArray.kind``) of the arrays on which to do so.
      otherwise: a function, called on everything else: other dtypes, what is no array, an operation not seen
        before, and under transformations.
    """
    programs, current = op.programs, context

    def call(x, /):
        try:
            if type(x) is not Array or x.aval.kind not in kinds or current.interpreter is not EVALUATION:
                return otherwise(x)
            execute, handlers, spec, _ = programs.get(x.spec) or NOT_SEEN
            if execute is None:
                return otherwise(x)
            try:
                raw = execute((x.raw,)).consume_with_handlers(handlers)[0]
            except Exception:  # again by the long way, which knows how to say what is wrong with the argument
                return otherwise(x)
            out = new(Array)
            out.raw, out.spec, out.aval = raw, spec, spec.aval
            return out
        except Exception as error:
            fold_traceback(error)
            raise

    return folds_itself(call)


NOT_SEEN: Any = (None, None, None, None)


def on_host(op, rule, arrays, device, committed):
    """Run an operation by its ``evaluate`` rule: ``(op, *arrays) -> NumPy arrays`` of its types."""
    avals = op.outs(tuple([a.aval for a in arrays]))
    effects.wait_for(ordered(op.primitive.effects_of(op.params)))
    with callbacks.on_host():
        outs = rule(op, *arrays)
    outs = [values.host_array(x, aval, device, committed) for x, aval in zip(outs, avals, strict=True)]
    return outs if op.primitive.multiple_results else outs[0]


def executable(op, avals, device):
    """The compiled program of one operator for argument types; made once per device."""
    key = (avals, device)
    made = op.programs.get(key)
    if made is None:
        lowering = program.lower(
            as_program(op, avals), device.platform, op.params.get("name", op.primitive.name)
        )
        made = op.programs[key] = program.compile(lowering, device)
    return made


def as_program(op, avals):
    """The program of one operator: one equation; a call's own body."""
    if op.primitive.name == "jit":
        op.outs(avals)  # checks the types against those it was traced for
        return op.params["jaxpr"]
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in op.outs(avals)]
    where = context.where or source_positions.caller()
    return Jaxpr(invars, outvars, [Equation(op, invars, outvars, where)], name=op.primitive.name)


EVALUATION = Evaluation()

__all__ = ["EVALUATION", "Evaluation", "as_program", "at_once", "executable"]
