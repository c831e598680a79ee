"""``rabbet.experimental.xla_metadata``: attributes on operations, seen in the program's text and in HLO."""

import pytest
import rabbet as rb
from rabbet import lax
from rabbet.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
)


def lines_of(function, *args):
    text = rb.jit(function).lower(*args).as_text()
    return [line for line in text.splitlines() if "stablehlo." in line or "func.call" in line]


def test_a_block():
    def f(x):
        with set_xla_metadata(a="1", b=True, c=2.5):
            y = lax.sin(x)
        return lax.tanh(y)

    sine, tangent = lines_of(f, 1.0)
    assert '{a = "1", b = "true", c = "2.5"}' in sine and "attributes" not in tangent
    assert 'frontend_attributes={a="1",b="true",c="2.5"}' in rb.jit(f).lower(1.0).as_text("hlo")


def test_a_decorator():
    @set_xla_metadata(a="1")
    def f(x):
        return lax.sin(x)

    assert 'a = "1"' in lines_of(f, 1.0)[0] and 'a = "1"' in lines_of(f, 2.0)[0]


@pytest.mark.forbidden("disable_jit")
def test_a_jitted_function_has_programs_of_its_own_within():
    f = rb.jit(lambda x: lax.sin(x))
    assert "attributes" not in f.lower(1.0).as_text()
    f(1.0)
    with set_xla_metadata(a="1"):
        assert 'a = "1"' in f.lower(1.0).as_text()
        assert float(f(1.0)) == float(lax.sin(1.0))
    f(1.0)
    assert f.cache_size() == 2


def test_the_operation_that_made_a_value():
    def f(x):
        y = set_xla_metadata({"y": lax.sin(x)}, k="v")["y"]
        return lax.cos(set_xla_metadata(x, k="v")) + y

    marked = [line for line in lines_of(f, 1.0) if "attributes" in line]
    assert len(marked) == 1 and ".sine" in marked[0]
    assert float(f(0.5)) == float(rb.jit(f)(0.5))
    looped = rb.jit(lambda x: set_xla_metadata(lax.fori_loop(0, 3, lambda i, y: y * 2, x), k="v"))
    assert float(looped(1.0)) == 8.0


@pytest.mark.forbidden("disable_jit")
def test_a_call():
    @xla_metadata_call(block="3")
    def layer(x, scale=2.0):
        """The layer."""
        return lax.tanh(x) * scale

    assert layer.__name__ == "layer" and layer.__doc__ == "The layer."
    assert float(layer(0.5, scale=3.0)) == pytest.approx(3 * float(lax.tanh(0.5)))
    (call,) = [line for line in lines_of(lambda x: layer(x) + 1, 1.0) if "call" in line]
    assert 'block = "3"' in call


@pytest.mark.forbidden("disable_jit")
def test_must_fuse_and_fuse_limit():
    def f(x):
        with fuse_limit():
            y = lax.sin(x)
        return must_fuse_call("1")(lambda z: lax.cos(z) * 2)(y)

    lines = lines_of(f, 1.0)
    assert 'FUSE_LIMIT = "true"' in next(line for line in lines if ".sine" in line)
    assert 'MUST_FUSE = "1"' in next(line for line in lines if "call" in line)
    assert float(rb.jit(f)(1.0)) == pytest.approx(float(f(1.0)))


def test_derivatives_and_vmap():
    pytest.importorskip("rabbet_autodiff")
    pytest.importorskip("rabbet_vmap")

    def f(x):
        with set_xla_metadata(a="1"):
            y = lax.sin(x)
        return set_xla_metadata(y, k="v") * 2

    value = rb.jit(rb.grad(f))(0.5)
    assert float(value) == pytest.approx(2 * float(lax.cos(0.5)))
    lines = lines_of(rb.vmap(rb.grad(f)), lax.full((3,), 0.5))
    assert 'a = "1"' in next(line for line in lines if "cosine" in line)


def test_messages():
    with pytest.raises(TypeError, match="takes attributes by name"):
        set_xla_metadata()
    with pytest.raises(TypeError, match="a is a str, a bool or a number, got list"):
        set_xla_metadata(a=[1])


def test_scopes_names_stay_in_positions():
    def f(x):
        with rb.named_scope("layer"), set_xla_metadata(a="1"):
            return lax.sin(x)

    text = rb.jit(f).lower(1.0).as_text(debug_info=True)
    assert 'loc("jit(f)/layer/sin"(' in text and 'a = "1"' in text
