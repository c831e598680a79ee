"""The primitive ``custom_call``: a function whose author says how some transformations treat it.

Its parameters are the function's program and its rules by table name. An interpreter whose table has a rule there uses it; any other goes
through the program. ``custom_jvp`` and ``custom_vjp`` are both this primitive, with the rule ``"jvp"`` or ``"vjp"``.
"""

from rabbet import bodies, tree
from rabbet.errors import MissingRule
from rabbet.interpreter import Tracer, run_traced, typeof
from rabbet.jaxpr import evaluate, open_consts
from rabbet.payloads import Dual, Linear, Zero, tangent_aval, zero_for
from rabbet.primitive import Primitive
from rabbet.primitives import zeros
from rabbet.staging import stage


def custom_call_aval(*avals, jaxpr, rules, consts, name):
    return jaxpr.out_avals


custom_call = Primitive(
    "custom_call", custom_call_aval, kinds=("body",), multiple_results=True,
    doc="a function with rules of its own for some transformations",
)  # fmt: skip


def call(function, rules, args, name):
    """Call a flat function that has rules of its own.

    Args:
      function: takes arrays, returns a list of arrays.
      rules: ``"jvp"``: ``(*primals, *tangents) -> [*outs, *tangents]``; ``"vjp"``: a pair ``forward(*primals) -> (outs, residuals)`` and
        ``backward(residuals, cotangents) -> cotangents``; any other table: ``(interpreter, payloads) -> payloads``.
      args: arrays.
      name: for messages and programs.
    """
    closed = stage(function, [typeof(a) for a in args], name)
    return custom_call(*closed.consts, *args, jaxpr=open_consts(closed), rules=rules, consts=len(closed.consts), name=name)


@custom_call.rule("lower")
def lower_custom_call(op, *names):
    return op.inline(op["jaxpr"], names)


@custom_call.rule("body")
def body_custom_call(op, interpreter, args):
    rules, table = op.params["rules"], interpreter.table.name
    if table == "jvp" and ("jvp" in rules or "vjp" in rules):
        return differentiate(op, interpreter, args)
    if table in rules:
        payloads = [a.payload if _mine(a, interpreter) else interpreter.lift(a) for a in args]
        return [interpreter.wrap(p) for p in rules[table](interpreter, payloads)]
    if interpreter.carries and rules:
        return carried_call(op, interpreter, args)
    leaves, structures = bodies.take_apart(interpreter, args)
    avals = [typeof(x) for x in leaves]
    body, out_structures, consts = bodies.interpret(interpreter, op.params["jaxpr"], structures, avals)
    outs = custom_call(*consts, *leaves, jaxpr=body, rules={}, consts=0, name=op.params["name"])
    return bodies.put_together(interpreter, out_structures, outs)


def carried_call(op, interpreter, args):
    """Go through the body and take the rules along, interpreted the same way (vmap of a custom_jvp function keeps its derivative)."""
    leaves, structures = bodies.take_apart(interpreter, args)
    n, rules = op.params["consts"], op.params["rules"]
    constant, moving = structures[:n], structures[n:]
    avals = [typeof(x) for x in leaves]
    uniform = under(interpreter, lambda *values: evaluate(op.params["jaxpr"], values), (*constant, *moving))
    closed = stage(lambda *flat: uniform(flat)[0], avals, op.params["name"])
    structure = uniform.structure
    carried = {}
    if "jvp" in rules:
        both = under(interpreter, rules["jvp"], (*moving, *moving))
        carried["jvp"] = lambda *flat: both(flat)[0]
    if "vjp" in rules:
        carried["vjp"] = carried_vjp(interpreter, rules["vjp"], moving, structure)
    first = len(closed.consts) + sum(1 if s is bodies.PLAIN else s.num_leaves for s in constant)
    outs = custom_call(*closed.consts, *leaves, jaxpr=open_consts(closed), rules=carried, consts=first, name=op.params["name"])
    return bodies.put_together(interpreter, (structure,) * len(outs), outs)


class under:  # noqa: N801 - used like a function
    """A flat function run under a fresh copy of an interpreter: leaves in, leaves of uniform payloads out.

    ``structure`` is the static part that every output has; it is known after the first call.
    """

    def __init__(self, interpreter, function, structures):
        self.interpreter, self.function, self.structures = interpreter, function, structures
        self.structure = None

    def __call__(self, flat, give_back=None):
        inner = self.interpreter.fresh()
        outs = run_traced(inner, lambda: self.function(*bodies.put_together(inner, self.structures, flat)), [])
        extra = None
        if isinstance(outs, tuple):
            outs, extra = outs[0], outs[1]
        if give_back is not None:
            return [inner.give_back(payload_or_plain(inner, x), s) for x, s in zip(outs, give_back, strict=True)], None
        return self._leaves(inner, outs), None if extra is None else self._leaves(inner, extra)

    def _leaves(self, inner, values):
        leaves = []
        for x in values:
            parts, self.structure = tree.flatten(inner.uniform(payload_or_plain(inner, x)))
            leaves += parts
        return leaves


