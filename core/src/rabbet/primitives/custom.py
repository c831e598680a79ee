"""The primitive ``custom_call``: a function whose author says how some transformations treat it.

Its rules are kept by table name; an interpreter whose table has one uses it, any other goes through the
function. ``custom_jvp`` and ``custom_vjp`` are both this primitive, with the rule ``"jvp"`` or ``"vjp"``.

A call looks for the interpreter that it concerns, from the current one down:

1. at the bottom the function just runs;
2. an interpreter with a rule, and an argument of its own, applies the rule: the function itself does not
run, so it may branch on values; 3. one with a rule but no argument of its own has no say: the call goes on
to its parent; 4. any other one that takes part runs the function;
5. where a program is staged, or the rules have to survive (``Interpreter.carries``), the function is staged
and becomes an equation.
"""

from rabbet import axes, bodies, dtypes, tree
from rabbet.current import Context, context
from rabbet.errors import MissingRule
from rabbet.interpreter import Tracer, run_traced, typeof
from rabbet.jaxpr import evaluate, open_consts
from rabbet.payloads import Dual, Linear, Zero, tangent_aval, zero_for
from rabbet.primitive import Primitive
from rabbet.primitives import transposition, zeros
from rabbet.staging import Stage, stage


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
      rules: ``"jvp"``: ``(*primals, *tangents) -> [*outs, *tangents]``; ``"vjp"``: a pair
        ``forward(*primals) -> (outs, residuals)`` and ``backward(residuals, cotangents) -> cotangents``;
        any other table: ``(interpreter, payloads) -> payloads``.
      args: arrays.
      name: for messages and programs.
    """
    interpreter = context.interpreter
    while not is_bottom(interpreter):
        ruled = has_rule(interpreter, rules)
        mine = any(_mine(a, interpreter) for a in args)
        if ruled and mine:
            return at(interpreter.parent, lambda i=interpreter: by_rule(i, rules, name, args))
        if ruled or (not mine and is_transposing(interpreter)):
            interpreter = interpreter.parent
            continue
        if type(interpreter) is Stage or interpreter.carries or not mine:
            return at(interpreter, lambda: staged(function, rules, args, name))
        break
    return at(interpreter, lambda: function(*args))


def is_bottom(interpreter):
    """Whether operations are executed at once here."""
    return interpreter is Context.interpreter


def is_transposing(interpreter):
    """Whether this interpreter writes linear operations down for transposition: nothing else concerns it."""
    return interpreter.table is not None and interpreter.table.name == "transpose"


def has_rule(interpreter, rules):
    """Whether the function has a rule for this interpreter's table; forward mode can use either of two."""
    if interpreter.table is None:
        return False
    name = interpreter.table.name
    return name in rules or (name == "jvp" and "vjp" in rules)


def at(interpreter, thunk):
    """``thunk()`` with ``interpreter`` current."""
    ctx = context
    previous = ctx.interpreter
    ctx.interpreter = interpreter
    try:
        return thunk()
    finally:
        ctx.interpreter = previous


def staged(function, rules, args, name):
    """The call as an equation; what the function captured becomes its first operands."""
    closed = stage(function, [typeof(a) for a in args], name)
    return bind([*closed.consts, *args], open_consts(closed), rules, len(closed.consts), name)


def bind(operands, body, rules, consts, name):
    """Bind a staged function at the first level that it concerns; at the bottom it runs."""
    interpreter = context.interpreter
    names = axes.used_in(body) if context.axes else ()
    while interpreter.parent is not None and not (
        interpreter.binds(names) or any(_mine(a, interpreter) for a in operands)
    ):
        interpreter = interpreter.parent
    if is_bottom(interpreter):
        return at(interpreter, lambda: evaluate(body, operands))
    op = custom_call.op(jaxpr=body, rules=rules, consts=consts, name=name)
    return at(interpreter, lambda: op(*operands))


