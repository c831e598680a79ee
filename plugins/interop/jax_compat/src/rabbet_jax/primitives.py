"""JAX's way to make a primitive, on Rabbet's: entries in tables become rules beside the primitive.

A rule of JAX takes values and parameters; a rule of Rabbet takes the operation and payloads. ``Table`` turns
the first into the second. ``Zero`` is Rabbet's, and ``UndefinedPrimal`` is its ``Linear``.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from rabbet.errors import RuleConflict
from rabbet.extend import primitive as primitives
from rabbet.extend.functions import is_evaluating
from rabbet.extend.primitive import Batched, Dual, Linear, Zero, write_python_call
from rabbet.extend.transform import is_tracer, typeof, with_interpreter

from rabbet_jax import second_names


class Primitive(primitives.Primitive):
    """``Primitive(name)``, to be completed by ``def_impl``, ``def_abstract_eval`` and the tables."""

    multiple_results = False  # a subclass may say otherwise, and so may whoever made it

    def __init__(self, name):
        try:
            super().__init__(name, self._type)
        except RuleConflict:  # Rabbet, or another library, has one of that name
            super().__init__(f"{sys._getframe(1).f_globals.get('__name__', 'jax')}.{name}", self._type)
        kind = type(self)  # a library's subclass may have all three
        self.multiple_results = kind.multiple_results is True
        self._implementation = self.impl if kind.impl is not Primitive.impl else None
        own = kind.abstract_eval is not Primitive.abstract_eval
        self._abstract = (lambda *avals, **params: self.abstract_eval(*avals, **params)[0]) if own else None

    def _type(self, *avals, **params):
        if self._abstract is None:
            raise NotImplementedError(
                f"primitive {self.name!r} has no abstract evaluation rule: def_abstract_eval"
            )
        if self._implementation is not None and self.decomposition is None and "lower" not in self.rules:
            # Under JAX `checkpoint` outside of jit calls implementations, here it is compiled as any call is.
            self.rule("lower")(lower_on_host)
        out = self._abstract(*avals, **params)
        return tuple(out) if self.multiple_results else out

    def def_impl(self, impl):
        self._implementation = impl
        return impl

    def def_abstract_eval(self, rule):
        self._abstract = rule
        return rule

    def def_effectful_abstract_eval(self, rule):
        self._abstract = lambda *avals, **params: rule(*avals, **params)[0]
        return rule

    def abstract_eval(self, *avals, **params):
        """The type of the result, and the effects, of which Rabbet has none here."""
        return self._type(*avals, **params), set()

    def impl(self, *args, **params):
        """What runs outside of every transformation."""
        if self._implementation is None:
            return self(*args, **params)
        return self._implementation(*args, **params)

    def bind(self, *args, **params):
        if self._implementation and is_evaluating() and not any(is_tracer(a) for a in args):
            return self._implementation(*args, **params)
        return self(*args, **params)

    get_bind_params, bind_with_trace = second_names.get_bind_params, second_names.bind_with_trace


class Table:
    """A mapping from primitives to JAX's rules, each written into Rabbet's table too.

    Args:
      decorate: what makes a rule of Rabbet's table of the function, where it is not one as it is.
    """

    def __init__(self, name, translate, decorate=lambda rule: rule):
        self.name, self.translate, self.given, self.decorate = name, translate, {}, decorate

    def __setitem__(self, primitive, rule):
        known = primitive in self.given
        self.given[primitive] = self.translate(primitive, rule), rule
        if not known:  # a rule given later takes the place of an earlier one
            rule = self.decorate(lambda *payloads: self.given[primitive][0](*payloads))
            primitive.rule(self.name)(rule)

    def __getitem__(self, primitive):
        return self.given[primitive][1]

    def __contains__(self, primitive):
        return primitive in self.given

    def get(self, primitive, default=None):
        return self.given[primitive][1] if primitive in self.given else default


def jvp_rule(primitive, rule):
    def translated(op, *duals):
        primals, tangents = tuple([d.primal for d in duals]), tuple([d.tangent for d in duals])
        out, tangent = rule(primals, tangents, **op.params)
        if primitive.multiple_results:
            return [Dual(o, t) for o, t in zip(out, tangent, strict=True)]
        return Dual(out, tangent)

    return translated


def transpose_rule(primitive, rule):
    def translated(op, ct, *operands):
        found = rule(list(ct) if primitive.multiple_results else ct, *operands, **op.params)
        if found is Zero:  # the class itself: no operand has a cotangent
            found = [None] * len(operands)
        return tuple(
            [
                c if type(x) is Linear and c is not None and type(c) is not Zero else None
                for c, x in zip(found, operands, strict=True)
            ]
        )

    return translated


def _batched(primitive, out, axes):
    if primitive.multiple_results:
        return [Batched(o, d) for o, d in zip(out, axes, strict=True)]
    return Batched(out, axes)


def batch_rule(primitive, rule):
    def translated(op, *operands):
        values, axes = tuple([b.value for b in operands]), tuple([b.axis for b in operands])
        return _batched(primitive, *rule(values, axes, **op.params))

    return translated


class AxisData(NamedTuple):
    """What a rule is told of the dimension that is mapped over: its name (None: it has none), its size, and
    the axes of a mesh over which it lies.
    """

    name: Any
    size: int
    spmd_name: Any
    explicit_mesh_axis: Any = None


def fancy_batch_rule(primitive, rule):
    """For rules that are told of the axis too: ``rule(axis_data, values, axes, **params)``."""

    def translated(op, interpreter, *operands):
        axis = AxisData(interpreter.name, interpreter.size, interpreter.spmd_name)
        values, axes = tuple([b.value for b in operands]), tuple([b.axis for b in operands])
        return _batched(primitive, *rule(axis, values, axes, **op.params))

    return translated


def axis_batch_rule(primitive, rule):
    """The older form: ``rule(size, name, trace_type, values, axes, **params)``; there are no such types."""
    return fancy_batch_rule(
        primitive,
        lambda axis, values, axes, **params: rule(axis.size, axis.name, None, values, axes, **params),
    )


primitive_jvps = Table("jvp", jvp_rule)
primitive_transposes = Table("transpose", transpose_rule)
primitive_batchers = Table("batch", batch_rule)
fancy_primitive_batchers = Table("batch", fancy_batch_rule, with_interpreter)
axis_primitive_batchers = Table("batch", axis_batch_rule, with_interpreter)


def lower_on_host(op, *names):
    """Call the primitive's implementation on the host, with NumPy arrays."""

    def call(arrays):
        out = op.primitive.impl(*arrays, **op.params)
        return [np.asarray(o) for o in (out if op.primitive.multiple_results else [out])]

    return write_python_call(op, call, list(names))


