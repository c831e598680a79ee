"""Rules that the author of a primitive wrote: a factor in each derivative tells it from that of expand."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.extend.primitive import Zero
from rabbet_jax import hijax_rules
from rabbet_jax.overlay.experimental import hijax
from rabbet_jax.overlay.experimental.hijax import HiPrim

X = np.float32(3)
MAPPED = rnp.arange(3.0)


class Square(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x):
        return x * x


class Forward(Square):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp
    lin, linearized = hijax.linearize_from_jvp

    def jvp(self, primals, tangents):
        return self(*primals), 7 * primals[0] * tangents[0]


class Linear(Square):
    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin

    def lin(self, nonzero, x):
        return self(x), (x,)

    def linearized(self, residuals, tangent):
        return 5 * residuals[0] * tangent


class Backward(Square):
    def vjp_fwd(self, nonzero, x):
        return self(x), (x,)

    def vjp_bwd(self, residuals, ct, accumulator):
        accumulator.accum(6 * residuals[0] * ct)
        accumulator.accum(5 * residuals[0] * ct)
        accumulator.accum(Zero(rb.typeof(X)))


class Mapped(Forward):
    told: list = []

    def batch(self, axis_data, args, dims):
        self.told.append((axis_data.size, dims, args[0].shape))
        return hijax.vmap_rule(axis_data, lambda x: x * x + 100, dims, 0)(*args), 0


def function(kind):
    return lambda x: kind(rb.typeof(x))(x)


@pytest.mark.parametrize("kind, factor", [(Square, 2), (Forward, 7), (Linear, 5), (Backward, 11)])
def test_derivatives(kind, factor):
    f = function(kind)
    assert float(f(X)) == 9 == float(rb.jit(f)(X))
    assert float(rb.grad(f)(X)) == 3 * factor == float(rb.jit(rb.grad(f))(X))
    assert float(rb.grad(rb.checkpoint(f))(X)) == 3 * factor
    if kind is not Backward:
        assert float(rb.jvp(f, (X,), (X,))[1]) == 9 * factor == float(rb.linearize(f, X)[1](X))
    np.testing.assert_array_equal(rb.vmap(rb.grad(f))(MAPPED), MAPPED * factor)


def test_the_rule_for_vmap():
    Mapped.told.clear()
    f = function(Mapped)
    np.testing.assert_array_equal(rb.vmap(f)(MAPPED), MAPPED**2 + 100)
    np.testing.assert_array_equal(rb.jit(rb.vmap(f, 1, 1))(rnp.ones((2, 3)))[1], np.full(3, 101.0))
    assert Mapped.told == [(3, (0,), (3,)), (3, (1,), (2, 3))]
    np.testing.assert_array_equal(rb.lax.scan(lambda c, _: (f(c), None), X, None, length=2)[0], 81)


@pytest.mark.forbidden("enable_x64")
def test_helpers():
    data = hijax_rules.AxisData(None, 3, None)
    x, y = hijax.bdims_at_front(data, (rnp.ones((2, 3)), rnp.ones(2)), (1, None))
    assert x.shape == y.shape == (3, 2)
    one, other = hijax.unmap_avals(data, (rb.typeof(np.ones((2, 4), "f4")), rb.typeof(X)), (1, None))
    assert one.shape == (2, 3, 4) and other.shape == ()
    total = rb.new_ref(rnp.array(1.0))
    kept = hijax.RefAccum(rb.typeof(X), total)
    kept.accum(X)
    assert float(total[...]) == 4 == float(kept.freeze())
    empty = hijax.NullAccum(rb.typeof(X))
    empty.accum(X)
    assert type(empty.freeze()) is Zero and not hijax.is_undefined_primal(X)
    with pytest.raises(NotImplementedError, match="sum_match is not offered"):
        hijax.vmap_rule(data, rnp.sin, 0, 0, sum_match=True)


class First(hijax.HiPrimitive):
    eager: list = []

    def impl(self, x, *, times):
        self.eager.append(times)
        return times * x

    def to_lojax(self, x, *, times):
        return times * x


class FirstWithRule(First):
    def jvp(self, primals, tangents, *, times):
        return self.bind(*primals, times=times), 7 * times * tangents[0]


def test_primitives_of_the_first_form():
    First.eager.clear()
    assert First("first").bind(X, times=2) == 6
    assert rb.jit(lambda x: First("first").bind(x, times=2))(X) == 6
    assert rb.grad(lambda x: First("first").bind(x, times=2))(X) == 2
    assert First.eager == [2]
    ruled = lambda x: FirstWithRule("ruled").bind(x, times=2)
    assert rb.grad(ruled)(X) == 14
    assert rb.jit(rb.grad(lambda x: ruled(x) * x))(X) == 14 * X + 6
    assert rb.vmap(rb.grad(ruled))(MAPPED).tolist() == [14, 14, 14]
    with pytest.raises(NotImplementedError, match="HiPrimitive does not say what it computes: it lacks impl"):
        hijax.HiPrimitive("nothing").bind(X)
