"""``jax.experimental.overlap``: operations in the order of the program."""

import functools

import rabbet as rb
from rabbet import lax, tree
from rabbet.extend.wrapping import wraps


def program_order(f=None, *, enforce, strict_in_out=False, exclude_argnames=None):
    """Ask that the operations of ``f`` run in the order in which it calls them.

    With ``enforce`` each operation's operands come through a barrier with the result of the operation before,
    so that the compiler neither swaps nor merges them.

    Args:
      f: a function of pytrees of arrays; None makes a decorator.
      enforce: False leaves the function as it is.
      strict_in_out: whether all arguments are ready before the first operation, all results after the
        last; one bool or a pair.
      exclude_argnames: not offered.
    """
    if exclude_argnames is not None:
        raise NotImplementedError("program_order: exclude_argnames is not offered, order a smaller function")
    if f is None:
        return functools.partial(program_order, enforce=enforce, strict_in_out=strict_in_out)
    first, last = strict_in_out if isinstance(strict_in_out, tuple) else (strict_in_out,) * 2
    if not enforce:
        return f

    @wraps(f)
    def ordered(*args, **kwargs):
        leaves, treedef = tree.flatten((args, kwargs))
        shown = []

        def flat(*leaves):
            a, k = treedef.unflatten(leaves)
            outs, structure = tree.flatten(f(*a, **k))
            shown[:] = [structure]
            return outs

        closed = rb.make_jaxpr(flat)(*leaves)
        values = lax.optimization_barrier(list(leaves)) if first and leaves else list(leaves)
        outs = _one_after_the_other(closed, values)
        outs = lax.optimization_barrier(outs) if last and outs else outs
        return shown[0].unflatten(outs)

    return ordered


def _one_after_the_other(closed, values):
    from rabbet.extend.passes import Literal

    program = closed.jaxpr
    known = dict(zip([*program.constvars, *program.invars], [*closed.consts, *values], strict=True))
    read = lambda v: v.value if type(v) is Literal else known[v]
    before = None
    for eqn in program.equations:
        operands = [read(v) for v in eqn.inputs]
        if before is not None and operands:
            *operands, _ = lax.optimization_barrier([*operands, before])
        outs = eqn.op.primitive(*operands, **eqn.op.params)
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
        known.update(zip(eqn.outputs, outs, strict=True))
        before = outs[0] if outs else before
    return [read(v) for v in program.outvars]


__all__ = ["program_order"]