class LowerFun:
    """``lower_fun(f)``: a lowering that is a function of arrays."""

    def __init__(self, fun, multiple_results=True):
        self.fun, self.multiple_results = fun, multiple_results


def register_lowering(primitive, rule, platform=None, **ignored):
    """A lowering: a ``LowerFun`` becomes a decomposition; one that builds MLIR is replaced by a call of the
    primitive's implementation on the host, with NumPy arrays.
    """
    if isinstance(rule, LowerFun):
        primitive.decompose(lambda op, *args: rule.fun(*args, **op.params))
        return rule
    if "lower" not in primitive.rules:
        primitive.rule("lower")(lower_on_host)
    return rule


def deflinear(primitive, rule):
    """A linear primitive with its transposition."""
    primitive_jvps[primitive] = lambda primals, tangents, **params: (
        primitive.bind(*primals, **params),
        tangents[0] if type(tangents[0]) is Zero else primitive.bind(*tangents, **params),
    )
    primitive_transposes[primitive] = lambda ct, *operands, **params: rule(ct, **params)


def defjvp(primitive, *rules):
    """One rule for each operand, which may be None: ``rule(tangent, *primals, **params)``."""

    def rule(primals, tangents, **params):
        out = primitive.bind(*primals, **params)
        terms = [
            f(t, *primals, **params)
            for f, t in zip(rules, tangents, strict=True)
            if f and type(t) is not Zero
        ]
        total = None
        for term in terms:
            total = term if total is None else total + term
        return out, Zero(primitives.tangent_aval(typeof(out))) if total is None else total

    primitive_jvps[primitive] = rule
