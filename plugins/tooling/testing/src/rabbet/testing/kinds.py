"""The laws of the kinds.

A false kind corrupts every transformation that trusts it, so each declaration is tried on samples.
"""

import numpy as np

from rabbet import dtypes
from rabbet.extend.passes import bodies_of
from rabbet.testing.draws import device_array
from rabbet.testing.laws import LawError


def _sampled(row, seed, dtype=None):
    """The operation on NumPy arrays and a sample of them, in float64 if the row has floats."""
    if dtype is None:
        dtype = "float64" if "float32" in row.dtypes else row.main_dtype()
    fn = row.function(dtype)

    def on_host(*arrays):
        (out, *_) = fn(*[device_array(a) for a in arrays])
        return np.asarray(out)

    return on_host, [finite(a) for a in row.draw(dtype, seed)]


def finite(array):
    """Numbers alone: laws of order and of sums say nothing about NaN and infinities."""
    if dtypes.kind(array.dtype) not in "fc":
        return array
    return np.nan_to_num(array, nan=0.5, posinf=10.0, neginf=-10.0).astype(array.dtype)


def _require(holds, row, kind, what):
    if not np.all(holds):
        raise LawError(f"{row.name} declares the kind {kind!r}, but {what}")


def _moves(array):
    return dtypes.kind(array.dtype) in "iuf"


def increasing(row, seed):
    """Larger operands give results that are not smaller."""
    _monotone(row, seed, "increasing", 1)


def decreasing(row, seed):
    """Larger operands give results that are not larger."""
    _monotone(row, seed, "decreasing", -1)


def _monotone(row, seed, kind, sign):
    fn, low = _sampled(row, seed)
    _, high = _sampled(row, seed + 1)
    pairs = [
        (np.minimum(a, b), np.maximum(a, b)) if _moves(a) else (a, a) for a, b in zip(low, high, strict=True)
    ]
    lower, upper = fn(*[a for a, _ in pairs]), fn(*[b for _, b in pairs])
    _require(sign * (upper - lower) >= -1e-12, row, kind, "larger operands moved a result the wrong way")


def elementwise(row, seed):
    """A result depends on the operands' elements at its place alone, so reordering them reorders it."""
    fn, arrays = _sampled(row, seed)
    full = max((a.shape for a in arrays), key=len)
    order = np.random.default_rng(seed).permutation(int(np.prod(full)))

    def mixed(a):
        return a.ravel()[order].reshape(a.shape) if a.shape == full else a

    before, after = fn(*[mixed(a) for a in arrays]), mixed(fn(*arrays))
    _require((before == after) | (before != before), row, "elementwise", "places influence each other")


def _combination(xs, ys, a=2.0, b=-0.5):
    return [a * x + b * y for x, y in zip(xs, ys, strict=True)]


def linear(row, seed):
    """``f(a x + b y) == a f(x) + b f(y)`` in all inexact operands together."""
    fn, xs = _sampled(row, seed)
    _, ys = _sampled(row, seed + 1)
    if not all(dtypes.kind(x.dtype) in "fc" for x in xs):
        return
    (wanted,) = _combination([fn(*xs)], [fn(*ys)])
    _require(
        np.abs(fn(*_combination(xs, ys)) - wanted) < 1e-9, row, "linear", "f(a x + b y) != a f(x) + b f(y)"
    )


def bilinear(row, seed):
    """Linear in each of two operands."""
    fn, xs = _sampled(row, seed)
    _, ys = _sampled(row, seed + 1)
    for side in (0, 1):

        def with_side(z, side=side):
            return fn(*[z if i == side else x for i, x in enumerate(xs)])

        (wanted,) = _combination([with_side(xs[side])], [with_side(ys[side])])
        (mixed,) = _combination([xs[side]], [ys[side]])
        _require(
            np.abs(with_side(mixed) - wanted) < 1e-9, row, "bilinear", f"it is not linear in operand {side}"
        )


def structural(row, seed):
    """Elements are copied, never looked at: mapping them before or after is the same."""
    fn, arrays = _sampled(row, seed)
    before = fn(*[np.exp(a) if dtypes.kind(a.dtype) in "fc" else a for a in arrays])
    _require(before == np.exp(fn(*arrays)), row, "structural", "it changes the values of elements")


def indexed(row, seed):
    """Elements of the operands that are no indices are copied, never looked at; or else a value that no
    operand has, which stands for what lies outside.
    """
    fn, arrays = _sampled(row, seed)
    at = range(len(arrays))[row.primitive.indices]
    data = [i for i in range(len(arrays)) if i not in at]
    if any(dtypes.kind(arrays[i].dtype) not in "fc" for i in data):
        return
    plain, mapped = fn(*arrays), fn(*[np.exp(a) if i in data else a for i, a in enumerate(arrays)])
    there = np.isin(plain, np.concatenate([arrays[i].ravel() for i in data]))
    outside = np.isnan(plain) if np.isnan(plain).any() else plain == mapped
    _require(
        np.where(there, mapped == np.exp(plain), outside), row, "indexed", "it changes the values of elements"
    )
    _require(
        all(dtypes.kind(arrays[i].dtype) in "iub" for i in at), row, "indexed", "its indices are not integers"
    )


def reduction(row, seed):
    """It has the parameter ``axes``, removes those dimensions, and treats the places of the others alike."""
    fn, (x,) = _sampled(row, seed)
    params = row.params(x.dtype) if callable(row.params) else row.params
    kept = [d for d in range(x.ndim) if d not in params["axes"]]
    out = fn(x)
    _require(
        out.shape == tuple(x.shape[d] for d in kept),
        row,
        "reduction",
        "it does not remove the dimensions in axes",
    )
    for place, d in enumerate(kept):
        turned = np.flip(fn(np.flip(x, d)), place)
        _require(
            np.isclose(turned, out), row, "reduction", f"places along dimension {d} influence each other"
        )


def body(row, seed):
    """It carries programs among its parameters."""
    dtype = dtypes.canonicalize(row.main_dtype())
    op = row.primitive.op(**(row.params(dtype) if callable(row.params) else row.params))
    _require(bool(bodies_of(op)), row, "body", "its parameters hold no program")


KIND_LAWS = {
    "increasing": increasing, "decreasing": decreasing, "elementwise": elementwise, "linear": linear,
    "bilinear": bilinear, "structural": structural, "indexed": indexed, "reduction": reduction, "body": body,
}  # fmt: skip

__all__ = ["KIND_LAWS"]
