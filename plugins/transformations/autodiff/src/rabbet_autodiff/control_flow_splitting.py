"""How branches and loops split into known and linear halves (see ``splitting``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.functions import with_weak_type
from rabbet.extend.passes import Equation, Jaxpr, Var, effects_of, evaluate, stage
from rabbet.extend.primitive import call_op, full_of_type
from rabbet.extend.primitive import cond as cond_call
from rabbet.extend.primitive import scan as scan_call
from rabbet.extend.primitive import while_ as while_call
from rabbet.extend.transform import context, transpose

from rabbet_autodiff.primitives.linear_solve import linear_solve
from rabbet_autodiff.pruning import pruned
from rabbet_autodiff.splitting import Halves, is_needed, split, splits

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.typing import Value

    from rabbet_autodiff.splitting import Split


@splits.primitive(cond_call)
def split_cond(op: Op, flags: tuple[bool, ...]) -> Halves:
    """Both halves are a ``cond``. Each branch leaves its own residuals; where another branch ran, they are
    zeros.
    """
    if flags[0]:
        raise TypeError("the index of cond depends linearly on a tangent; decide by values")
    branches, flags = op.params["branches"], flags[1:]
    out_linear = [False] * len(branches[0].outvars)
    for branch in branches:
        out_linear = [a or b for a, b in zip(out_linear, split(branch, flags).out_linear, strict=True)]
    forced = tuple([i for i, lin in enumerate(out_linear) if lin])
    made = [split(branch, flags, forced) for branch in branches]
    count = out_linear.count(False)
    types = [[v.aval for v in m.known.outvars[count:]] for m in made]
    known_branches = tuple([_with_zeros(m.known, count, types, b) for b, m in enumerate(made)])
    known_in = [i for i, lin in enumerate(flags) if not lin]
    linear_branches = tuple([_of_all_residuals(m, known_in, types, b, flags) for b, m in enumerate(made)])
    every = [a for group in types for a in group]
    linear_in = [("operand", 0), *[("operand", i + 1) for i in known_in]]
    linear_in += [("residual", k) for k in range(len(every))]
    linear_in += [("operand", i + 1) for i, lin in enumerate(flags) if lin]
    return Halves(
        known=cond_call.op(branches=known_branches) if any(map(is_needed, known_branches)) else None,
        known_in=(0, *[i + 1 for i in known_in]),
        linear=cond_call.op(branches=linear_branches) if forced else None,
        linear_in=tuple(linear_in),
        out_linear=tuple(out_linear),
        residual_types=tuple(every),
    )


def _with_zeros(known: Jaxpr, count: int, types: list[list[Any]], mine: int) -> Jaxpr:
    """A branch's known half returning residuals for all branches, zeros for the others'."""

    def wide(*args: Value) -> Any:
        outs = evaluate(known, args)
        residuals = []
        for b, group in enumerate(types):
            residuals += (
                outs[count:]
                if b == mine
                else [with_weak_type(full_of_type(a, 0), a.weak_type) for a in group]
            )
        return outs[:count] + residuals

    return stage(wide, known.in_avals, known.name).jaxpr


def _of_all_residuals(
    made: Split, known_in: list[int], types: list[list[Any]], mine: int, flags: tuple[bool, ...]
) -> Jaxpr:
    """A branch's linear half taking all known operands, the residuals of all branches, and the linear
    operands.
    """
    linear = made.linear
    start = sum(len(group) for group in types[:mine])
    count = len(types[mine])
    total = sum(len(group) for group in types)
    passed = [known_in.index(i) for i in made.passed]
    n = len(known_in)

    def narrow(*args: Value) -> list[Value]:
        known, residuals, moving = args[:n], args[n : n + total], args[n + total :]
        return evaluate(linear, [*[known[i] for i in passed], *residuals[start : start + count], *moving])

    lead = len(made.passed) + count
    known_avals = [v.aval for v, lin in zip(_inputs_of(made, flags), flags, strict=True) if not lin]
    avals = [*known_avals, *[a for group in types for a in group], *linear.in_avals[lead:]]
    return stage(narrow, avals, linear.name).jaxpr


def _inputs_of(made: Split, flags: tuple[bool, ...]) -> list[Var]:
    """The program's inputs in their order, from its two halves."""
    known, linear = iter(made.known.invars), iter(made.linear.invars[len(made.passed) + made.residuals :])
    return [next(linear) if lin else next(known) for lin in flags]


@splits.primitive(scan_call)
def split_scan(op: Op, flags: Any) -> Any:
    """Both halves are a ``scan``: the known one stacks the residuals, the linear one runs over them."""
    n, m = op.params["consts"], op.params["carry"]
    jaxpr = op.params["jaxpr"]
    carry = list(flags[n : n + m])
    while True:
        halves = split(jaxpr, (*flags[:n], *carry, *flags[n + m :]))
        after = [a or b for a, b in zip(carry, halves.out_linear[:m], strict=True)]
        if after == carry:
            break
        carry = after
    inner = (*flags[:n], *carry, *flags[n + m :])
    forced = tuple([i for i, lin in enumerate(carry) if lin])
    halves = split(jaxpr, inner, forced, same=n)
    # A known carry changes from step to step: the linear half needs it stacked, as one more output of the
    # known half.
    carried = [i for i in halves.passed if n <= i < n + m]
    known = _returning_inputs(halves, jaxpr, inner, carried)
    known_carry = [i for i in range(n, n + m) if not inner[i]]
    keep = {k: op.params[k] for k in ("length", "reverse", "unroll") if k in op.params}
    known_in = [i for i, lin in enumerate(inner) if not lin]
    known_op = scan_call.op(
        jaxpr=known, consts=sum(i < n for i in known_in), carry=len(known_carry), **keep
    )  # fmt: skip
    count = halves.out_linear.count(False)
    stacked = [v.aval for v in known.outvars[count:]]
    residual_types = tuple([a.update(shape=(op.params["length"], *a.shape)) for a in stacked])
    linear_op, linear_in = _linear_scan(halves, inner, n, m, carried, keep)
    return Halves(
        known=known_op if is_needed(known) else None,
        known_in=tuple(known_in),
        linear=linear_op if any(halves.out_linear) else None,
        linear_in=linear_in,
        out_linear=halves.out_linear,
        residual_types=residual_types,
    )


