"""Control flow inside programs: cond, switch, while_loop, fori_loop, scan."""

import operator
from typing import Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.config import config
from rabbet.errors import ConcretizationTypeError
from rabbet.lax import shapes
from rabbet.lax.values import convert_element_type
from rabbet.messages.source_positions import describe_function, named_like
from rabbet.primitives import branches as _branches
from rabbet.primitives import logic, loops
from rabbet.program import python_scalars
from rabbet.program.jaxpr import consts_as_inputs, evaluate
from rabbet.runtime.values import array_or_tracer
from rabbet.trace.interpreter import is_tracer, typeof
from rabbet.trace.staging import stage
from rabbet.tree import keystr

NOT_GIVEN = object()


class Body:
    """A function of pytrees staged for given types: its program, what it captured, the structure of its
    result.

    Example:
      >>> from rabbet.extend.bodies import Body
      >>> leaves, in_tree = rb.tree.flatten((1.0,))
      >>> body = Body(lambda x: {"twice": x * 2.0}, in_tree, [rb.typeof(x) for x in leaves])
      >>> [eqn.primitive for eqn in body.program.equations], body.named_out(0)
      ([mul], "the output['twice']")
    """

    def __init__(self, fun, in_tree, avals):
        self.fun = fun
        self.out_tree: Any = None

        def flat(*leaves):
            result = fun(*tree.unflatten(in_tree, list(leaves)))
            outs, self.out_tree = tree.flatten(result)
            return [array_or_tracer(x) for x in outs]

        closed = stage(named_like(flat, fun), avals, getattr(fun, "__name__", "body"))
        self.program, self.consts = consts_as_inputs(closed), list(closed.consts)
        self.out_avals = self.program.out_avals

    def named_out(self, i):
        """How output leaf number ``i`` is called in a message."""
        places = tree.unflatten(self.out_tree, list(range(self.out_tree.num_leaves)))
        path, _ = tree.leaves_with_path(places)[i]
        return f"the output{keystr(path)}"


def _flat(values):
    leaves, treedef = tree.flatten(values)
    # Python numbers stay: in a program they are literals, whose value the compiler knows.
    return [x if python_scalars.is_python_scalar(x) else array_or_tracer(x) for x in leaves], treedef


def _scalar(who, value, kinds, wanted):
    """The type of ``value``, or an error unless it is a scalar of one of the dtype kinds."""
    try:
        aval = typeof(value)
    except TypeError:
        raise TypeError(f"{who} must be {wanted}, got {type(value).__name__} {value!r:.60}") from None
    if aval.shape or dtypes.kind(aval.dtype) not in kinds:
        raise TypeError(f"{who} must be {wanted}, got {aval.str_short()}")
    return aval


