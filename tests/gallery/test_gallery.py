"""The gallery's programs do what they say; with jax installed they give what the same program gives there."""

import importlib.util
import pathlib
import re
import sys
import types

import numpy as np
import pytest

pytestmark = pytest.mark.library

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gallery"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))

CHECKS = {
    "attention": lambda r: r["right"] > 0.9,
    "bilevel_optimisation": lambda r: r["loss after"] < 0.97 * r["loss before"],
    "ctc": lambda r: r["read"].tolist() == [1, 2, 2, 3],
    "evolution_strategy": lambda r: r["value after"] < 0.3 < r["value before"],
    "game_of_life": lambda r: r["moved"] and r["alive"].tolist() == [5] * 4,
    "gaussian_process": lambda r: np.abs(r["mean at 1.1, 2.6, 4.3"] - r["truth"]).max() < 0.2,
    "graph_network": lambda r: r["loss after"] < 0.01,
    "hamiltonian_monte_carlo": lambda r: np.abs(r["covariance"] - [[1, 0.6], [0.6, 2]]).max() < 0.2,
    "heat_equation": lambda r: r["error after"] < 0.01 and 8 <= r["hottest place"] < 12,
    "hidden_markov_model": lambda r: r["best path"].tolist() == [0] * 4 + [1] * 5 + [0] * 3,
    "k_means": lambda r: np.abs(r["centres"] - [[0, 0], [5, 0], [0, 5]]).max() < 0.5,
    "kalman_filter": lambda r: r["error filtered"] < 0.9 * r["error seen"],
    "lbfgs": lambda r: r["success"] and np.allclose(r["minimum"], 1),
    "logistic_regression": lambda r: r["slope"] < 1e-3 and r["right"] > 0.9,
    "mandelbrot": lambda r: 0.2 < r["inside"] < 0.35,
    "multilayer_perceptron": lambda r: r["right"] > 0.98,
    "neural_ode": lambda r: r["loss after"] < 0.01,
    "particle_filter": lambda r: r["error tracked"] < r["error seen"],
    "physics_informed_network": lambda r: r["largest error"] < 0.05,
    "planets": lambda r: bool(r["spread of the energy"]),
    "principal_components": lambda r: np.isclose(r["singular value"], r["by svd"], rtol=1e-3),
    "private_training": lambda r: r["right"] > 0.9,
    "recurrent_network": lambda r: r["loss after"] < 0.1 * r["loss before"],
    "sinkhorn": lambda r: r["error of the rows"] < 1e-3 and np.allclose(r["sum of the columns"], 0.05, 0.02),
    "sphere_tracing": lambda r: 0.2 < r["mean"] < 0.5,
    "variational_inference": lambda r: np.allclose(r["mean and scale"], r["exact"], atol=0.1),
}  # fmt: skip
# What is drawn by accepting or ranking depends on the last bit.
BY_THE_LAST_BIT = {"evolution_strategy", "hamiltonian_monte_carlo", "particle_filter"}
QUICK = {
    "ctc", "game_of_life", "hidden_markov_model", "k_means", "lbfgs", "mandelbrot", "planets", "sinkhorn",
}  # fmt: skip


def results(name, source):
    module = types.ModuleType(name)
    exec(compile(source, str(FOLDER / f"{name}.py"), "exec"), vars(module))
    return {key: np.asarray(value) for key, value in module.main().items()}


def test_every_program_is_checked():
    assert set(PROGRAMS) == set(CHECKS) and len(PROGRAMS) >= 25


@pytest.mark.rows(100)
@pytest.mark.parametrize(
    "name", [p if p in QUICK else pytest.param(p, marks=pytest.mark.exhaustive) for p in PROGRAMS]
)
def test_program(name):
    assert CHECKS[name](results(name, (FOLDER / f"{name}.py").read_text()))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_gives_the_same(name):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    source = (FOLDER / f"{name}.py").read_text()
    found = results(name, source)
    there = re.sub(r"\brabbet\b", "jax", source)
    wanted = results(name, there)
    assert found.keys() == wanted.keys() and "jax" in sys.modules
    for key, value in found.items():
        assert value.shape == wanted[key].shape and value.dtype == wanted[key].dtype, key
        if name not in BY_THE_LAST_BIT and not ("loss after" in key or "error after" in key):
            np.testing.assert_allclose(value, wanted[key], rtol=0.02, atol=0.02, err_msg=key)
