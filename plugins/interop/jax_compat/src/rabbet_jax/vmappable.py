"""Types that a library registers with ``jax.interpreters.batching.register_vmappable``.

Under JAX such a type says itself how ``vmap`` cuts its values. Libraries register one when they are imported,
and most programs never make a value of it (MuJoCo's MJX has one for its second implementation, which needs
Warp). So registering is allowed, and ``jax.vmap`` refuses the values: mapped as trees they would be cut along
all their parts, which is something else.
"""

import functools

import rabbet
from rabbet import tree

_registered: set[type] = set()


def register_vmappable(data_type, spec_type, axis_size_type, to_elt, from_elt, make_iota):
    """Note that a type has a way of its own to be mapped."""
    _registered.add(data_type)


def unregister_vmappable(data_type):
    """Take back ``register_vmappable``; KeyError if the type is not registered."""
    _registered.remove(data_type)


def is_vmappable(x):
    """Whether ``x`` is of a registered type."""
    return type(x) in _registered


def _refuse(values, what):
    for x in tree.leaves(values, is_leaf=is_vmappable):
        if is_vmappable(x):
            raise NotImplementedError(
                f"vmap: {what} holds a {type(x).__name__}, whose own way to be mapped "
                "(jax.interpreters.batching.register_vmappable) Rabbet does not follow.\n"
                "  to fix: map over the arrays that it holds"
            )
    return values


@functools.wraps(rabbet.vmap)
def vmap(fun, *args, **kwargs):
    if not _registered or not callable(fun):
        return rabbet.vmap(fun, *args, **kwargs)

    @functools.wraps(fun)
    def inner(*values, **named):
        return _refuse(fun(*values, **named), "the result")

    mapped = rabbet.vmap(inner, *args, **kwargs)

    @functools.wraps(mapped)
    def checked(*values, **named):
        return mapped(*_refuse(values, "an argument"), **_refuse(named, "an argument"))

    return checked
