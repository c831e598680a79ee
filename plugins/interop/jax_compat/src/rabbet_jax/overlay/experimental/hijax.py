"""``jax.experimental.hijax``: types of a library's own, and primitives over them.

The type of a value says which arrays that is made of (``lower_val``, ``raise_val``). Here such a value is a
node of trees, and these arrays are its leaves: a transformed function gets a value of the same class that
holds the transformation's arrays, and no tracer of the type. A primitive does what it expands to; where its
author wrote derivative rules, these count.
"""

import rabbet as rb
from rabbet.extend.primitive import Linear, ShapedArray, Zero, instantiate
from rabbet.extend.transform import is_tracer

from rabbet_jax.hijax_rules import (
    GradAccum,
    Linearized,
    NullAccum,
    Pair,
    RefAccum,
    ValAccum,
    bdims_at_front,
    jvp_from_lin,
    own,
    unmap_avals,
    vmap_rule,
    with_rules,
)
from rabbet_jax.own_types import own_types

AbstractRef = rb.ref.AbstractRef
vjp_from_jvp = vjp_from_lin = Pair()
linearize_from_jvp = Linearized()

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
        if own(self, HiPrim, "staging"):
            return self.staging(None, None, *args)
        return with_rules(self, HiPrim)(*args)

    def expand(self, *args):
        """What the primitive computes, by operations on arrays and other primitives."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes: it lacks expand")

    jvp = lin = linearized = vjp_fwd = vjp_bwd = vjp_bwd_retval = batch = staging = None


class HiPrimitive:
    """The first form of a primitive (jax 0.10), with a name: what it computes is ``impl`` of arrays, and
    ``to_lojax`` within a transformation, which goes through that unless the author wrote ``jvp``. Where no
    value is traced nothing else is asked, so types that change while a program is traced do not exist here.

    Example:
      >>> from rabbet_jax.overlay.experimental.hijax import HiPrimitive
      >>> class Double(HiPrimitive):
      ...     def impl(self, x, *, times):
      ...         return 2 * times * x
      ...     to_lojax = impl
      >>> float(rb.grad(lambda x: Double("double").bind(x, times=3))(1.0))
      6.0
    """

    multiple_results = False
    impl = to_lojax = jvp = None

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def bind(self, *args, **params):
        """Apply the primitive."""
        if not any(is_tracer(x) for x in rb.tree.leaves(args)):
            return self.rule("impl")(*args, **params)
        bound = _Bound(self, params)
        return bound.expand(*args) if self.jvp is None else with_rules(bound, HiPrim)(*args)

    def rule(self, name):
        """A rule that the author of the primitive wrote."""
        found = getattr(self, name)
        if found is None:
            raise NotImplementedError(f"{type(self).__name__} does not say what it computes: it lacks {name}")
        return found


class _Bound(HiPrim):
    """Such a primitive with its parameters, in the newer form."""

    def __init__(self, first, given):
        self.first, self.given = first, given

    def expand(self, *args):
        return self.first.rule("to_lojax")(*args, **self.given)

    def jvp(self, primals, tangents):  # type: ignore[override]
        return self.first.jvp(primals, tangents, **self.given)


def register_hitype(cls, type_of):
    """Let values of ``cls`` be what their type, ``type_of(value)``, says that they are made of."""

    def taken_apart(value):
        kind = type_of(value)
        return tuple(kind.lower_val(value)), kind

    own_types[cls] = type_of
    rb.tree.register_node(cls, taken_apart, lambda kind, arrays: kind.raise_val(*arrays))


class MappingSpec:
    """How a value of a library's own type is mapped; a library's class says it."""


class HiPspec:
    """How a value of a library's own type lies over devices; a library's class says it."""


class _EffectTypes(set):
    """Types of effects; ``add_type`` adds one."""

    add_type = set.add


control_flow_allowed_effects = _EffectTypes()


def is_undefined_primal(x):
    """Whether a rule that transposes is asked for the cotangent of this operand."""
    return type(x) is Linear


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


__all__ = [
    "AbstractRef", "AbstractValue", "GradAccum", "HiPrim", "HiPrimitive", "HiPspec", "HiType", "MappingSpec",
    "NullAccum", "RefAccum", "ShapedArray", "ValAccum", "Zero", "aval_method", "aval_property",
    "bdims_at_front", "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal",
    "jvp_from_lin", "linearize_from_jvp", "register_hitype", "unmap_avals", "vjp_from_jvp", "vjp_from_lin",
    "vmap_rule",
]  # fmt: skip