def by_rule(interpreter, rules, name, args, wanted=None):
    """Apply the rule for ``interpreter``'s table; ``wanted`` are the types of the outputs, where they are
    known.
    """
    if interpreter.table.name == "jvp":
        return differentiate(interpreter, rules, name, args, wanted)
    payloads = [a.payload if _mine(a, interpreter) else interpreter.lift(a) for a in args]
    return [interpreter.wrap(p) for p in rules[interpreter.table.name](interpreter, payloads)]


@custom_call.rule("lower")
def lower_custom_call(op, *names):
    return op.inline(op["jaxpr"], names)


@custom_call.rule("transpose")
def transpose_custom_call(op, cts, *operands):
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    known = [x for x in operands if type(x) is not Linear]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(transposition.transpose_program(op.params["jaxpr"], linear, known, nonzero, given))
    return tuple([next(results) if lin else None for lin in linear])


@custom_call.rule("body")
def body_custom_call(op, interpreter, args):
    rules, name, n = op.params["rules"], op.params["name"], op.params["consts"]
    if has_rule(interpreter, rules):
        for x in args[:n]:
            refuse_moving(interpreter, x, name)
        return by_rule(interpreter, rules, name, args[n:], op.params["jaxpr"].out_avals)
    if interpreter.carries and rules and not is_bottom(interpreter.parent):
        return carried_call(op, interpreter, args)
    return at(interpreter, lambda: evaluate(op.params["jaxpr"], args))


def refuse_moving(interpreter, x, name):
    """Refuse a captured value that is being transformed: the rule cannot see it."""
    if _mine(x, interpreter):
        raise TypeError(
            f"{name!r} has a rule of its own for {interpreter.describe()} and closes over a value that is "
            f"being transformed, of type {typeof(x).str_short()}; make that value an argument, so that the "
            "rule can see it"
        )


def carried_call(op, interpreter, args):
    """Go through the body and take the rules along, interpreted the same way (vmap of a custom_jvp function
    keeps its derivative).
    """
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
    outs = bind([*closed.consts, *leaves], open_consts(closed), carried, first, op.params["name"])
    outs = bodies.put_together(interpreter, (structure,) * len(outs), outs)
    return [interpreter.collapse(x.payload) if p else x for x, p in zip(outs, uniform.plain, strict=True)]


class under:
    """A flat function run under a fresh copy of an interpreter: leaves in, leaves of uniform payloads out.

    ``structure`` is the static part that every output has, ``plain`` says which outputs the interpreter had
    not touched; both are known after the first call.
    """

    def __init__(self, interpreter, function, structures):
        self.interpreter, self.function, self.structures = interpreter, function, structures
        self.structure = self.plain = None

    def __call__(self, flat, give_back=None):
        inner = self.interpreter.fresh()
        outs = run_traced(
            inner, lambda: self.function(*bodies.put_together(inner, self.structures, flat)), []
        )
        extra = None
        if isinstance(outs, tuple):
            outs, extra = outs[0], outs[1]
        if give_back is not None:
            pairs = zip(outs, give_back, strict=True)
            return [
                x if is_float0(x) else inner.give_back(payload_or_plain(inner, x), s) for x, s in pairs
            ], None
        return self._leaves(inner, outs), None if extra is None else self._leaves(inner, extra)

    def _leaves(self, inner, values):
        leaves = []
        self.plain = [not _mine(x, inner) for x in values]
        for x in values:
            if is_float0(x):  # the tangent of an integer: nothing to represent
                leaves.append(x)
                continue
            parts, self.structure = tree.flatten(inner.uniform(payload_or_plain(inner, x)))
            leaves += parts
        return leaves


def is_float0(x):
    """Whether ``x`` is the tangent of an integer, a NumPy array without bytes."""
    return type(x) is not Tracer and getattr(x, "dtype", None) == dtypes.float0


def payload_or_plain(interpreter, x):
    """The payload of a tracer of ``interpreter``; any other value as a lifted payload."""
    return x.payload if _mine(x, interpreter) else interpreter.lift(x)


