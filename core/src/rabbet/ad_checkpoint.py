"""``rb.checkpoint`` and what belongs to it: names for values, and a look at what reverse mode keeps."""

from rabbet import tree
from rabbet.calls.checkpoint import checkpoint, remat
from rabbet.messages.tracebacks import folded
from rabbet.primitives.checkpoint import name as _named
from rabbet.runtime.compiled import is_evaluating
from rabbet.runtime.values import traceable

__all__ = ["checkpoint", "checkpoint_name", "remat"]


@folded
def checkpoint_name(x, name):
    """``x`` (a pytree of arrays), under a name that policies such as ``save_only_these_names`` speak of.

    Example:
      >>> policy = rb.checkpoint_policies.save_only_these_names("hidden")
      >>> @functools.partial(rb.checkpoint, policy=policy)
      ... def layer(w, x):
      ...     return rnp.sin(checkpoint_name(w @ x, "hidden"))
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name takes a name (a string), got {type(name).__name__}: {name!r:.60}")
    if is_evaluating():
        return tree.map(traceable, x)
    return tree.map(lambda leaf: _named(traceable(leaf), name=name), x)


@folded
def __getattr__(name):
    # What looks at reverse mode comes from the package that provides it.
    if not name.startswith("_"):
        from rabbet.plugins import api

        return api.resolve(f"ad_checkpoint.{name}")
    raise AttributeError(f"module 'rabbet.ad_checkpoint' has no attribute {name!r}")


def __dir__():
    from rabbet.plugins import api

    return sorted({*globals(), *api.names(within="ad_checkpoint")})
