"""``jax.experimental.hijax``: types of a library's own, and primitives over them.

The type of a value says which arrays that is made of (``lower_val``, ``raise_val``). Here such a value is a
node of trees, and these arrays are its leaves: a transformed function gets a value of the same class that
holds the transformation's arrays, and no tracer of the type. A primitive does what it expands to; where its
author wrote derivative rules, these count.
"""

from typing import Any

import rabbet as rb
from rabbet.extend.primitive import Zero, instantiate
from rabbet.extend.transform import is_tracer

from rabbet_jax.own_types import own_types

OPEN = True  # every name can be read


class AbstractValue:
    """What types are."""


class HiType(AbstractValue):
    """A type of a library's own. It says what its values are made of: ``lo_ty()``, ``lower_val(value)`` and
    ``raise_val(*arrays)``.
    """

    def to_tangent_aval(self):
        """The type of tangents."""
        raise NotImplementedError(f"{type(self).__name__} has no tangents: it lacks to_tangent_aval")

    def to_ct_aval(self):
        """The type of cotangents."""
        return self.to_tangent_aval()


class HiPrim:
    """A primitive over values of any type: ``expand`` says what it computes. ``__init__`` of a subclass
    gives ``in_avals``, ``out_aval`` and ``params``, which are attributes, too.
    """

    params: dict

    def __init__(self):
        for name, value in self.params.items():
            setattr(self, name, value)

    def __call__(self, *args):
        if not any(is_tracer(x) for x in rb.tree.leaves(args)):
            return self.expand(*args)
        if _own(self, "staging"):
            return self.staging(None, None, *args)
        return _with_rules(self)(*args)

    def expand(self, *args):
        """What the primitive computes, by operations on arrays and other primitives."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes: it lacks expand")

    jvp = vjp_fwd = vjp_bwd_retval = staging = None


def _own(primitive, name):
    return getattr(type(primitive), name) is not getattr(HiPrim, name)


def _with_rules(primitive):
    """``expand`` with the derivative rules that the author of a primitive wrote. Values and tangents meet as
    lists of arrays: their types may differ, weak ones for instance.
    """
    known: dict = {}

    def arrays_of(*args):
        leaves, known["out"] = rb.tree.flatten(primitive.expand(*args))
        return leaves

    def jvp(primals, tangents):
        out, tangent = primitive.jvp(primals, tangents)
        leaves, known["out"] = rb.tree.flatten(out)
        return leaves, rb.tree.leaves(tangent)

    def forward(*args):
        out, residuals = primitive.vjp_fwd([True] * len(args), *args)
        leaves, known["out"] = rb.tree.flatten(out)
        return leaves, (residuals, rb.tree.map(lambda x: x, args))

    def backward(kept, cotangents):
        residuals, args = kept
        found = primitive.vjp_bwd_retval(residuals, rb.tree.unflatten(known["out"], cotangents))
        return rb.tree.unflatten(rb.tree.structure(args), rb.tree.leaves(found))

    function: Any
    if _own(primitive, "jvp"):
        function = rb.custom_jvp(arrays_of)
        function.defjvp(jvp)
    elif _own(primitive, "vjp_fwd"):
        function = rb.custom_vjp(arrays_of)
        function.defvjp(forward, backward)
    else:
        return primitive.expand

    def called(*args):
        leaves = function(*args)
        return rb.tree.unflatten(known["out"], leaves)

    return called


def register_hitype(cls, type_of):
    """Let values of ``cls`` be what their type, ``type_of(value)``, says that they are made of."""

    def taken_apart(value):
        kind = type_of(value)
        return tuple(kind.lower_val(value)), kind

    own_types[cls] = type_of
    rb.tree.register_node(cls, taken_apart, lambda kind, arrays: kind.raise_val(*arrays))


def instantiate_zeros(x):
    """``x``, or zeros where it is a symbolic zero."""
    return instantiate(x) if type(x) is Zero else x


def aval_method(fun):
    """A method that tracers would have; here as it is."""
    return fun


class aval_property:
    """A property that tracers would have."""

    def __init__(self, fget):
        self.fget = fget