def _same_outputs(what, first, other):
    """Refuse branches that return different structures, shapes or dtypes."""
    if first.out_tree != other.out_tree:
        raise TypeError(
            f"{what}: all branches must return the same structure; {describe_function(first.fun)} "
            f"returns {first.out_tree}, "
            f"{describe_function(other.fun)} returns {other.out_tree}"
        )
    for i, (a, b) in enumerate(zip(first.out_avals, other.out_avals, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            repair = f"convert one of them with .astype('{a.dtype}')" if a.shape == b.shape else (
                "bring them to one shape, as with rabbet.numpy.broadcast_to"
            )  # fmt: skip
            raise TypeError(
                f"{what}: all branches must return the same types; {first.named_out(i)} is "
                f"{a.str_short()} in "
                f"{describe_function(first.fun)} and {b.str_short()} in {describe_function(other.fun)}"
                f"\n  to fix: {repair}"
            )


def _joined_weak_types(bodies):
    """Promote weakly typed outputs that another branch returns with a strong type."""
    for i in range(len(bodies[0].out_avals)):
        avals = [b.out_avals[i] for b in bodies]
        if len({(a.shape, a.dtype) for a in avals}) == 1 or not any(a.weak_type for a in avals):
            continue
        dtype, _ = dtypes.promote(*avals)
        for b, a in zip(bodies, avals, strict=True):
            if a.weak_type and a.dtype != dtype:
                _convert_output(b, i, dtype)


def _convert_output(body, i, dtype):
    program = body.program

    def converted(*args):
        outs = evaluate(program, args)
        outs[i] = convert_element_type(outs[i], dtype)
        return outs

    body.program = stage(converted, program.in_avals, program.name).jaxpr
    body.out_avals = body.program.out_avals


def switch(index, branches, *operands, operand=NOT_GIVEN):
    """Run one of several functions, chosen by an integer.

    Args:
      index: an integer scalar, clamped to the branches there are.
      branches: a sequence of functions of ``operands`` that return pytrees of one structure and the same
        types.
      operands: pytrees of arrays.
      operand: one more operand, by name, which may be None.

    Returns:
      what the chosen function returns.

    Raises:
      TypeError: if the branches' results differ; the message names the leaf.
    """
    if operand is not NOT_GIVEN:
        operands = (*operands, operand)
    branches = list(branches)
    if not branches:
        raise ValueError("switch needs at least one branch")
    _scalar("switch: the index", index, "iu", "an integer scalar")
    if len(branches) == 1:
        return branches[0](*operands)
    if not is_tracer(index) and (config.disable_jit):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    index = logic.clamp(np.int32(0), convert_element_type(index, np.int32), np.int32(len(branches) - 1))
    return branch("switch", index, branches, operands)


def branch(what, index, functions, operands, last_first=False):
    """The function number ``index`` (an int32 scalar in range, or a boolean for two) of several, on
    ``operands``; ``what`` for messages, in which the last function comes first where the user wrote it so.
    """
    leaves, in_tree = _flat(operands)
    avals = [typeof(x) for x in leaves]
    made = [Body(f, in_tree, avals) for f in functions]
    if len({b.out_tree for b in made}) == 1:
        _joined_weak_types(made)
    in_order = made[::-1] if last_first else made
    for other in in_order[1:]:
        _same_outputs(what, in_order[0], other)
    programs = _branches.share_consts([b.program for b in made], [len(b.consts) for b in made])
    consts = [c for b in made for c in b.consts]
    outs = _branches.cond(index, *consts, *leaves, branches=tuple(programs))
    return tree.unflatten(made[0].out_tree, outs)


def cond(pred, true_fun, false_fun, *operands, operand=NOT_GIVEN):
    """Run ``true_fun(*operands)`` or ``false_fun(*operands)``.

    Args:
      pred: a boolean (or integer) scalar.
      true_fun, false_fun: functions of ``operands`` that return pytrees of one structure and the same types.
      operands: pytrees of arrays.
      operand: one more operand, by name, which may be None.

    Returns:
      what the chosen function returns.

    Raises:
      TypeError: if ``pred`` is not a scalar, or the results differ; the message names the leaf.
    """
    if operand is not NOT_GIVEN:
        operands = (*operands, operand)
    if not callable(true_fun) or not callable(false_fun):
        raise TypeError(
            "cond takes a predicate and two functions: cond(pred, true_fun, false_fun, *operands)"
        )
    aval = _scalar("cond: the predicate", pred, "biuf", "a boolean scalar")
    if config.disable_jit and not is_tracer(pred):
        return (true_fun if pred else false_fun)(*operands)
    if dtypes.kind(aval.dtype) != "b":
        pred = logic.ne(pred, 0)
    return branch("cond", pred, [false_fun, true_fun], operands, last_first=True)


def stage_loop_body(what, fun, init, in_tree, extra=()):
    """The body staged for its carry, whose weak types give way to what the body returns; (body, carry
    leaves).

    Example:
      >>> from rabbet.extend.bodies import stage_loop_body
      >>> leaves, in_tree = rb.tree.flatten((1,))
      >>> body, leaves = stage_loop_body("my_loop", lambda x: x * np.float32(2), leaves, in_tree)
      >>> leaves
      [Array(1., dtype=float32)]
    """
    leaves = list(init)
    while True:
        body = Body(fun, in_tree, [*[typeof(x) for x in leaves], *extra])
        changed = False
        for i, (x, out) in enumerate(zip(leaves, body.out_avals[: len(leaves)], strict=False)):
            aval = typeof(x)
            if aval.weak_type and out.dtype != aval.dtype and out.shape == aval.shape:
                promoted, _ = dtypes.promote(aval, out)
                if promoted != aval.dtype:
                    leaves[i], changed = convert_element_type(x, promoted), True
            elif aval.weak_type and not out.weak_type and out.shape == aval.shape:
                leaves[i], changed = convert_element_type(x, aval.dtype), True
        if not changed:
            return body, leaves


def _check_carry(what, fun, body, in_tree, leaves, out_tree):
    """Refuse a body that returns another structure or other types than it carries.

    ``fori_loop`` carries its user's value as the last one of a tuple.
    """
    inner = what == "fori_loop"
    if out_tree != in_tree:
        taken, returned = [t.children()[-1] if inner else t for t in (in_tree, out_tree)]
        raise TypeError(
            f"{what}: {describe_function(fun)} must return the structure that it carries; it takes "
            f"{taken} and returns {returned}"
        )
    places = tree.unflatten(in_tree, list(range(len(leaves))))
    for i, (x, out) in enumerate(zip(leaves, body.out_avals, strict=False)):
        aval = typeof(x)
        if (aval.shape, aval.dtype) != (out.shape, out.dtype):
            path, _ = tree.leaves_with_path(places)[i]
            kept = f"convert it with .astype('{aval.dtype}')" if aval.shape == out.shape else "keep its shape"
            raise TypeError(
                f"{what}: {describe_function(fun)} must return the types that it carries; "
                f"{f'the value{keystr(path[1:])}' if inner else f'carry{keystr(path)}'} goes in as "
                f"{aval.str_short()} and comes out as {out.str_short()}\n  to fix: start it as "
                f"{out.str_short()}, or {kept} in the function"
            )


def convert_weak_outputs(body, leaves, count):
    """The program with the first ``count`` outputs converted to the carries' dtypes, where only weak types
    differ.

    Example:
      >>> from rabbet.extend.bodies import Body, convert_weak_outputs
      >>> leaves, in_tree = rb.tree.flatten((np.float32(1),))
      >>> body = Body(lambda x: 2, in_tree, [rb.typeof(leaves[0])])
      >>> convert_weak_outputs(body, leaves, 1)
      >>> body.out_avals[0].str_short()
      'f32[]'
    """
    for i in range(count):
        out, aval = body.out_avals[i], typeof(leaves[i])
        if out.weak_type and out.dtype != aval.dtype and out.shape == aval.shape:
            promoted, _ = dtypes.promote(out, aval)
            if promoted == aval.dtype:
                _convert_output(body, i, aval.dtype)


def while_loop(cond_fun, body_fun, init_val):
    """Repeat ``val = body_fun(val)`` as long as ``cond_fun(val)``.

    Args:
      cond_fun: from the carried pytree to a boolean scalar.
      body_fun: from the carried pytree to one of the same structure and types.
      init_val: the first value, a pytree of arrays.

    Returns:
      the last value. Reverse mode cannot go through a loop whose length is not known: use ``scan``, or
      ``fori_loop`` with static bounds.
    """
    return repeat("while_loop", cond_fun, body_fun, init_val)


def repeat(what, cond_fun, body_fun, init_val):
    """``while_loop``, by the name ``what`` in messages."""
    if config.disable_jit:
        # A value that no Python loop can decide by, as under vmap, is left to the primitive from there on.
        while True:
            try:
                more = bool(cond_fun(init_val))
            except ConcretizationTypeError:
                break
            if not more:
                return init_val
            init_val = body_fun(init_val)
    init, treedef = _flat(init_val)
    in_tree = tree.structure((tree.unflatten(treedef, [0] * len(init)),))
    body, leaves = stage_loop_body(what, body_fun, init, in_tree)
    convert_weak_outputs(body, leaves, len(leaves))
    _check_carry(what, body_fun, body, treedef, leaves, body.out_tree)
    avals = [typeof(x) for x in leaves]
    test = Body(cond_fun, in_tree, avals)
    if len(test.out_avals) != 1 or test.out_avals[0].shape or dtypes.kind(test.out_avals[0].dtype) != "b":
        shown = ", ".join(a.str_short() for a in test.out_avals)
        raise TypeError(
            f"while_loop: {describe_function(cond_fun)} must return one boolean scalar, it returns {shown}"
        )
    outs = loops.while_(
        *test.consts, *body.consts, *leaves, cond_jaxpr=test.program, body_jaxpr=body.program,
        cond_consts=len(test.consts), body_consts=len(body.consts),
    )  # fmt: skip
    return tree.unflatten(treedef, outs)


def scan(f, init, xs=None, length=None, reverse=False, unroll=1, _split_transpose=False):
    """Run ``carry, y = f(carry, x)`` over the slices of ``xs`` along their first dimension.

    Args:
      f: from ``(carry, x)`` to ``(carry, y)``; the carry keeps its structure, shapes and dtypes.
      init: the first carry, a pytree of arrays.
      xs: a pytree of arrays with one leading size, or None.
      length: the number of steps, needed where ``xs`` is None.
      reverse: from the last slice to the first (``y`` stays in the place of its ``x``).
      unroll: how many steps the compiled loop takes at once; True: all.

    Returns:
      ``(carry, ys)``: the last carry, and the results stacked along a new first dimension.

    Raises:
      TypeError, ValueError: for a carry that changes its type or lengths that differ; the message names the
        leaf.
    """
    return named_scan("scan", f, init, xs, length, reverse, unroll, advice="; give it xs or length")


def named_scan(what, f, init, xs=None, length=None, reverse=False, unroll=1, advice=""):
    """``scan``, by the name ``what`` in messages.

    Example:
      >>> from rabbet.extend.bodies import named_scan
      >>> total, _ = named_scan("my_sum", lambda c, x: (c + x, None), 0.0, np.float32([1, 2, 3]))
      >>> float(total)
      6.0
    """
    if int(unroll) < 0:
        raise ValueError(f"{what} of {describe_function(f)}: unroll must not be negative, got {unroll}")
    init_leaves, init_tree = _flat(init)
    x_leaves, x_tree = _flat(xs)
    n = number_of_steps(f, x_leaves, x_tree, length, what, advice)
    if config.disable_jit:
        return _scan_in_python(f, init, xs, n, reverse)
    in_tree = tree.structure(
        (tree.unflatten(init_tree, [0] * len(init_leaves)), tree.unflatten(x_tree, [0] * len(x_leaves)))
    )
    slices = [typeof(x).update(shape=typeof(x).shape[1:]) for x in x_leaves]
    body, leaves = stage_loop_body(what, f, init_leaves, in_tree, slices)
    parts = _pair(f, body.out_tree)
    convert_weak_outputs(body, leaves, len(leaves))
    _check_carry(what, f, body, init_tree, leaves, parts[0])
    outs = loops.scan(
        *body.consts, *leaves, *x_leaves, jaxpr=body.program, length=n, reverse=bool(reverse),
        consts=len(body.consts), carry=len(leaves), unroll=n if unroll is True else max(int(unroll), 1),
    )  # fmt: skip
    return tree.unflatten(init_tree, outs[: len(leaves)]), tree.unflatten(parts[1], outs[len(leaves) :])


def _pair(f, out_tree):
    result = tree.unflatten(out_tree, [0] * out_tree.num_leaves)
    if not (isinstance(result, (tuple, list)) and len(result) == 2):
        raise TypeError(f"scan: {describe_function(f)} must return a pair (carry, y), it returned {out_tree}")
    return tree.structure(result[0]), tree.structure(result[1])


def number_of_steps(f, leaves, treedef, length, what="scan", advice=""):
    """The number of slices of arrays that are scanned together, and the length that was asked for; ``what``
    for messages, and ``advice`` for the one that there are no arrays.

    Example:
      >>> from rabbet.extend.bodies import number_of_steps
      >>> leaves, treedef = rb.tree.flatten({"x": np.ones((3, 2)), "y": np.ones(3)})
      >>> number_of_steps(lambda row: row, leaves, treedef, None)
      3
    """
    places = tree.unflatten(treedef, list(range(len(leaves))))
    who = f"{what} of {describe_function(f)}"
    sizes = {}
    for i, x in enumerate(leaves):
        aval = typeof(x)
        path, _ = tree.leaves_with_path(places)[i]
        if not aval.shape:
            raise ValueError(f"{who}: xs{keystr(path)} is a scalar and has no slices")
        sizes.setdefault(aval.shape[0], f"xs{keystr(path)} ({aval.str_short()})")
    if length is not None:
        try:
            length = operator.index(length)
        except TypeError:
            raise TypeError(f"{who}: length must be an int, got {length!r:.60}") from None
        if length < 0:
            raise ValueError(f"{who}: length must not be negative, got {length}")
        sizes.setdefault(length, "length")
    if not sizes:
        raise ValueError(f"{who}: xs holds no arrays{advice}")
    if len(sizes) > 1:
        shown = "; ".join(f"{size} by {name}" for size, name in sizes.items())
        raise ValueError(f"{who}: the number of steps is not clear: {shown}")
    return next(iter(sizes))


def _scan_in_python(f, init, xs, n, reverse):
    carry, ys = init, []
    order = reversed(range(n)) if reverse else range(n)
    for i in order:
        carry, y = f(carry, tree.map(lambda x, i=i: x[i], xs))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, tree.map(
        lambda *parts: shapes.stack([array_or_tracer(p) for p in parts]), *ys
    ) if ys else None


def fori_loop(lower, upper, body_fun, init_val, *, unroll=None):
    """``val = body_fun(i, val)`` for ``i`` from ``lower`` up to ``upper``.

    Args:
      lower, upper: integer scalars. Where both are known when the loop is traced (Python ints, most often)
        it can be differentiated in reverse mode.
      body_fun: from ``(i, val)`` to a value of the same structure and types. ``i`` has the type of the
        bounds; where they are known, or ``lower`` is a Python number, it gives way in promotion as that does.
      init_val: a pytree of arrays.

    Returns:
      the last value.
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        _scalar(f"fori_loop: {name}", bound, "iu", "an integer scalar")
    dtype = dtypes.promote_types(typeof(lower).dtype, typeof(upper).dtype)
    if not is_tracer(lower) and not is_tracer(upper):

        def step(carry, _):
            i, val = carry
            return (i + 1, body_fun(i, val)), None

        steps = max(int(upper) - int(lower), 0)
        first = int(lower)  # as weak as Python's numbers: `val + i` has the type of `val`
        if typeof(first).dtype != dtype:
            first = convert_element_type(first, dtype)
        step = named_like(step, body_fun)
        (_, val), _ = named_scan("fori_loop", step, (first, init_val), None, steps, unroll=unroll or 1)
        return val
    start, stop = convert_element_type(lower, dtype), convert_element_type(upper, dtype)
    if typeof(lower).weak_type and typeof(lower).dtype == dtype:
        start = lower
    step = named_like(lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2])), body_fun)
    return repeat("fori_loop", lambda state: logic.lt(*state[:2]), step, (start, stop, init_val))[2]


__all__ = ["cond", "fori_loop", "scan", "switch", "while_loop"]
