"""The trainings of `examples/jax_libraries`, shortened: they print the numbers that they print under JAX."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "jax_libraries"
# Steps, and how far the last loss may be off: the two round differently, and a training amplifies that.
PROGRAMS = {
    "flax_digits": (30, 2e-3),
    "equinox_flow": (8, 1e-3),
    "haiku_language": (8, 1e-3),
    "llama": (8, 1e-3),
}


def printed(runner, name, out, *options):
    """The numbers of the program's last line; its figure is written to ``out``."""
    command = [sys.executable, *runner, str(FOLDER / f"{name}.py"), "--out", str(out), *map(str, options)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return np.array(ran.stdout.strip().splitlines()[-1].split(), float)


def on_rabbet(*args):
    return printed(["-m", "rabbet_jax"], *args)


@pytest.fixture(autouse=True)
def needed(request):
    for name in ("matplotlib", "sklearn", "optax", "diffrax", "equinox", "flax", "haiku", "numpyro"):
        pytest.importorskip(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_short_training_goes_as_under_jax(name, tmp_path):
    steps, tolerance = PROGRAMS[name]
    found = on_rabbet(name, tmp_path / "rabbet", "--steps", steps)
    wanted = printed([], name, tmp_path / "jax", "--steps", steps)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert found[1] < found[0]  # the first loss and the last


def test_the_posterior_is_that_of_jax(tmp_path):
    found = on_rabbet("numpyro_diabetes", tmp_path / "rabbet", "--steps", 200)
    wanted = printed([], "numpyro_diabetes", tmp_path / "jax", "--steps", 200)
    np.testing.assert_allclose(found, wanted, atol=0.1)  # Monte Carlo error is about 0.02


def test_the_decoder_learns_the_same_on_four_devices(tmp_path):
    pytest.importorskip("rabbet_parallel")
    alone = on_rabbet("llama", tmp_path / "one", "--steps", 8)
    shared = on_rabbet("llama", tmp_path / "four", "--steps", 8, "--devices", 4, "--model", 2)
    np.testing.assert_allclose(shared, alone, rtol=1e-3)
