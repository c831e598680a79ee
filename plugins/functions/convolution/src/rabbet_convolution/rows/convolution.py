"""Rows of ``primitives/convolution.py``: convolutions by loops over places and window."""

import numpy as np
from rabbet.testing.draws import some
from rabbet.testing.table import Row

from rabbet_convolution.primitives.convolution import ConvDimensionNumbers, conv_general_dilated


def out_size(n, size, stride, padding, base_dilation, dilation):
    """How many places a window of ``size`` elements has along a dimension of ``n``."""
    room = spread(n, base_dilation) + sum(padding) - spread(size, dilation)
    return room // stride + 1 if room >= 0 else 0


def spread(n, dilation):
    """The extent of ``n`` elements that lie ``dilation`` apart."""
    return (n - 1) * dilation + 1 if n else 0


def convolved(x, w, params):
    """The convolution, one product at a time for each place of the result and of the kernel."""
    numbers = params["dimension_numbers"]
    x, w = x.transpose(numbers.lhs_spec), w.transpose(numbers.rhs_spec)
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    per_dim = [params[k] for k in ("window_strides", "padding", "lhs_dilation", "rhs_dilation")]
    sizes = [
        out_size(n, k, *per)
        for n, k, *per in zip(x.shape[2:], w.shape[2:], *per_dim, strict=True)
    ]  # fmt: skip
    dtype = params["preferred_element_type"] if x.dtype.kind in "iu" else None
    out = np.zeros((x.shape[0] // batch_groups, w.shape[0], *sizes), dtype or x.dtype)
    per_group, examples = w.shape[0] // (groups * batch_groups), x.shape[0] // batch_groups
    for o in range(w.shape[0]):
        group = o // per_group
        features = slice(group * w.shape[1], (group + 1) * w.shape[1]) if groups > 1 else slice(None)
        rows = slice(group * examples, (group + 1) * examples) if batch_groups > 1 else slice(None)
        for place in np.ndindex(*sizes):
            for offset in np.ndindex(*w.shape[2:]):
                at = [
                    divmod(p * s + k * d - lo, b)
                    for p, k, s, (lo, _), b, d in zip(place, offset, *per_dim, strict=True)
                ]
                if all(r == 0 and 0 <= q < n for (q, r), n in zip(at, x.shape[2:], strict=True)):
                    seen = x[(rows, features, *[q for q, _ in at])]
                    out[(slice(None), o, *place)] += seen.astype(out.dtype) @ w[
                        (o, slice(None), *offset)
                    ].astype(out.dtype)
    return out.transpose(np.argsort(numbers.out_spec))


CHANNELS_FIRST = {n: ConvDimensionNumbers(*[tuple(range(n))] * 3) for n in (2, 3, 4)}
CHANNELS_LAST = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
MIXED = ConvDimensionNumbers((2, 0, 1), (2, 1, 0), (1, 2, 0))


def row(
    note, lhs, rhs, *, numbers=None, strides=None, padding=None, base=None, dilation=None, groups=1,
    batch_groups=1, preferred=None, dtypes=("float32",), orders=1,
):  # fmt: skip
    n = len(lhs) - 2
    params = {
        "window_strides": strides or (1,) * n, "padding": padding or ((0, 0),) * n,
        "lhs_dilation": base or (1,) * n, "rhs_dilation": dilation or (1,) * n,
        "dimension_numbers": numbers or CHANNELS_FIRST[len(lhs)], "feature_group_count": groups,
        "batch_group_count": batch_groups, "precision": None,
        "preferred_element_type": None if preferred is None else np.dtype(preferred),
    }  # fmt: skip
    return Row(
        conv_general_dilated, lambda x, w: convolved(x, w, params), (some(*lhs), some(*rhs)), dtypes,
        params, note, orders, loose=8.0,
        apart={} if preferred is None else {"bilinear": "sums are rounded to another dtype"},
    )  # fmt: skip


EVERYTHING = {"strides": (2,), "padding": ((2, -1),), "base": (2,), "dilation": (2,)}

ROWS = [
    row("image", (2, 4, 3, 2), (2, 2, 2, 3), numbers=CHANNELS_LAST, strides=(2, 1), padding=((0, 1), (1, 0)),
        dtypes=("float32", "float16", "bfloat16", "complex64", "int32", "uint8"), orders=2),
    row("everything", (2, 6, 2), (2, 2, 3), numbers=MIXED, **EVERYTHING, orders=2),
    row("feature groups", (2, 4, 5), (6, 2, 2), groups=2, padding=((1, 0),)),
    row("feature groups, everything", (2, 4, 6), (2, 2, 2), groups=2, **EVERYTHING),
    row("batch groups", (4, 2, 6), (4, 2, 2), batch_groups=2, **EVERYTHING),
    row("points", (2, 3, 4, 2), (1, 1, 2, 3), numbers=CHANNELS_LAST, strides=(1, 2),
        padding=((0, 1), (-1, 0)),
        orders=2),
    row("points, features first", (2, 3, 5), (4, 3, 1), base=(2,)),
    row("no places", (2, 3), (4, 3)),
    row("counts", (1, 2, 4), (2, 2, 2), preferred="int32", dtypes=("uint8",), orders=0),
]  # fmt: skip

__all__ = ["ROWS"]
