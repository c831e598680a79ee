"""Reaching into the programs that equations carry, and writing equations in the place of one."""

from rabbet.extend.passes import Equation, Jaxpr, Var

# Calls and loops, whose bodies mean the same wherever they stand. What other primitives carry (the
# combination of a reduction, rules that a user wrote) is left as it is.
CALLS = frozenset(["jit", "scan", "while", "cond", "checkpoint"])


def word(primitive):
    """The name of a primitive of core; of any other nothing, since it may mean something else by it."""
    return primitive.name if primitive.__module__.startswith("rabbet.primitives.") else ""


def rewriting_bodies(equations, name, rewrite):
    """``equations`` with the bodies of calls and loops rewritten; the same list if nothing changed.

    Args:
      name: under which a body remembers what it became.
      rewrite: ``rewrite(jaxpr) -> jaxpr``, which returns its argument where there is nothing to do.
    """
    if not any(eqn.op.primitive.special for eqn in equations):
        return equations
    known = {}
    result, changed = [], False
    for eqn in equations:
        op = eqn.op
        if op.primitive.special and op.primitive.name in CALLS:
            if op not in known:
                known[op] = _with_new_bodies(op, name, rewrite)
            if known[op] is not op:
                eqn, changed = Equation(known[op], eqn.inputs, eqn.outputs, eqn.where), True
        result.append(eqn)
    return result if changed else equations


def _with_new_bodies(op, name, rewrite):
    def new(body):
        return body.once(("pass", name), lambda: rewrite(body))

    params = {}
    for key, value in op.params.items():
        if type(value) is Jaxpr:
            value = new(value)
        elif type(value) is tuple and any(type(v) is Jaxpr for v in value):
            value = tuple([new(v) if type(v) is Jaxpr else v for v in value])
        params[key] = value
    same = all(a is b or a == b for a, b in zip(params.values(), op.params.values(), strict=True))
    return op if same else op.primitive.op(**params)


def replaced(jaxpr, equations, outvars=None):
    """``jaxpr`` with other equations and, perhaps, other outputs."""
    return Jaxpr(
        jaxpr.invars, jaxpr.outvars if outvars is None else outvars, equations,
        jaxpr.constvars, jaxpr.effects, jaxpr.name,
    )  # fmt: skip


def inlined(body, eqn):
    """The equations of ``body`` in the place of ``eqn``, with variables of their own, each output of ``eqn``
    being one of theirs.
    """
    env = dict(zip(body.invars, eqn.inputs, strict=True))
    env.update(zip(body.outvars, eqn.outputs, strict=True))
    result = []
    for one in body.equations:
        outputs = [env[v] if v in env else env.setdefault(v, Var(v.aval)) for v in one.outputs]
        result.append(
            Equation(one.op, [env[v] if type(v) is Var else v for v in one.inputs], outputs, eqn.where)
        )
    return result
