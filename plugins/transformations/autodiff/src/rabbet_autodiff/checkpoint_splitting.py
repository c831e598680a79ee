"""How ``checkpoint`` splits into known and linear halves: what the policy allows is kept, the rest computed
again.

The known half is split off as for any call. Then a walk back from the residuals through its equations stops
where the policy lets a value be kept; the equations that it passed come once more, before the linear half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.extend.functions import describe_function
from rabbet.extend.passes import Equation, Jaxpr, Var, effects_of
from rabbet.extend.primitive import call_op, to_memory
from rabbet.extend.primitive import jit as jit_call
from rabbet.extend.primitive import scan as scan_call
from rabbet_custom_rules import custom_call

from rabbet_autodiff.primitives.checkpoint import checkpoint, value_or_rule
from rabbet_autodiff.pruning import pruned
from rabbet_autodiff.splitting import Halves, is_needed, split, split_jit, splits

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op


@splits.primitive(checkpoint)
def split_checkpoint(op: Op, flags: tuple[bool, ...]) -> Halves:
    jaxpr = op.params["jaxpr"]
    halves = jaxpr.once(("checkpoint", flags, op.params["policy"]), lambda: _halves(op, flags))
    known_in = tuple([i for i, lin in enumerate(flags) if not lin])
    linear_in = [("operand", known_in[i]) for i in halves.passed]
    linear_in += [("residual", k) for k in range(halves.saved)]
    linear_in += [("operand", i) for i, lin in enumerate(flags) if lin]
    known_outs = halves.out_linear.count(False)
    return Halves(
        known=op.replaced(jaxpr=halves.known) if is_needed(halves.known) else None,
        known_in=known_in,
        linear=op.replaced(jaxpr=halves.linear, differentiated=True) if any(halves.out_linear) else None,
        linear_in=tuple(linear_in),
        out_linear=halves.out_linear,
        residual_types=tuple([v.aval for v in halves.known.outvars[known_outs:]]),
    )


class Half(NamedTuple):
    """A program split in two, of which the second computes again what it may not be handed: ``known`` returns
    the known outputs and what is saved; ``linear`` takes known inputs (``passed``), what is saved, and the
    linear inputs.
    """

    known: Jaxpr
    linear: Jaxpr
    passed: tuple
    saved: int
    out_linear: tuple


def _halves(op: Op, flags: tuple[bool, ...]) -> Half:
    made = split(op.params["jaxpr"], flags)
    count = made.out_linear.count(False)
    known = made.known if op.params["policy"] is None else flattened(made.known)
    wanted = known.outvars[count:]
    again = recomputation(known, wanted, op.params["policy"])
    outs = [*known.outvars[:count], *again.saved]
    forward = pruned(Jaxpr(known.invars, outs, again.forward, name=known.name))
    # The linear half reads its residuals under the names that they have where they are computed again.
    first, lead = len(made.passed), len(made.passed) + made.residuals
    rest = renamed(made.linear, dict(zip(made.linear.invars[first:lead], wanted, strict=True)), fresh=True)
    equations = [*again.equations, *rest.equations]
    read = {v for eqn in equations for v in eqn.inputs} | set(rest.outvars)
    passed = [i for i, v in enumerate(known.invars) if v in read]
    takes = [*[known.invars[i] for i in passed], *again.saved, *rest.invars[lead:]]
    linear = Jaxpr(takes, rest.outvars, equations, name=made.linear.name)
    return Half(forward, linear, tuple(passed), len(again.saved), made.out_linear)


@splits.primitive(value_or_rule)
def split_value_or_rule(op: Op, flags: Any) -> Any:
    """As a call of the rule."""
    return split_jit(call_op(op.params["jaxpr"], op.params["name"], inline=True), flags)


class Again(NamedTuple):
    """What computes some values of a program again: ``equations`` from its inputs and from what is ``saved``;
    ``forward`` are the program's own equations, made to hand over what is saved inside their bodies.
    """

    equations: list
    saved: list
    forward: list


def recomputation(jaxpr: Any, wanted: Any, policy: Any) -> Any:
    """How to compute the variables ``wanted`` of a program again, given what the policy lets be saved."""
    needed = {v for v in wanted if type(v) is Var}
    equations, saved, forward = [], [], []
    for eqn in reversed(jaxpr.equations):
        mine = [v for v in eqn.outputs if v in needed]
        first = again = eqn
        if not mine:
            again = None
        elif any(not e.observes for e in effects_of(eqn.op)):
            # It must not happen twice, so there is no choice.
            saved += mine
            again = None
        elif policy is not None and eqn.op.primitive is scan_call:
            first, again, kept = scan_again(eqn, mine, policy)
            saved += kept
        elif policy is not None and (where := may_save(policy, eqn)):
            again = None
            for v in mine:  # all this runs backwards: what is appended later comes first
                if (there := memory_to_keep_in(where, v)) is None:
                    saved.append(v)
                    continue
                kept = Var(to_memory.op(memory=there).out((v.aval,)))
                saved.append(kept)
                forward.append(moving(v, kept, eqn.where))
                equations.append(moving(kept, v, eqn.where))
        forward.append(first)
        if again is not None:
            equations.append(again)
            needed.update([v for v in again.inputs if type(v) is Var])
    return Again(equations[::-1], saved[::-1], forward[::-1])


def may_save(policy: Callable[..., Any], eqn: Equation) -> bool:
    """Whether the policy lets the results of an equation be kept; an ``Offloadable`` says where."""
    answer = policy(eqn.op.primitive, *[v.aval for v in eqn.inputs], **eqn.op.params)
    if isinstance(answer, (int, float, complex, str, bytes)) and not isinstance(answer, bool):
        raise TypeError(
            f"checkpoint: the policy {describe_function(policy)} returned {answer!r:.60} for "
            f"{eqn.op.primitive.name}\n  to fix: return True to keep the results, False to compute them "
            "again, or an Offloadable"
        )
    return answer


def memory_to_keep_in(answer: bool, v: Var) -> Any:
    """The memory in which a policy wants a value to be kept; None: where it is."""
    there = getattr(answer, "dst", None)
    return None if there in (None, "device", v.aval.memory) else there


def moving(source: Any, target: Any, where: Any) -> Any:
    """The equation that moves a value to the memory of another variable's type."""
    return Equation(to_memory.op(memory=target.aval.memory or "device"), [source], [target], where)


