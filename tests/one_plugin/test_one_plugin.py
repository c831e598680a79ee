"""Core, the CPU and one plugin with what it declares: a hidden dependency shows as a red line."""

import importlib.metadata
import os

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

PLUGIN = os.environ.get("RABBET_ONE_PLUGIN", "")
DECLARED = {"autodiff": {"rabbet-vmap"}, "nn": {"rabbet-numpy"}}

only = lambda name: pytest.mark.skipif(name != PLUGIN, reason=f"this environment is about {PLUGIN}")


def test_nothing_else_is_installed():
    ours = {d.name for d in importlib.metadata.distributions() if d.name.startswith("rabbet")}
    assert ours == {"rabbet-core", "rabbet-pjrt-cpu", f"rabbet-{PLUGIN}"} | DECLARED.get(PLUGIN, set())


@only("jit")
def test_jit():
    assert float(rb.jit(lambda x: lax.mul(x, x))(3.0)) == 9.0
    assert "mul a a" in str(rb.make_jaxpr(lambda x: lax.mul(x, x))(3.0))


@only("vmap")
def test_vmap():
    xs = np.arange(4, dtype=np.float32)
    assert rb.vmap(lambda x: lax.mul(x, x))(xs).tolist() == [0, 1, 4, 9]


@only("autodiff")
def test_autodiff():
    cube = lambda x: lax.mul(x, lax.mul(x, x))
    assert float(rb.grad(cube)(2.0)) == 12.0
    assert float(rb.grad(rb.grad(cube))(2.0)) == 12.0
    assert [float(x) for x in rb.jvp(cube, (2.0,), (1.0,))] == [8.0, 12.0]


@only("numpy")
def test_numpy():
    import rabbet.numpy as rnp

    assert rb.numpy is rnp
    assert rnp.sum(rnp.arange(4) * 2).tolist() == 12


@only("nn")
def test_nn():
    assert rb.nn.relu(np.float32([-1, 2])).tolist() == [0, 2]
    assert abs(float(rb.nn.softmax(np.float32([0, 1])).sum()) - 1) < 1e-6


@only("random")
def test_random():
    key = rb.random.key(0)
    assert rb.random.uniform(key, (3,)).tolist() == rb.random.uniform(key, (3,)).tolist()


@only("bfloat16")
def test_bfloat16():
    x = lax.convert_element_type(np.float32([1.00390625, 2.0]), "bfloat16")
    assert str(x.dtype) == "bfloat16"
    assert np.asarray(lax.convert_element_type(lax.add(x, x), np.float32)).tolist() == [2.0, 4.0]


@only("jet")
def test_jet():
    from rabbet.experimental.jet import jet

    value, terms = jet(lambda x: lax.mul(x, lax.sin(x)), (0.0,), ([1.0, 0.0],))
    assert [float(x) for x in (value, *terms)] == [0.0, 0.0, 2.0]


@only("progress")
def test_progress_is_silent_where_there_is_no_terminal(capfd):
    assert lax.add(1.0, 2.0).tolist() == 3.0
    assert capfd.readouterr().err == ""
