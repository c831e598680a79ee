"""Sums, maxima and minima over windows: reduce_window_sum, reduce_window_max, reduce_window_min.

One parameter, ``window``. The derivative of a sum spreads back by another sum over windows. That of an
extreme goes to the first element of each window that is the extreme (see ``window_choices``).
"""

from math import prod

from rabbet.extend.cost import Cost
from rabbet.extend.primitive import Batched, Dual, Primitive, accept, full_of_type, pad
from rabbet.extend.rules import extreme
from rabbet.extend.transform import typeof

from rabbet_convolution.primitives import window_choices, windows
from rabbet_convolution.primitives.windows import NUMBERS, REALS


def over_windows(name, hlo, accepts, start, doc, *, kinds=()):
    """Make a primitive that combines the elements of each window.

    Args:
      name: the primitive's name.
      hlo: the StableHLO operation that combines two elements.
      accepts: the dtype kinds that it takes.
      start: ``dtype -> `` the value that it starts with, which is also that of the padding.
    """

    def abstract(x, window):
        accept(name, accepts, x)
        windows.check(name, x, window)
        return x.update(shape=windows.out_shape(x.shape, window))

    primitive = Primitive(name, abstract, kinds=kinds, doc=doc)

    @primitive.rule("lower")
    def lower_window(op, x):
        if not op.out.shape:
            return x
        t = op.out.update(shape=()).mlir
        init = op.constant(start(op.out.dtype), op.out.update(shape=()))
        return op.emit(
            f'"stablehlo.reduce_window"({x}, {init}) <{{{windows.attributes(op["window"])}}}> ({{\n'
            f"  ^bb0(%a: {t}, %b: {t}):\n    %c = {hlo} %a, %b : {t}\n    stablehlo.return %c : {t}\n"
            f"  }}) : ({op.in_avals[0].mlir}, {t}) -> {op.out.mlir}"
        )

    @primitive.rule("cost")
    def cost_of_windows(op, x):
        (out,) = op.outs((x,))
        return Cost(float(out.size * (prod(op.params["window"].sizes) - 1)), float(x.nbytes + out.nbytes))

    @primitive.rule("explicit")
    def window_entries(op, x):
        return x.entries

    @primitive.rule("batch")
    def batch_window(op, x):
        return Batched(primitive(x.value, window=op.params["window"].with_batch(x.axis)), x.axis)

    return primitive


reduce_window_sum = over_windows(
    "reduce_window_sum", "stablehlo.add", NUMBERS, lambda dtype: 0, "sums over windows",
    kinds=("increasing", "linear"),
)  # fmt: skip
reduce_window_max = over_windows(
    "reduce_window_max", "stablehlo.maximum", REALS + "b",
    lambda dtype: extreme(dtype, largest=False), "maxima over windows", kinds=("increasing",),
)  # fmt: skip
reduce_window_min = over_windows(
    "reduce_window_min", "stablehlo.minimum", REALS + "b",
    lambda dtype: extreme(dtype, largest=True), "minima over windows", kinds=("increasing",),
)  # fmt: skip


@reduce_window_sum.rule("transpose")
def transpose_window_sum(op, ct, x):
    """Each element gets the sum of the cotangents of the windows that it was in."""
    window, aval = op.params["window"], x.aval
    out = typeof(ct).shape
    if 0 in (*out, *aval.shape):
        return (full_of_type(aval.strong(), 0),)
    back = [
        windows.back_padding(n, o, *per_dim)
        for n, o, per_dim in zip(aval.shape, out, zip(*window, strict=True), strict=True)
    ]
    config = tuple([(lo, hi, s - 1) for (lo, hi), s in zip(back, window.strides, strict=True)])
    zero = full_of_type(typeof(ct).update(shape=(), weak_type=False), 0)
    ones = (1,) * aval.ndim
    turned = windows.Window(window.sizes, window.base_dilation, ((0, 0),) * aval.ndim, ones, window.dilation)
    return (reduce_window_sum(pad(ct, zero, padding_config=config), window=turned),)


def jvp_window_extreme(op, x):
    largest = op.primitive is reduce_window_max
    return Dual(
        op(x.primal),
        window_choices.select_and_gather_add(x.tangent, x.primal, largest=largest, **op.params),
    )


reduce_window_max.rule("jvp")(jvp_window_extreme)
reduce_window_min.rule("jvp")(jvp_window_extreme)

__all__ = ["reduce_window_max", "reduce_window_min", "reduce_window_sum"]
