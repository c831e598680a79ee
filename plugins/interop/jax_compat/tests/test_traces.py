"""Transformations that a library writes as subclasses of ``jax.core.Trace`` and ``jax.core.Tracer``."""

import numpy as np
import pytest
import rabbet as jax
import rabbet.numpy as jnp
from rabbet.extend import transform
from rabbet_jax.overlay import core
from rabbet_jax.overlay.extend import core as jex


class CountedTracer(core.Tracer):
    def __init__(self, trace, val, count):
        super().__init__(trace, jax.typeof(val))
        self.val, self.count = val, count


class CountingTrace(core.Trace):
    """Counts the operations on the way to each value."""

    def __init__(self, parent_trace, tag):
        super().__init__()
        self.parent_trace, self.tag = parent_trace, tag

    def parts(self, x):
        if isinstance(x, CountedTracer) and x._trace.tag is self.tag:
            return x.val, x.count
        return x, 0

    def process_primitive(self, primitive, tracers, params):
        values, counts = zip(*map(self.parts, tracers))
        avals = [jax.typeof(v) for v in values]
        outs = primitive.bind_with_trace(self.parent_trace, values, avals, params)
        return jax.tree.map(lambda out: CountedTracer(self, out, max(counts) + 1), outs)


def counted(f, *args):
    with jex.take_current_trace() as parent:
        trace = CountingTrace(parent, jex.TraceTag())
        with jex.set_current_trace(trace):
            out = f(*[CountedTracer(trace, x, 0) for x in args])
    assert type(out) is transform.Tracer
    assert isinstance(out, CountedTracer) and isinstance(out, core.Tracer)
    return trace.parts(out)


def program(x, y):
    return jnp.sin(x * y).sum() + 1.0


X = np.linspace(0, 1, 3, dtype=np.float32)


def test_a_library_s_trace_sees_every_operation():
    value, count = counted(program, X, X)
    assert count == 4
    np.testing.assert_allclose(value, np.sin(X * X).sum() + 1, rtol=1e-6)


def test_within_other_transformations_and_around_them():
    value = jax.jit(lambda x: counted(program, x, x)[0])(X)
    np.testing.assert_allclose(value, np.sin(X * X).sum() + 1, rtol=1e-6)
    slope, _ = counted(lambda x: jax.grad(lambda x: jnp.sin(x).sum())(x), X)
    np.testing.assert_allclose(slope, np.cos(X), rtol=1e-6)
    value, count = counted(jax.jit(program), X, X)
    np.testing.assert_allclose(value, np.sin(X * X).sum() + 1, rtol=1e-6)
    assert count >= 1


def test_who_is_whose():
    seen = []
    classes = core.Tracer, CountedTracer
    jax.jit(lambda x: seen.append(tuple(isinstance(x, c) for c in classes)) or x)(1.0)
    assert seen == [(True, False)]
    assert issubclass(transform.Tracer, core.Tracer) and issubclass(CountedTracer, core.Tracer)
    assert not issubclass(transform.Tracer, CountedTracer) and not isinstance(1.0, core.Tracer)
    traces = []
    jax.jit(lambda x: traces.append(x._trace) or x)(2)
    assert isinstance(traces[0], core.Trace) and not isinstance(traces[0], CountingTrace)


def test_attributes_that_a_tracer_has_not():
    def f(x):
        with pytest.raises(AttributeError, match="'Tracer' object has no attribute 'count'"):
            print(x.count)
        return x

    jax.jit(f)(1.0)


def test_equations_know_their_scopes_and_bodies_are_closed():
    def f(x):
        with jax.named_scope("a"), jax.named_scope("b"):
            y = jnp.sin(x)
        return jax.lax.scan(lambda c, _: (c * y, None), x, None, length=2)[0]

    jaxpr = jax.make_jaxpr(f)(1.0).jaxpr
    assert [str(eqn.source_info.name_stack) for eqn in jaxpr.eqns] == ["a/b", ""]
    body = jaxpr.eqns[1].params["jaxpr"]
    assert body.jaxpr.eqns and list(body.consts) == []


def test_what_quax_reads_of_a_trace():
    from rabbet_jax.overlay._src import core as private

    with private.take_current_trace() as parent:
        trace = CountingTrace(parent, private.TraceTag())
        with private.set_current_trace(trace):
            out = jnp.sin(CountedTracer(trace, X, 0))
    assert trace.full_raise(out) is out and trace.full_raise(1.0) == 1.0 and out.count == 1


def test_an_array_is_made_of_itself():
    aval = jax.typeof(jnp.ones(3))
    assert aval.lo_ty() == [aval] and aval.lower_val(7) == [7] and aval.raise_val(7) == 7


def test_words_are_given_once_and_replace_nothing():
    from rabbet.extend.primitive import Primitive
    from rabbet.extend.wrapping import second_names
    from rabbet_jax.second_names import bind, take_second_names

    take_second_names()
    assert Primitive.bind is Primitive.impl is bind
    with pytest.raises(ValueError, match="has a 'op' itself"):
        second_names(Primitive, {"op": bind})
