"""``jax.api_util``: functions of trees as functions of flat lists."""

import rabbet as rb

from rabbet_jax.overlay.extend.linear_util import Store


class DebugInfo:
    """What a traced function is called; Rabbet finds out by itself."""

    def __init__(self, traced_for, func_src_info=None, *args, **kwargs):
        self.traced_for, self.func_src_info = traced_for, func_src_info


def debug_info(traced_for, fun, args=(), kwargs=None, **options):
    """See ``DebugInfo``."""
    return DebugInfo(traced_for, getattr(fun, "__name__", None))


def _flat(fun, called, *transform):
    store = Store()

    def call(*leaves):
        out, structure = rb.tree_util.tree_flatten(called(leaves))
        store.store(structure)
        return out

    return fun.wrapped_by(call, transform, [store]), store.read


def flatten_fun(fun, in_tree):
    """A function of leaves of ``(args, kwargs)``, and a function for the structure of its result."""

    def called(leaves):
        args, kwargs = rb.tree_util.tree_unflatten(in_tree, leaves)
        return fun.call_wrapped(*args, **kwargs)

    return _flat(fun, called, "flatten_fun", in_tree)


def flatten_fun_nokwargs(fun, in_tree):
    """A function of leaves of ``args``, and a function for the structure of its result."""
    called = lambda leaves: fun.call_wrapped(*rb.tree_util.tree_unflatten(in_tree, leaves))
    return _flat(fun, called, "flatten_fun_nokwargs", in_tree)


def argnums_partial(f, dyn_argnums, args, require_static_args_hashable=True):
    """A function of some of its arguments, the others as they are.

    Args:
      f: a ``WrappedFun``.
      dyn_argnums: an int or ints: which arguments are left; the others are fixed.
      args: all arguments.
      require_static_args_hashable: whether those that are fixed must be hashable.

    Returns:
      ``(function, the arguments that are left)``.
    """
    chosen = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    chosen = tuple([i % len(args) for i in chosen])
    fixed = tuple([(i, x) for i, x in enumerate(args) if i not in chosen])
    if require_static_args_hashable:
        for i, x in fixed:
            if type(x).__hash__ is None:
                raise ValueError(f"argument {i}, which is fixed, must be hashable, and is {type(x).__name__}")

    def call(*left, **kwargs):
        full = dict(fixed) | dict(zip(chosen, left, strict=True))
        return f.call_wrapped(*[full[i] for i in range(len(args))], **kwargs)

    return f.wrapped_by(call, ("argnums_partial", chosen, fixed)), tuple([args[i] for i in chosen])


def safe_map(f, *sequences):
    """``map`` of sequences of one length, as a list."""
    return [f(*values) for values in zip(*sequences, strict=True)]


def shaped_abstractify(x):
    """The type of an array or a number."""
    return rb.typeof(x)


def rebase_donate_argnums(donate_argnums, static_argnums):
    """Numbers of arguments as they are without the static ones, in order.

    Raises:
      ValueError: if an argument is both.
    """
    if both := set(donate_argnums) & set(static_argnums):
        raise ValueError(f"arguments {sorted(both)} cannot be both static and donated")
    return tuple(sorted({n - sum(s < n for s in static_argnums) for n in donate_argnums}))


def donation_vector(donate_argnums, donate_argnames, in_tree, kws=True):
    """For each leaf of ``(args, kwargs)`` whether its argument is donated.

    Args:
      donate_argnums, donate_argnames: which are.
      in_tree: the structure of ``(args, kwargs)``, or of ``args`` where ``kws`` is False.
    """
    whole = rb.tree_util.tree_unflatten(in_tree, [0] * in_tree.num_leaves)
    args, kwargs = whole if kws else (whole, {})
    given = [(i in donate_argnums, a) for i, a in enumerate(args)]
    given += [(name in donate_argnames, a) for name, a in sorted(kwargs.items())]
    return tuple([donated for donated, a in given for _ in range(rb.tree_util.tree_structure(a).num_leaves)])


def flatten_axes(name, treedef, axis_tree, *, kws=False, tupled_args=False):
    """``axis_tree``, a prefix of a structure, with an entry for each of its leaves; None is an entry.

    Raises:
      ValueError: if it is not a prefix.
    """
    whole = rb.tree_util.tree_unflatten(treedef, [0] * treedef.num_leaves)
    try:
        return rb.tree.broadcast_prefix(axis_tree, whole, lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"{name} does not fit: {error}") from None


__all__ = ["DebugInfo", "argnums_partial", "debug_info", "flatten_fun", "flatten_fun_nokwargs"]
