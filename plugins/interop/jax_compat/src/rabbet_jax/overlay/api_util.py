"""``jax.api_util``: functions of trees as functions of flat lists."""

import rabbet as rb

from rabbet_jax.overlay.extend.linear_util import WrappedFun


class DebugInfo:
    """What a traced function is called; Rabbet finds out by itself."""

    def __init__(self, traced_for, func_src_info=None, *args, **kwargs):
        self.traced_for, self.func_src_info = traced_for, func_src_info


def debug_info(traced_for, fun, args=(), kwargs=None, **options):
    """See ``DebugInfo``."""
    return DebugInfo(traced_for, getattr(fun, "__name__", None))


def _flat(fun, called):
    structures = []

    def call(*leaves):
        out, structure = rb.tree_util.tree_flatten(called(leaves))
        structures.append(structure)
        return out

    return WrappedFun(call, fun.debug_info), lambda: structures[-1]


def flatten_fun(fun, in_tree):
    """A function of leaves of ``(args, kwargs)``, and a function for the structure of its result."""

    def called(leaves):
        args, kwargs = rb.tree_util.tree_unflatten(in_tree, leaves)
        return fun.call_wrapped(*args, **kwargs)

    return _flat(fun, called)


def flatten_fun_nokwargs(fun, in_tree):
    """A function of leaves of ``args``, and a function for the structure of its result."""
    return _flat(fun, lambda leaves: fun.call_wrapped(*rb.tree_util.tree_unflatten(in_tree, leaves)))


def safe_map(f, *sequences):
    """``map`` of sequences of one length, as a list."""
    return [f(*values) for values in zip(*sequences, strict=True)]


ABSENT = "argnums_partial donation_vector flatten_axes rebase_donate_argnums shaped_abstractify"
__all__ = ["DebugInfo", "debug_info", "flatten_fun", "flatten_fun_nokwargs"]
