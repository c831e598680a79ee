"""The programs of benchmarks/ run under rabbet, at tiny sizes, and agree with their NumPy versions."""

import importlib
import math
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
NAMES = ("harness", "mlp", "convnet", "lstm", "shallow_water", "nbody", "kernels", "growth")


@pytest.fixture(scope="module")
def benchmarks():
    """The modules by name; they are scripts beside each other, not a package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["mlp", "convnet", "lstm", "shallow_water", "nbody"])
def test_a_program_runs(benchmarks, name):
    program, measure = benchmarks[name], benchmarks["harness"].measure
    size = program.SIZES["tiny"]
    found = measure("rabbet", program.BUILDERS, size, seconds=0)
    steps = found["values"]["steps"]
    assert all(map(math.isfinite, steps))
    assert len(set(steps)) > 1  # the state goes on from step to step
    assert found["step_ms_min"] > 0 and found["compile_s"] > 0
    if "numpy" in program.BUILDERS:
        by_hand = measure("numpy", program.BUILDERS, size, seconds=0)["values"]["steps"]
        assert steps == pytest.approx(by_hand, rel=1e-4)


def test_the_kernels_run(benchmarks):
    kernels, harness = benchmarks["kernels"], benchmarks["harness"]
    size = kernels.SIZES["tiny"]
    ours, numpys = (
        harness.measure_each(name, kernels.cases(name, size), seconds=0) for name in ("rabbet", "numpy")
    )
    assert ours["values"] == pytest.approx(numpys["values"], rel=1e-4, abs=1e-6)
    assert all(ours[f"{name}_ms"] > 0 for name in ours["values"])


def test_growth_is_measured_at_each_size(benchmarks):
    growth = benchmarks["growth"]
    assert set(growth.ops("rabbet", "tiny")) == {"trace_s@10", "trace_lower_s@10"}
    ours, numpys = (growth.sizes(name, "tiny", seconds=0) for name in ("rabbet", "numpy"))
    assert ours["values"] == pytest.approx(numpys["values"], rel=1e-4)
    assert set(ours) == {"chain_ms@10", "sum_ms@10", "values"}
