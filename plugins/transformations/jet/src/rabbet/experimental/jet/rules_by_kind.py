"""Rules for kinds: what is linear acts on each coefficient, a product is a convolution of coefficients."""

from rabbet import lax
from rabbet.experimental.jet.interpreter import Taylor, order_of, rules, terms_of
from rabbet.extend.transform import typeof


@rules.kind("structural", "linear")
def on_each(op, *operands):
    """Linear in all operands together: ``y_k = f(x_k)``."""
    order = order_of(operands)
    out = op(*[x.primal for x in operands])
    columns = zip(*[terms_of(x, order) for x in operands], strict=True)
    return Taylor(out, tuple([op(*column) for column in columns]))


@rules.kind("bilinear")
def convolution(op, x, y):
    """``z_k = sum over i + j = k of f(x_i, y_j)``."""
    out = op(x.primal, y.primal)
    if not y.terms:
        return Taylor(out, tuple([op(a, y.primal) for a in x.terms]))
    if not x.terms:
        return Taylor(out, tuple([op(x.primal, b) for b in y.terms]))
    xs, ys = [x.primal, *x.terms], [y.primal, *y.terms]
    return Taylor(out, tuple([convolved(op, xs, ys, k) for k in range(1, len(xs))]))


def convolved(op, xs, ys, k, first=0):
    """``sum of op(xs[i], ys[k - i])`` for ``i`` from ``first`` to ``k``; ``ys`` may lack what is not used."""
    return total([op(xs[i], ys[k - i]) for i in range(first, k + 1)])


@rules.primitive(lax.square)
def square(op, x):
    return convolution(lax.mul, x, x)


def total(parts):
    """The sum of one array or several."""
    out, *others = parts
    for part in others:
        out = lax.add(out, part)
    return out


@rules.primitive(lax.add)
def add(op, x, y):
    out = op(x.primal, y.primal)
    if x.terms and y.terms:
        return Taylor(out, tuple([op(a, b) for a, b in zip(x.terms, y.terms, strict=True)]))
    return Taylor(out, spread(x.terms or y.terms, out))


@rules.primitive(lax.sub)
def sub(op, x, y):
    out = op(x.primal, y.primal)
    if x.terms and y.terms:
        return Taylor(out, tuple([op(a, b) for a, b in zip(x.terms, y.terms, strict=True)]))
    return Taylor(out, spread(x.terms or [lax.neg(b) for b in y.terms], out))


def spread(terms, out):
    """Coefficients in the shape of the result, where a scalar stood beside an array."""
    shape = typeof(out).shape
    return tuple([a if typeof(a).shape == shape else lax.broadcast(a, shape) for a in terms])
