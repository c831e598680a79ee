"""Walking linear equations backwards: the second half of reverse mode, and the transposition of any linear
program.

An equation here may hold values in the places of its known operands (as a recorder leaves them), or be part
of a ``Jaxpr``. Each is given to its primitive's ``transpose`` rule; cotangents of a value used several
times are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import MissingRule
from rabbet.primitives import barrier, elementwise, slice_cotangents, zeros
from rabbet.primitives.standard import transpose
from rabbet.program.context import context
from rabbet.program.jaxpr import Var, consts_as_inputs
from rabbet.rules.failures import attribute, blamed, named, reached
from rabbet.rules.payloads import Linear, Zero
from rabbet.rules.tables import Decomposed
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.program.jaxpr import ClosedJaxpr, Jaxpr
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def backward(equations: Any, cotangents: Any) -> None:
    """Pull cotangents back through linear equations.

    Args:
      equations: objects with ``op, inputs, outputs, where``; inputs are ``Var`` where linear, else values.
      cotangents: dict from ``Var`` to its cotangent; it is used up, and holds the cotangents of the inputs
        in the end.

    Example:
      >>> from rabbet.extend.bodies import backward
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [3.0 * x], [rb.typeof(np.float32(1))]).jaxpr
      >>> (eqn,) = program.equations
      >>> eqn = type(eqn)(eqn.op, [getattr(v, "value", v) for v in eqn.inputs], eqn.outputs, eqn.where)
      >>> cotangents = {program.outvars[0]: np.float32(2)}
      >>> backward([eqn], cotangents)
      >>> float(cotangents[program.invars[0]])
      6.0
    """
    ctx = context
    outer = ctx.where
    lookup = transpose.lookup
    summed = set()
    waiting: dict = {}  # cotangents of slices, until what was cut up is reached
    slicing = slice_cotangents.rule_of_slices(lookup)
    try:
        for eqn in reversed(equations):
            outs = eqn.outputs
            if waiting:
                put_together(waiting, outs, cotangents, summed)
            if len(outs) == 1:
                ct = cotangents.pop(outs[0], None)
                if ct is None:
                    continue
                if outs[0] in summed:
                    ct = kept_apart(ct)
                if eqn.op.primitive.multiple_results:
                    ct = (ct,)
            else:
                ct = tuple([cotangents.pop(v, None) for v in outs])
                if all(c is None for c in ct):
                    continue
                pairs = zip(ct, outs, strict=True)
                ct = tuple([Zero(v.aval.cotangent) if c is None else c for c, v in pairs])
            ctx.where = eqn.where or outer
            operands = [Linear(v.aval) if type(v) is Var else zeros.hidden(v) for v in eqn.inputs]
            pairs = zip(eqn.inputs, operands, strict=True)
            hid = [v for v, x in pairs if type(x) is not Linear and x is not v]
            if not eqn.op.primitive.special:
                ct = tuple(map(of_anybody, ct)) if type(ct) is tuple else zeros.hidden(ct)
            try:
                rule = lookup(eqn.op.primitive)
                if type(rule) is Decomposed:
                    results = transposed_parts(rule.parts, eqn.op, ct, operands)
                elif rule is slicing and slice_cotangents.can_wait(eqn.op, ct, operands[0]):
                    piece = slice_cotangents.Piece(eqn.op, ct, ctx.where)
                    waiting.setdefault(eqn.inputs[0], []).append(piece)
                    continue
                else:
                    results = rule(eqn.op, ct, *operands)
            except MissingRule as error:
                reached(error, transpose, eqn.op.primitive, ctx.where)
                raise
            except Exception as error:
                attribute(error, *named(transpose, eqn.op, lookup(eqn.op.primitive)), ctx.where)
                raise
            try:
                for v, contribution in zip(eqn.inputs, results, strict=True):
                    if type(v) is Var and contribution is not None and type(contribution) is not Zero:
                        if v in cotangents:
                            summed.add(v)
                        if hid:
                            contribution = hid[0].aval.spread.revealed(contribution, v.aval)
                        add_to(cotangents, v, contribution)
            except Exception as error:
                found = blamed(error, transpose, eqn.op, rule, (ct, *operands), results)
                if found is error:
                    raise
                raise found from error
        put_together(waiting, list(waiting), cotangents, summed)
    finally:
        ctx.where = outer


def put_together(waiting: Any, variables: Any, cotangents: Any, summed: Any) -> None:
    """Add the cotangents by slices of some variables, those of all slices of one at once where they are side
    by side.
    """
    for v in variables:
        parts = waiting.pop(v, None)
        if parts is None:
            continue
        context.where = parts[-1].where
        if len(parts) > 1 or v in cotangents:
            summed.add(v)
        whole = slice_cotangents.joined(parts, v.aval)
        for contribution in [part.contribution(v.aval) for part in parts] if whole is None else [whole]:
            add_to(cotangents, v, contribution)


def of_anybody(ct: Zero | Value) -> Zero | Value:
    """A cotangent, or a symbolic zero, whose type says nothing of how it lies."""
    return ct if type(ct) is Zero else zeros.hidden(ct)


def transposed_parts(parts: Any, op: Op, ct: Any, operands: Any) -> Any:
    """Transpose an operation by transposing what its decomposition is made of."""
    linear = tuple([type(x) is Linear for x in operands])
    several = op.primitive.multiple_results
    avals = [x.aval if lin else typeof(x) for x, lin in zip(operands, linear, strict=True)]
    closed = stage(lambda *xs: parts(op, *xs) if several else [parts(op, *xs)], avals, op.primitive.name)
    cts = ct if several else (ct,)
    nonzero = tuple([type(c) is not Zero for c in cts])
    known = [*closed.consts, *[x for x in operands if type(x) is not Linear]]
    flags = (False,) * len(closed.consts) + linear
    given = [c for c in cts if type(c) is not Zero]
    results = iter(transpose_program(consts_as_inputs(closed), flags, known, nonzero, given))
    return tuple([next(results) if lin else None for lin in linear])


def kept_apart(ct: Value) -> Any:
    """A cotangent that was added up, behind a barrier where it becomes part of a program and is worth it."""
    if type(ct) is Tracer and (ct.aval.is_symbolic or ct.aval.size >= barrier.WORTH_KEEPING):
        return barrier.keep_apart(ct)
    return ct


def add_to(cotangents: dict[Any, Any], v: Var, contribution: Value) -> None:
    """Add one more cotangent of ``v``.

    Example:
      >>> from rabbet.extend.bodies import add_to
      >>> from rabbet.extend.passes import Var
      >>> x, cotangents = Var(rb.typeof(1.0)), {}
      >>> add_to(cotangents, x, 2.0)
      >>> add_to(cotangents, x, 3.0)
      >>> float(cotangents[x])
      5.0
    """
    contribution = zeros.fitted(contribution, v.aval.cotangent)
    known = cotangents.get(v)
    cotangents[v] = contribution if known is None else elementwise.add(known, contribution)


def transposed_program(jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]) -> Any:
    """The program that transposes ``jaxpr`` in some of its inputs; made once.

    Args:
      jaxpr: linear in the inputs that are marked.
      linear: a bool per input.
      nonzero: a bool per output, whether its cotangent is given.

    Returns:
      (program, produced, captured): the program takes the arrays that derivative rules close over, those in
      ``captured``, then the inputs that are not linear, then the nonzero cotangents, and returns the
      cotangents of the linear inputs whose entry in ``produced`` is true.

    Example:
      >>> from rabbet.extend.bodies import transposed_program
      >>> from rabbet.extend.passes import evaluate, stage
      >>> program = stage(lambda x, y: [x * y], [rb.typeof(np.float32(1))] * 2).jaxpr
      >>> backwards, produced, captured = transposed_program(program, (False, True), (True,))
      >>> evaluate(backwards, [np.float32(3), np.float32(2)]), produced
      ([Array(6., dtype=float32)], (True,))
    """
    key = "transposed", linear, nonzero
    return lasting(jaxpr, key, jaxpr.once(key, lambda: _transpose(jaxpr, linear, nonzero)), 2)


def lasting(
    jaxpr: Jaxpr, key: tuple[tuple[bool, ...] | str, ...], made: Any, at: Any = None
) -> tuple[Any, ...] | ClosedJaxpr:
    """What was made once for ``jaxpr``; it is forgotten where it captured what does not last, a tracer."""
    captured = made.consts if at is None else made[at]
    if any(type(c) is Tracer for c in captured):
        jaxpr.memo.pop(key, None)
    return made


def _transpose(jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]) -> tuple[Any, ...]:
    known_avals = [v.aval for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin]
    ct_avals = [v.aval.cotangent for v, nz in zip(jaxpr.outvars, nonzero, strict=True) if nz]
    produced = None

    def flat(*args: Value) -> list[Value]:
        nonlocal produced
        known, given = args[: len(known_avals)], args[len(known_avals) :]
        results = transpose_program(jaxpr, linear, known, nonzero, given)
        produced = tuple([r is not None for r in results])
        return [r for r in results if r is not None]

    closed = stage(flat, known_avals + ct_avals, f"transpose_{jaxpr.name}")
    return consts_as_inputs(closed), produced, closed.consts


def transpose_program(
    jaxpr: Jaxpr,
    linear: tuple[bool, ...],
    known: list[Value] | tuple[Value, ...],
    nonzero: tuple[bool, ...],
    given: list[Value] | tuple[Value, ...],
) -> list[Value | None]:
    """Transpose ``jaxpr`` under the current interpreter; a cotangent or None per linear input.

    Example:
      >>> from rabbet.extend.bodies import transpose_program
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x, y: [x * y], [rb.typeof(np.float32(1))] * 2).jaxpr
      >>> (ct,) = transpose_program(program, (False, True), [np.float32(3)], (True,), [np.float32(2)])
      >>> float(ct)
      6.0
    """
    values = dict(
        zip([v for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin], known, strict=True)
    )
    linear_vars = [v for v, lin in zip(jaxpr.invars, linear, strict=True) if lin]
    reached = set(linear_vars)
    equations = []
    ctx = context
    outer = ctx.where
    for eqn in jaxpr.equations:
        if any(v in reached for v in eqn.inputs if type(v) is Var):
            reached.update(eqn.outputs)
            inputs = [v if v in reached else values[v] if type(v) is Var else v.value for v in eqn.inputs]
            equations.append(type(eqn)(eqn.op, inputs, eqn.outputs, eqn.where))
        else:
            ctx.where = eqn.where or outer
            out = eqn.op(*[values[v] if type(v) is Var else v.value for v in eqn.inputs])
            values.update(zip(eqn.outputs, out if eqn.op.primitive.multiple_results else [out], strict=True))
    ctx.where = outer
    cotangents = {}
    for v, ct in zip([v for v, nz in zip(jaxpr.outvars, nonzero, strict=True) if nz], given, strict=True):
        if v in reached:
            add_to(cotangents, v, ct)
    backward(equations, cotangents)
    return [cotangents.get(v) for v in linear_vars]


__all__ = ["add_to", "backward", "transpose_program", "transposed_program"]
