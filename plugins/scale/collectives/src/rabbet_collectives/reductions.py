"""Reductions over the members of a named axis, the primitives, and who writes them for the compiler."""

from rabbet import dtypes, lax
from rabbet.errors import UnboundAxisError
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Primitive,
    ShapedArray,
    accept,
    div,
    eq,
    iota,
    mul,
    reduce_max,
    reduce_min,
    reduce_sum,
)  # fmt: skip
from rabbet.extend.rules import at_axis
from rabbet.extend.transform import typeof

from rabbet_collectives import stablehlo
from rabbet_collectives.groups import reduced_in_groups

NUMBERS, REALS = "iufc", "iuf"
INDEX = dtypes.canonicalize("int32")


def by_devices(text):
    """The rule for text: where each device computes by itself, communication between devices, which ``text``
    writes; else nothing maps the axis around what is compiled.
    """

    def lower(op, *names):
        if op.manual is not None:
            op.manual.check(op)
            return text(op.manual, op, *names)
        raise UnboundAxisError(
            f"{op.primitive.name} communicates along the axis {op.params['axis']!r}, but nothing around the "
            "compiled program maps it\n  to fix: compile the mapped function, "
            f"rb.jit(rb.vmap(f, axis_name={op.params['axis']!r}))"
        )

    lower.refusal = "a program that is compiled by itself has no named axis around it"  # type: ignore[attr-defined]
    return lower


# ------------------------------------------------------------------------------------------- reductions
def all_reduce(name, accepts, reduce, combine, doc, kinds):
    """Make a reduction over the members; each of them gets the result."""

    def abstract(x, axis, size, groups):
        accept(name, accepts, x)
        return x

    primitive = Primitive(name, abstract, kinds=kinds, axis="axis", doc=doc)

    @primitive.rule("varying")
    def united(op, axes):
        if op.params["groups"] is not None:
            return [axes]
        return [frozenset([pair for pair in axes if pair[0] != op.params["axis"]])]

    primitive.rule("lower")(by_devices(stablehlo.reduction(combine)))

    @primitive.rule("batch")
    def batch_all_reduce(op, x):
        return Batched(op(x.value), x.axis)

    @primitive.rule("collective")
    def reduce_members(op, x):
        groups, size = op.params["groups"], op.params["size"]
        if x.axis is None and groups is None:
            return Batched(of_equal(op, x.value, size), None)
        if groups is None:
            return Batched(reduce(x.value, axes=(x.axis,)), None)
        return Batched(reduced_in_groups(reduce, at_axis(x, 0, size), groups), 0)

    return primitive


def of_equal(op, x, count):
    """The reduction over members that all hold ``x``."""
    return mul(x, count) if op.primitive is psum else x


psum = all_reduce(
    "psum", NUMBERS, reduce_sum, "add", "the sum over the members of a named axis",
    ("increasing", "linear"),
)  # fmt: skip
pmax = all_reduce(
    "pmax", REALS + "b", reduce_max, "maximum", "the maximum over the members of a named axis",
    ("increasing",),
)  # fmt: skip
pmin = all_reduce(
    "pmin", REALS + "b", reduce_min, "minimum", "the minimum over the members of a named axis",
    ("increasing",),
)  # fmt: skip


def jvp_extreme(op, x):
    """The mean of the tangents of those members that hold the extreme, as ``reduce_max`` has it."""
    out = op(x.primal)
    here = lax.convert_element_type(eq(x.primal, out), typeof(x.primal).dtype)
    total = psum.op(**op.params)
    return Dual(out, div(total(mul(x.tangent, here)), total(here)))


pmax.rule("jvp")(jvp_extreme)
pmin.rule("jvp")(jvp_extreme)


# ------------------------------------------------------------------------------------------------- index
axis_index = Primitive(
    "axis_index", lambda *, axis, size: ShapedArray((), INDEX), axis="axis",
    doc="a member's index along a named axis",
)  # fmt: skip
axis_index.rule("lower")(by_devices(stablehlo.axis_index))


@axis_index.rule("collective")
def index_of_members(op):
    return Batched(iota(dtype=INDEX, shape=(op.params["size"],), dimension=0), 0)
