"""TensorFlow loads the SavedModels that Rabbet writes, and computes the same."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import export, lax

pytest.importorskip("tensorflow", reason="needs TensorFlow: the environment `savedmodel` has it")
LOAD = Path(__file__).with_name("load.py")
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def by_tensorflow(folder, signature="serving_default", **arrays):
    """What TensorFlow computes, in a process without Rabbet: a dict of arrays."""
    given, out = folder / "given.npz", folder / "out.npz"
    np.savez(given, **arrays)
    command = [sys.executable, LOAD, folder, signature, given, out]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return dict(np.load(out))


def conv(x):
    kernel = rnp.linspace(-1, 1, 18).reshape(3, 3, 1, 2)
    x = x.reshape(1, 3, 4, 1)
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def looped(x):
    counted = lax.while_loop(lambda n: n < 9, lambda n: n + 4, 0)
    return lax.scan(lambda c, row: (rnp.tanh(c + row), c), x[0], x), counted


def mixed(x):
    return {"sum": x.sum(), "best": rnp.argmax(x, 1), "ok": x > 0, "half": x.astype("float16"), "z": x + 1j}


def sliced(x):
    return rnp.sort(x, axis=0), x.at[1].set(0)[::2], rb.grad(lambda x: (x**3).sum())(x), rnp.fft.rfft(x[0])


def random(x):
    return rb.random.normal(rb.random.key(3), x.shape) + x


@pytest.mark.parametrize("f", [conv, looped, mixed, sliced, random])
def test_programs(f, tmp_path):
    folder = export.write_saved_model(export.export(rb.jit(f))(X), tmp_path / "model", input_names=["x"])
    found = by_tensorflow(folder, x=X)
    wanted = rb.tree.leaves(f(rnp.asarray(X)))
    for name, value in zip(sorted(found), wanted, strict=True):  # the leaves of a dict are in that order, too
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)


def test_any_batch_and_any_platform_in_one_of_two_signatures(tmp_path):
    (batch,) = export.symbolic_shape("batch")
    w = rnp.linspace(0, 1, 8).reshape(4, 2)

    def score(params, x):
        return {"y": rnp.tanh(x @ w) * params["scale"] / x.shape[0], "n": x.shape[0] + rnp.zeros((), int)}

    types = {"scale": rb.ShapeDtypeStruct((), "float32")}, rb.ShapeDtypeStruct((batch, 4), "float32")
    several = export.export(rb.jit(score), platforms=("cpu", "cuda"))(*types)
    one = export.export(rb.jit(lambda x: x + 1))(X)
    folder = export.write_saved_model({"score": several, "next": one}, tmp_path / "model")
    for count in (1, 3):
        found = by_tensorflow(folder, "score", args_0_scale=np.float32(2), args_1=X[:count])
        np.testing.assert_allclose(found["output_y"], np.tanh(X[:count] @ w) * 2 / count, rtol=1e-5)
        assert found["output_n"] == count
    np.testing.assert_allclose(by_tensorflow(folder, "next", args_0=X)["output"], X + 1)


def test_arguments_that_the_program_does_not_use(tmp_path):
    program = export.export(rb.jit(lambda x, unused: x * 2))(X, np.int32(1))
    folder = export.write_saved_model(program, tmp_path / "model")
    np.testing.assert_allclose(by_tensorflow(folder, args_0=X, args_1=np.int32(1))["output"], 2 * X)