def scan_again(eqn: Any, wanted: Any, policy: Any) -> Any:
    """A loop that is run again: what may be kept of each step is stacked by the first run and read by the
    second, which carries only what it needs.

    Returns:
      (the loop returning what is saved besides, the second loop or None, the variables of what is saved)
    """
    params = dict(eqn.op.params)
    jaxpr, n, m = flattened(params["jaxpr"]), params["consts"], params["carry"]
    saveable = {v for e in jaxpr.equations if may_save(policy, e) for v in e.outputs}
    finals = [v for v, inner in zip(eqn.outputs[:m], jaxpr.outvars, strict=False) if inner in saveable]
    finals = [v for v in finals if v in wanted]
    places = {i for i, v in enumerate(eqn.outputs) if v in wanted and v not in finals}
    while True:
        again = recomputation(jaxpr, [jaxpr.outvars[i] for i in sorted(places)], policy)
        read = {v for e in again.equations for v in e.inputs} | {jaxpr.outvars[i] for i in places}
        carried = {i for i in range(m) if jaxpr.invars[n + i] in read}
        if carried <= places:
            break
        places |= carried
    outs = [*jaxpr.outvars, *again.saved]
    body = Jaxpr(jaxpr.invars, outs, again.forward, name=jaxpr.name)
    stacks = [Var(v.aval.update(shape=(params["length"], *v.aval.shape))) for v in again.saved]
    first = Equation(
        scan_call.op(**{**params, "jaxpr": body}), eqn.inputs, [*eqn.outputs, *stacks], eqn.where
    )
    if not places:
        return first, None, finals
    takes = [i for i in range(len(eqn.inputs)) if not n <= i < n + m or i - n in places]
    outs = sorted(places)
    params["carry"] = sum(i < m for i in outs)
    params["jaxpr"] = Jaxpr(
        [*[jaxpr.invars[i] for i in takes], *again.saved], [jaxpr.outvars[i] for i in outs],
        again.equations, name=jaxpr.name,
    )  # fmt: skip
    second = Equation(
        scan_call.op(**params), [*[eqn.inputs[i] for i in takes], *stacks], [eqn.outputs[i] for i in outs],
        eqn.where,
    )  # fmt: skip
    return first, second, [*stacks, *finals]


# -------------------------------------------------------------------------------- programs, rewritten
CALLS = jit_call, custom_call


def flattened(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with calls written out, so that a policy sees the operations in them."""
    return jaxpr.once("flattened", lambda: _flattened(jaxpr))


def _flattened(jaxpr: Jaxpr) -> Jaxpr:
    if not any(eqn.op.primitive in CALLS for eqn in jaxpr.equations):
        return jaxpr
    names = {}
    equations = []
    for eqn in jaxpr.equations:
        inputs = [names.get(v, v) if type(v) is Var else v for v in eqn.inputs]
        if eqn.op.primitive not in CALLS:
            equations.append(Equation(eqn.op, inputs, eqn.outputs, eqn.where))
            continue
        body = flattened(eqn.op.params["jaxpr"])
        inner = renamed(body, dict(zip(body.invars, inputs, strict=True)), fresh=True)
        equations += inner.equations
        names.update(zip(eqn.outputs, inner.outvars, strict=True))
    outvars = [names.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return Jaxpr(jaxpr.invars, outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def renamed(jaxpr: Jaxpr, names: dict[Any, Any], fresh: bool = False) -> Jaxpr:
    """The program with other variables (or literals) in the places of some; ``fresh``: and new ones for all
    that it defines.
    """
    names = dict(names)
    equations = []
    for eqn in jaxpr.equations:
        inputs = [names.get(v, v) if type(v) is Var else v for v in eqn.inputs]
        if fresh:
            names.update((v, Var(v.aval)) for v in eqn.outputs)
        outputs = [names.get(v, v) for v in eqn.outputs]
        equations.append(Equation(eqn.op, inputs, outputs, eqn.where))
    outvars = [names.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    invars = [names.get(v, v) for v in jaxpr.invars]
    return Jaxpr(invars, outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)