def _returning_inputs(halves: Split, jaxpr: Jaxpr, inner: tuple[bool, ...], carried: list[int]) -> Any:
    """The known half of a loop's body, returning some of its inputs besides."""
    if not carried:
        return halves.known
    known = halves.known
    extra = [jaxpr.invars[i] for i in carried]
    return type(known)(known.invars, known.outvars + extra, known.equations, name=known.name)


def _linear_scan(
    halves: Split, inner: tuple[bool, ...], n: int, m: int, carried: list[int], keep: dict[Any, Any]
) -> Any:
    """The linear half as an operator with its operands: constants, carries, then residuals and scanned
    inputs.
    """
    body = halves.linear
    places = [("passed", i) for i in halves.passed]
    places += [("residual", k) for k in range(halves.residuals)]
    places += [("linear", i) for i, lin in enumerate(inner) if lin]

    def group(place: Any) -> Any:
        kind, i = place
        if kind == "residual" or (kind == "passed" and i in carried):
            return 2
        return 0 if i < n else 1 if i < n + m else 2

    order = sorted(range(len(places)), key=lambda k: group(places[k]))
    arranged = type(body)([body.invars[k] for k in order], body.outvars, body.equations, name=body.name)
    groups = [group(places[k]) for k in order]
    operands = []
    for k in order:
        kind, i = places[k]
        if kind == "residual":
            operands.append(("residual", i))
        elif kind == "passed" and i in carried:
            operands.append(("residual", halves.residuals + carried.index(i)))
        else:
            operands.append(("operand", i))
    op = scan_call.op(jaxpr=arranged, consts=groups.count(0), carry=groups.count(1), **keep)
    return op, tuple(operands)


@splits.primitive(while_call)
def split_while(op: Op, flags: tuple[bool, ...]) -> Halves:
    """The known half is the loop over what no tangent reaches. The linear half is the whole loop again: it
    can run forward, and its transposition is refused. So a loop is no obstacle if no cotangent reaches it.
    """
    if effects_of(op):  # the linear half would have them a second time
        transpose.lookup(while_call)(op, ())
    m, n = op.params["cond_consts"], op.params["body_consts"]
    test, body = op.params["cond_jaxpr"], op.params["body_jaxpr"]
    carry = list(flags[m + n :])
    while True:
        halves = split(body, (*flags[m : m + n], *carry))
        after = [a or b for a, b in zip(carry, halves.out_linear, strict=True)]
        if after == carry:
            break
        carry = after
    halves = split(body, (*flags[m : m + n], *carry), tuple([i for i, lin in enumerate(carry) if lin]))
    tested = split(test, (*flags[:m], *carry))
    if tested.out_linear[0]:
        raise TypeError("the condition of a while_loop depends linearly on a tangent; decide by values")
    known_in = [i for i, lin in enumerate((*flags[: m + n], *carry)) if not lin]
    known_body = pruned(halves.known, range(carry.count(False)))
    known = while_call.op(
        cond_jaxpr=pruned(tested.known, [0]),
        body_jaxpr=known_body,
        cond_consts=sum(i < m for i in known_in),
        body_consts=sum(m <= i < m + n for i in known_in),
    )
    return Halves(
        known=known if is_needed(known_body) else None,
        known_in=tuple(known_in),
        linear=call_op(_whole_loop(op, carry), "while", inline=True) if any(carry) else None,
        linear_in=tuple([("operand", i) for i in range(len(flags))]),
        out_linear=tuple(carry),
        residual_types=(),
    )


def _whole_loop(op: Op, wanted: list[bool]) -> Jaxpr:
    """A program that runs a ``while`` and returns what it carries at the places that are wanted."""
    test, body = op.params["cond_jaxpr"], op.params["body_jaxpr"]
    operands = [Var(a) for a in (*test.in_avals[: op.params["cond_consts"]], *body.in_avals)]
    outs = [Var(a) for a in body.out_avals]
    return Jaxpr(
        operands,
        [v for v, here in zip(outs, wanted, strict=True) if here],
        [Equation(op, operands, outs, context.where)],
        name="while",
    )


@splits.primitive(linear_solve)
def split_linear_solve(op: Op, flags: tuple[bool, ...]) -> Halves:
    """Forward mode has made it linear in the right-hand side: nothing of it is known before."""
    if any(flags[: op.params["consts"]]):
        raise TypeError("the solution of a linear equation is not linear in its matrix")
    outs = len(op.params["solve"].outvars)
    return Halves(
        known=None,
        known_in=(),
        linear=op,
        linear_in=tuple([("operand", i) for i in range(len(flags))]),
        out_linear=(True,) * outs,
        residual_types=(),
    )
