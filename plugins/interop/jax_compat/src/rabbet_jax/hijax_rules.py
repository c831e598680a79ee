"""Rules of primitives over types of a library's own (``jax.experimental.hijax``), as Rabbet's.

What a primitive's author wrote counts: ``jvp``, or ``lin`` with ``linearized``; ``vjp_fwd`` with ``vjp_bwd``
or ``vjp_bwd_retval``; ``batch``. Where there is none, the transformation goes through ``expand``.
"""

from typing import Any, NamedTuple

import rabbet as rb
from rabbet import lax
from rabbet.extend.cells import read, write
from rabbet.extend.primitive import Batched, Zero, instantiate
from rabbet.extend.transform import typeof


def derived(function):
    """Marks a rule that says no more than the others: Rabbet derives it from them."""
    function.derived = True
    return function


@derived
def _from_others(self, *args):
    raise NotImplementedError(f"{type(self).__name__} has this rule from its others; rabbet derives it")


class Pair(NamedTuple):
    """Two rules that are derived from others; names as JAX has them."""

    vjp_fwd: Any = _from_others
    vjp_bwd_retval: Any = _from_others


class Linearized(NamedTuple):
    """Two rules that are derived from others; names as JAX has them."""

    lin: Any = _from_others
    linearized: Any = _from_others


@derived
def jvp_from_lin(self, primals, tangents):
    """``jvp`` of a primitive that has ``lin`` and ``linearized``."""
    out, residuals = self.lin([True] * len(primals), *primals)
    return out, self.linearized(residuals, *tangents)


class GradAccum:
    """Where a rule of reverse mode puts the cotangent of an operand: ``accum(x)``."""

    def __init__(self, aval):
        self.aval = aval

    def accum(self, x):
        """Add a cotangent, or a ``Zero``."""

    def freeze(self):
        """What was added up, or a ``Zero``."""
        return Zero(self.aval)


class NullAccum(GradAccum):
    """Where nobody asks for the cotangent."""


class ValAccum(GradAccum):
    """Adds cotangents up as a value."""

    def __init__(self, aval, val=None):
        super().__init__(aval)
        self.val = Zero(aval) if val is None else val

    def accum(self, x):
        """Add a cotangent, or a ``Zero``."""
        if type(x) is not Zero:
            self.val = x if type(self.val) is Zero else rb.tree.map(lax.add, self.val, x)

    def freeze(self):
        """What was added up, or a ``Zero``."""
        return self.val


class RefAccum(GradAccum):
    """Adds cotangents to a reference."""

    def __init__(self, aval, ref=None):
        super().__init__(aval)
        self.ref = ref

    def accum(self, x):
        """Add a cotangent, or a ``Zero``."""
        if type(x) is not Zero:
            write(self.ref, lax.add(read(self.ref), x))

    def freeze(self):
        """The value of the reference."""
        return read(self.ref)


def own(primitive, base, *names):
    """Whether the author of a primitive wrote these rules."""
    found = [getattr(type(primitive), name) for name in names]
    return all(
        f is not getattr(base, name) and not getattr(f, "derived", False)
        for f, name in zip(found, names, strict=True)
    )


def with_rules(primitive, base):
    """``expand`` with the rules that the author of a primitive wrote. Values meet as lists of arrays."""

    def called(*args):
        leaves, structure = rb.tree.flatten(args)
        known: dict = {}
        back = lambda arrays: rb.tree.unflatten(structure, list(arrays))

        def flat(out):
            arrays, known["out"] = rb.tree.flatten(out, is_leaf=lambda x: type(x) is Zero)
            return arrays

        def as_cotangents(found):
            parts = []
            for x, arg in zip(found, args, strict=True):
                mine = rb.tree.leaves(arg)
                given = [None] * len(mine) if x is None or type(x) is Zero else rb.tree.leaves(x)
                parts += given
            return tuple(parts)

        function = rb.custom_rules(lambda *arrays: flat(primitive.expand(*back(arrays))))

        def jvp(primals, tangents):
            rule = primitive.jvp if own(primitive, base, "jvp") else jvp_from_lin.__get__(primitive)
            out, tangent = rule(back(primals), back(tangents))
            tangents_out = rb.tree.leaves(tangent, is_leaf=lambda x: type(x) is Zero)
            return flat(out), [instantiate(t) if type(t) is Zero else t for t in tangents_out]

        def vjp(*arrays):
            given = back(arrays)
            out, residuals = primitive.vjp_fwd([True] * len(given), *given)
            outs = flat(out)

            def pull(cotangents):
                ct = rb.tree.unflatten(known["out"], list(cotangents))
                if own(primitive, base, "vjp_bwd_retval"):
                    return as_cotangents(primitive.vjp_bwd_retval(residuals, ct))
                sums = [ValAccum(aval) for aval in primitive.in_avals]
                primitive.vjp_bwd(residuals, ct, *sums)
                return as_cotangents([one.freeze() for one in sums])

            return outs, pull

        def batch(*payloads):
            mapped = [p for p in payloads if p.axis is not None]
            size = typeof(mapped[0].value).shape[mapped[0].axis]
            data = AxisData(None, size, None)
            values, axes = back([p.value for p in payloads]), tuple([p.axis for p in payloads])
            out, out_axes = primitive.batch(data, values, axes)
            arrays = flat(out)
            if out_axes is None or isinstance(out_axes, int):
                out_axes = [out_axes] * len(arrays)
            each = rb.tree.leaves(out_axes, is_leaf=_is_none)
            return [Batched(x, d) for x, d in zip(arrays, each, strict=True)]

        if own(primitive, base, "jvp") or own(primitive, base, "lin", "linearized"):
            function.def_rule("jvp", jvp)
        if own(primitive, base, "vjp_fwd"):
            function.def_rule("vjp", vjp)
        if own(primitive, base, "batch") and len(leaves) == len(args):
            function.def_rule("batch", batch)
        outs = function(*leaves)
        return rb.tree.unflatten(known["out"], outs)

    return called


def _is_none(x):
    return x is None


class AxisData(NamedTuple):
    """What a rule is told of the dimension that is mapped over."""

    name: Any
    size: int
    spmd_name: Any
    explicit_mesh_axis: Any = None


def bdims_at_front(axis_data, args, dims):
    """Operands with the mapped dimension in front; those without one get it by repetition."""
    front = lambda x, d: (
        rb.numpy.broadcast_to(x, (axis_data.size, *x.shape)) if d is None else rb.numpy.moveaxis(x, d, 0)
    )
    return tuple([front(x, d) for x, d in zip(args, dims, strict=True)])


def unmap_avals(axis_data, avals, dims):
    """The types of examples with the dimension that is mapped over put in."""
    more = lambda a, d: a if d is None else a.update(shape=(*a.shape[:d], axis_data.size, *a.shape[d:]))
    return tuple([more(a, d) for a, d in zip(avals, dims, strict=True)])


def vmap_rule(axis_data, f, in_axes, out_axes, *, sum_match=False):
    """``f`` mapped as a rule for ``batch`` needs it."""
    if sum_match:
        raise NotImplementedError("vmap_rule: sum_match is not offered; add up what is not mapped yourself")
    return rb.vmap(f, in_axes, out_axes, axis_size=axis_data.size)