def payload_or_plain(interpreter, x):
    """The payload of a tracer of ``interpreter``; any other value as a lifted payload."""
    return x.payload if _mine(x, interpreter) else interpreter.lift(x)


def carried_vjp(interpreter, rule, structures, structure):
    """The reverse rule under an interpreter: residuals and cotangents are uniform, results fit the inputs."""
    forward, back = rule
    run_forward = under(interpreter, lambda *values: _as_pair(forward(*values)), structures)

    def carried_forward(*flat):
        return run_forward(flat)

    def carried_backward(residuals, cotangents):
        n = len(residuals)
        pull = under(
            interpreter, lambda *values: list(back(values[:n], values[n:])), (structure,) * (n + len(cotangents))
        )
        return pull([*residuals, *cotangents], give_back=structures)[0]

    return carried_forward, carried_backward


def _as_pair(pair):
    outs, residuals = pair
    return list(outs), list(residuals)


def _mine(x, interpreter):
    return type(x) is Tracer and x.interpreter is interpreter


def differentiate(op, interpreter, args):
    """Forward mode by the function's own rule."""
    name, n = op.params["name"], op.params["consts"]
    duals = [a.payload if _mine(a, interpreter) else interpreter.lift(a) for a in args]
    for dual in duals[:n]:
        if type(dual.tangent) is not Zero:
            raise TypeError(
                f"{name!r} has a derivative rule of its own and closes over a value that is being differentiated, of type "
                f"{typeof(dual.primal).str_short()}; make that value an argument, so that the rule can see it"
            )
    duals = duals[n:]
    rules = op.params["rules"]
    if "jvp" in rules:
        outs = rules["jvp"](*[d.primal for d in duals], *[zeros.instantiate(d.tangent) for d in duals])
        half = len(outs) // 2
        return [interpreter.wrap(Dual(p, _tangent(t, p))) for p, t in zip(outs[:half], outs[half:], strict=True)]
    forward, back = rules["vjp"]
    outs, residuals = forward(*[d.primal for d in duals])
    moving = tuple([_differentiable(d.primal) for d in duals])
    tangents = [zeros.instantiate(d.tangent) for d, m in zip(duals, moving, strict=True) if m]
    out_avals = tuple([tangent_aval(typeof(o)) for o in outs])
    linear = custom_linear(
        *residuals, *tangents, backward=back, residuals=len(residuals), moving=moving, out_avals=out_avals, name=name
    )
    return [interpreter.wrap(Dual(o, _tangent(t, o))) for o, t in zip(outs, linear, strict=True)]


def _differentiable(x):
    return tangent_aval(typeof(x)).dtype == typeof(x).dtype


def _tangent(t, primal):
    return zero_for(typeof(primal)) if not _differentiable(primal) else t


# --------------------------------------------------------------------------------------------------- custom_linear
def custom_linear_aval(*avals, backward, residuals, moving, out_avals, name):
    return out_avals


custom_linear = Primitive(
    "custom_linear", custom_linear_aval, multiple_results=True, doc="the derivative of a function that only reverse mode knows"
)


@custom_linear.rule("transpose")
def transpose_custom_linear(op, cts, *operands):
    n, moving = op.params["residuals"], op.params["moving"]
    results = op.params["backward"](operands[:n], [zeros.instantiate(ct) for ct in cts])
    kept = [r for r, m in zip(results, moving, strict=True) if m]
    return (None,) * n + tuple([r if type(x) is Linear else None for r, x in zip(kept, operands[n:], strict=True)])


@custom_linear.rule("lower")
def lower_custom_linear(op, *names):
    raise forward_mode_error(op.params["name"])


@custom_linear.rule("jvp")
def jvp_custom_linear(op, *duals):
    raise forward_mode_error(op.params["name"])


def forward_mode_error(name):
    """What to say where forward mode meets a function with a reverse rule only."""
    return MissingRule(
        f"{name!r} has a rule for reverse mode only (custom_vjp), so its forward-mode derivative is not known\n"
        f"  reached by jvp, jacfwd, hessian or linearize; rb.grad, rb.vjp and rb.jacrev work\n"
        f"  to fix: give it a jvp rule, as with rb.custom_jvp"
    )


@custom_linear.rule("batch")
def batch_custom_linear(op, *operands):
    raise forward_mode_error(op.params["name"])
