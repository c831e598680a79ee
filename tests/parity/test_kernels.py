"""Kernels that JAX ships, from its own files: on Rabbet, and by JAX's interpreter."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")
PROGRAM = pathlib.Path(__file__).with_name("published_kernels.py")
NAMES = (
    "tpu_matmul tpu_flash tpu_splash tpu_megablox tpu_paged tpu_ragged tpu_example gpu_mha gpu_softmax "
    "gpu_layer_norm gpu_rms_norm gpu_decode_mqa gpu_decode_gqa gpu_paged"
).split()
# The same kernels with other dtypes, masks and block sizes.
MORE = "tpu_more_matmul tpu_more_flash tpu_more_splash tpu_more_megablox tpu_more_paged gpu_more".split()
CASES = [*NAMES, *[pytest.param(name, marks=pytest.mark.exhaustive) for name in MORE]]


@pytest.fixture(scope="module")
def results(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("kernels")
    here = [item for item in request.session.items if item.path == pathlib.Path(__file__)]
    names = [item.callspec.params["name"] for item in here]
    running = []
    for who, more in (("jax", ()), ("rabbet", ("--rabbet",))):
        command = [sys.executable, PROGRAM, folder / f"{who}.npz", *more, *names]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    return [np.load(folder / f"{who}.npz") for who in ("jax", "rabbet")]


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_jax_unchanged(results, name):
    theirs, ours = results
    keys = [key for key in theirs if key.split()[0] == name]
    assert keys and keys == [key for key in ours if key.split()[0] == name]
    for key in keys:
        scale = np.abs(theirs[key]).max()
        assert np.isfinite(theirs[key]).all() and scale > 0
        near = 1e-5 if name == "tpu_ragged" else 2e-6  # beside a plain function, in another order of sums
        np.testing.assert_allclose(ours[key], theirs[key], rtol=2e-5, atol=near * scale)