def carried_vjp(interpreter, rule, structures, structure):
    """The reverse rule under an interpreter: residuals and cotangents are uniform, results fit the
    inputs.
    """
    forward, back = rule
    run_forward = under(interpreter, lambda *values: _as_pair(forward(*values)), structures)

    def carried_forward(*flat):
        return run_forward(flat)

    def carried_backward(residuals, cotangents):
        n = len(residuals)
        pull = under(
            interpreter,
            lambda *values: list(back(values[:n], values[n:])),
            (structure,) * (n + len(cotangents)),
        )
        return pull([*residuals, *cotangents], give_back=structures)[0]

    return carried_forward, carried_backward


def _as_pair(pair):
    outs, residuals = pair
    return list(outs), list(residuals)


def _mine(x, interpreter):
    return type(x) is Tracer and x.interpreter is interpreter


def differentiate(interpreter, rules, name, args, wanted):
    """Forward mode by the function's own rule."""
    duals = [payload_or_plain(interpreter, a) for a in args]
    primals = [d.primal for d in duals]
    if "jvp" in rules:
        outs = rules["jvp"](*primals, *[zeros.instantiate(d.tangent) for d in duals])
        half = len(outs) // 2
        outs, tangents = outs[:half], outs[half:]
        check_outputs(outs, wanted, name)
        return [interpreter.wrap(Dual(p, _tangent(t, p))) for p, t in zip(outs, tangents, strict=True)]
    forward, back = rules["vjp"]
    outs, residuals = forward(*primals)
    check_outputs(outs, wanted, name)
    moving = tuple([_differentiable(p) for p in primals])
    tangents = [zeros.instantiate(d.tangent) for d, m in zip(duals, moving, strict=True) if m]
    out_avals = tuple([tangent_aval(typeof(o)) for o in outs])
    linear = custom_linear(
        *residuals,
        *tangents,
        backward=back,
        residuals=len(residuals),
        moving=moving,
        out_avals=out_avals,
        name=name,
    )
    return [interpreter.wrap(Dual(o, _tangent(t, o))) for o, t in zip(outs, linear, strict=True)]


def check_outputs(outs, wanted, name):
    """Refuse a rule whose outputs are not of the function's types."""
    for i, (out, aval) in enumerate(zip(outs, wanted or (), strict=bool(wanted))):
        have = typeof(out)
        if (have.shape, have.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"the derivative rule of {name!r} returned {have.str_short()} for output number {i}, which "
                f"the function returns as {aval.str_short()}"
            )


def _differentiable(x):
    return tangent_aval(typeof(x)).dtype == typeof(x).dtype


def _tangent(t, primal):
    return zero_for(typeof(primal)) if not _differentiable(primal) else t


# ---------------------------------------------------------------------------------------------------
# custom_linear
def custom_linear_aval(*avals, backward, residuals, moving, out_avals, name):
    return out_avals


custom_linear = Primitive(
    "custom_linear",
    custom_linear_aval,
    multiple_results=True,
    doc="the derivative of a function that only reverse mode knows",
)


@custom_linear.rule("transpose")
def transpose_custom_linear(op, cts, *operands):
    n, moving = op.params["residuals"], op.params["moving"]
    results = op.params["backward"](operands[:n], [zeros.instantiate(ct) for ct in cts])
    kept = [r for r, m in zip(results, moving, strict=True) if m]
    return (None,) * n + tuple(
        [r if type(x) is Linear else None for r, x in zip(kept, operands[n:], strict=True)]
    )


@custom_linear.rule("lower")
def lower_custom_linear(op, *names):
    raise forward_mode_error(op.params["name"])


@custom_linear.rule("jvp")
def jvp_custom_linear(op, *duals):
    raise forward_mode_error(op.params["name"])


def forward_mode_error(name):
    """What to say where forward mode meets a function with a reverse rule only."""
    return MissingRule(
        f"{name!r} has a rule for reverse mode only (custom_vjp), so its forward-mode derivative is not "
        "known\n  reached by jvp, jacfwd, hessian or linearize; rb.grad, rb.vjp and rb.jacrev work\n  to "
        "fix: give it a jvp rule, as with rb.custom_jvp"
    )


@custom_linear.rule("batch")
def batch_custom_linear(op, *operands):
    raise forward_mode_error(op.params["name"])
