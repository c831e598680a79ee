"""The tour, continued: reverse mode, and a transformation that nothing knows of.

Read [tour.py](tour.py) before, and run this: `python docs/tour_of_gradients.py`. Here is no new idea.
What stands there is enough for `grad`, which is a table and an interpreter more, and for what a
stranger adds in a package of its own. So both are written in a file of their own.
"""

from typing import Any, NamedTuple

import numpy as np
from tour import (
    Dual,
    Forward,
    Interpreter,
    RuleTable,
    Staging,
    Tracer,
    Var,
    add,
    added,
    broadcast_in_dim,
    f,
    jit,
    lower,
    make_jaxpr,
    mul,
    neg,
    reduce_sum,
    scalar,
    second,
    sin,
    speaking_to,
    typeof,
    vmap,
    xs,
    zeros_like,
)

# 9. Reverse mode: forward mode over a recorder, and a transposition. ==============================
# The tangents of forward mode are computed by linear operations. Let a recorder take their place:
# what touches a tangent is written down, everything else runs at once, so that Python can branch on
# values. Then walk what was written down backwards: each linear operation hands its cotangent on to
# its operands.
# The real one: recorder.py in plugins/transformations/autodiff/src/rabbet_autodiff/, and
# primitives/transposition.py.

class Recorder(Staging):
    """Records what touches a linear value; the rest goes to the parent."""
    def process(self, op, args):
        if any(map(self.is_mine, args)):
            return super().process(op, args)
        with speaking_to(self.parent):
            return op(*args)

# (op, cotangent, *operands) -> a cotangent, or None, for each operand
transpose_rules = RuleTable("transpose")

is_linear = lambda x: isinstance(x, Var)

transpose_rules.rule(add)(lambda op, ct, *xs: [ct if is_linear(x) else None for x in xs])
transpose_rules.rule(neg)(lambda op, ct, x: [neg(ct)])
transpose_rules.rule(mul)(lambda op, ct, x, y: (mul(ct, y), None) if is_linear(x) else (None, mul(x, ct)))

@transpose_rules.rule(reduce_sum)
def transpose_reduce_sum(op, ct, x):
    kept = tuple([i for i in range(len(x.aval.shape)) if i not in op.params["axes"]])
    return (broadcast_in_dim(ct, shape=x.aval.shape, dimensions=kept),)

@transpose_rules.rule(broadcast_in_dim)
def transpose_broadcast(op, ct, x):
    added_axes = [d for d in range(len(op.params["shape"])) if d not in op.params["dimensions"]]
    return (reduce_sum(ct, axes=tuple(added_axes)),)

def vjp(f, *primals):
    """The value of `f`, and a function from a cotangent of it to those of its arguments."""
    recorder = Recorder()
    linear = [Var(typeof(x)) for x in primals]
    with speaking_to(recorder):
        duals = [Dual(x, Tracer(recorder, v, v.aval)) for x, v in zip(primals, linear, strict=True)]
        out = Forward().run(f, *duals)

    def backward(ct):
        cotangents = {} if out.tangent is None else {out.tangent.payload: ct}
        for op, inputs, output in reversed(recorder.equations):
            if output in cotangents:
                parts = transpose_rules.find(op.primitive)(op, cotangents.pop(output), *inputs)
                for v, part in zip(inputs, parts, strict=True):
                    if part is not None:
                        cotangents[v] = added(cotangents.get(v), part)
        return [cotangents.get(v, zeros_like(x)) for v, x in zip(linear, primals, strict=True)]

    return out.primal, backward

def grad(f):
    """The gradient of a scalar function with respect to its first argument."""

    def gradient(*args):
        out, backward = vjp(f, *args)
        if typeof(out).shape != ():
            raise TypeError(f"grad needs a scalar function; this one returned {typeof(out)}")
        return backward(np.ones((), typeof(out).dtype))[0]

    return gradient

loss = lambda w, x: reduce_sum(sin(w * x), axes=(0,))
w = np.array([1.0, 2.0, 3.0], "float32")
assert np.allclose(grad(loss)(w, xs[1:]), np.cos(w * xs[1:]) * xs[1:])
assert np.allclose(jit(grad(loss))(w, xs[1:]), grad(loss)(w, xs[1:]))  # transformations compose in any order
assert np.allclose(grad(grad(f))(2.0), second)
assert np.allclose(vmap(grad(f))(xs), np.cos(xs) * xs + np.sin(xs))
slopes = jit(vmap(grad(lambda x: loss(w, x * w))))(np.ones((2, 3), "float32"))
assert np.allclose(slopes[1], np.cos(w * w) * w * w)

# 10. A stranger's transformation: nothing above knows of it. ======================================
# This one carries an interval in which each value is known to lie. It is a payload, a table and an
# interpreter, as all others are. `Found by entry point` is no more than this: the package's metadata
# names an object, and `rb.NAME` loads it when it is first asked for. So an installed package is
# found, and nothing is imported that nobody uses.
# The real one: plugins/ (finding and checking packages), docs/extend.md,
# examples/third_party/rabbet-enclose.

class Interval(NamedTuple):
    low: Any
    high: Any

bound_rules = RuleTable("bound")

bound_rules.rule(add)(lambda op, x, y: Interval(add(x.low, y.low), add(x.high, y.high)))
bound_rules.rule(neg)(lambda op, x: Interval(neg(x.high), neg(x.low)))

class Bounding(Interpreter):
    table = bound_rules
    lift = lambda self, x: Interval(x, x)
    type_of = lambda self, interval: typeof(interval.low)

def bound(f):
    return lambda *intervals: Bounding().run(f, *[Interval(*pair) for pair in intervals])

def public_name(name):
    """What `rb.NAME` does where core has no such name: ask the packages that are installed."""
    from importlib.metadata import entry_points
    for point in entry_points(group="tiny_rabbet.api", name=name):
        return point.load()
    raise AttributeError(f"no installed package offers {name!r}: pip install rabbet-{name}")

assert bound(lambda x: -x + 1.0)((0.0, 2.0)) == (-1.0, 1.0)
try:
    bound(sin)((0.0, 2.0))
except LookupError as error:
    assert str(error) == "no 'bound' rule for primitive 'sin' (kinds: elementwise)"
try:
    public_name("enclose")
except AttributeError as error:
    assert "pip install rabbet-enclose" in str(error)

# ==================================================================================================
# What the real one has besides, and where:
# - programs within programs (loops, branches, calls) and one way through them for all: trace/bodies.py
# - several results, pytrees, static arguments, effects with an order: program/effects.py, tree/
# - functions with rules of their own: plugins/language/custom_rules
# - passes between tracing and lowering: passes/, plugins/transformations/passes
# - devices, shardings, processes: runtime/platforms, plugins/scale
# - dtypes that NumPy does not have: plugins/dtypes
# - errors that say who, where and what next: messages/, errors/
# - the finding, checking and loading of packages: plugins/ in core
# ARCHITECTURE.md has the tree, docs/design.md the reasons.

if __name__ == "__main__":
    print(make_jaxpr(grad(loss), typeof(w), typeof(w)))
    print(lower(make_jaxpr(grad(f), scalar)))
    print("all of the tour holds")
