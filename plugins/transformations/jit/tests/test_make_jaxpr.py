"""Programs as text, and shapes without computing."""

import collections

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import check


@pytest.mark.narrow
def test_two_equations():
    def f(u, v):
        w = u + v
        return w**2

    assert str(rb.make_jaxpr(f)(1, 2)) == (
        "{ lambda ; a:i32[] b:i32[]. let\n"
        "    c:i32[] = add a b\n"
        "    d:i32[] = integer_pow[y=2] c\n"
        "  in (d,) }"
    )


@pytest.mark.narrow
def test_numbers_stand_in_the_text():
    assert str(rb.make_jaxpr(lambda x: x * 2)(1.0)) == (
        "{ lambda ; a:f32[]. let\n    b:f32[] = mul a 2.0:f32[]\n  in (b,) }"
    )


@pytest.mark.narrow
def test_captured_arrays_come_first():
    held = rb.device_put(np.ones(3, "f4"))
    assert str(rb.make_jaxpr(lambda x: x + held)(1.0)).startswith("{ lambda a:f32[3]; b:f32[]. let")


@pytest.mark.narrow
def test_several_outputs_and_none():
    assert str(rb.make_jaxpr(lambda x: (x, 1, None))(2)) == "{ lambda ; a:i32[]. let\n  in (a, 1:i32[]) }"
    assert str(rb.make_jaxpr(lambda: ())()) == "{ lambda ; . let\n  in () }"


@pytest.mark.forbidden("disable_jit")
def test_a_call_shows_its_body():
    inner = rb.jit(lambda x: x + 1)
    text = str(rb.make_jaxpr(lambda x: inner(x) * 2)(1.0))
    assert "jit[" in text and "name=<lambda>" in text
    assert text.index("add") < text.index("mul")


@pytest.mark.narrow
def test_the_parts():
    closed = rb.make_jaxpr(lambda x: lax.sin(lax.cos(x)))(1.0)
    check(closed)
    assert [e.primitive.name for e in closed.eqns] == ["cos", "sin"]
    assert closed.eqns[0].outvars == closed.eqns[1].invars
    assert closed.out_avals[0].dtype == np.float32
    assert closed.jaxpr.invars[0].aval.weak_type
    assert closed.consts == []


def test_statics_and_shapes():
    closed, shape = rb.make_jaxpr(lambda x, n: {"y": x**n}, static_argnums=1, return_shape=True)(
        np.ones(3, "f4"), 3
    )
    assert "integer_pow[y=3]" in str(closed)
    assert shape == {"y": rb.ShapeDtypeStruct((3,), "f4")}


def test_it_may_be_called_inside_a_transformation():
    texts = []

    @rb.jit
    def f(x):
        texts.append(str(rb.make_jaxpr(lambda y: y + x)(1.0)))
        return x

    assert f(1.0) == 1.0
    assert "add" in texts[0]


# -------------------------------------------------------------------------------------------- eval_shape
def test_eval_shape_of_types():
    spec = rb.ShapeDtypeStruct((10**6, 10**6), "float32")
    out = rb.eval_shape(lambda x, y: {"s": lax.reduce_sum(x, axes=(1,)) + y, "n": None}, spec, 2.0)
    assert out == {"s": rb.ShapeDtypeStruct((10**6,), "float32"), "n": None}


@pytest.mark.narrow
def test_eval_shape_of_arrays_and_keywords():
    Pair = collections.namedtuple("Pair", "a b")
    out = rb.eval_shape(lambda p, *, scale: Pair(p.a * scale, p.b), Pair(np.ones((2, 3), "f4"), 1), scale=2)
    assert out == Pair(rb.ShapeDtypeStruct((2, 3), "f4"), rb.ShapeDtypeStruct((), "i4", weak_type=True))


def test_eval_shape_of_a_jitted_function():
    f = rb.jit(lambda x, n: x**n, static_argnums=1)
    assert rb.eval_shape(f, np.ones(2, "f4"), 2).shape == (2,)
    assert f.eval_shape(np.ones(2, "f4"), 2).shape == (2,)


def test_eval_shape_runs_nothing():
    seen = []
    rb.eval_shape(lambda x: seen.append(type(x).__name__) or x, np.ones(2))
    assert seen == ["Tracer"]


def test_eval_shape_of_what_cannot_be():
    with pytest.raises(TypeError, match=r"f32\[2\].*f32\[3\]|\(2,\).*\(3,\)"):
        rb.eval_shape(lax.add, np.ones(2, "f4"), np.ones(3, "f4"))


def test_axes_that_the_function_may_name():
    pytest.importorskip("rabbet_collectives", reason="lax.psum is in the package rabbet-collectives")
    program = rb.make_jaxpr(lambda x: rb.lax.psum(x, "i"), axis_env=[("i", 3)])(1.0)
    assert [(e.op.primitive.name, e.op.params["size"]) for e in program.eqns] == [("psum", 3)]
