"""The programs of benchmarks/ run under rabbet, at tiny sizes, and agree with their NumPy versions."""

import importlib
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet.extend.passes import all_passes
from rabbet.testing.checks import COMPILE_FAST

pytestmark = pytest.mark.exhaustive

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
NAMES = ("harness", "mlp", "convnet", "lstm", "shallow_water", "nbody", "kernels", "growth", "pallas")


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


def test_the_kernels_of_pallas_run(benchmarks):
    found = benchmarks["pallas"].measure("rabbet", "tiny", seconds=0)
    assert set(found["values"]) == {"matmul", "matmul_rows", "softmax", "layer_norm", "flash"}
    assert all(found[f"{name}_ms"] >= 0 for name in found["values"])


def results_by_passes(fn, args, each):
    """What ``fn`` gives without any pass, with the usual ones, with all, and with each of the others, as
    ``{choice: leaves}``; equal programs are compiled once. Without ``each`` the last are left out.
    """
    every = [p.name for p in all_passes()]
    on_request = [p.name for p in all_passes() if not p.default]
    choices = {"none": {"disable_passes": every}, "the usual": {}, "all": {"enable_passes": on_request}}
    if each:
        choices |= {f"also {name}": {"enable_passes": name} for name in on_request}
    traced, by_text, found = rb.jit(fn).trace(*args), {}, {}
    for choice, settings in choices.items():
        with rb.config.override(enable_checks=True, **settings):
            lowered = traced.lower()
        text = lowered.as_text()
        if text not in by_text:
            out = lowered.compile(compiler_options=COMPILE_FAST)(*args)
            by_text[text] = [np.asarray(x) for x in rb.tree.leaves(out)]
        found[choice] = by_text[text]
    return found


@pytest.mark.needs("cse")
@pytest.mark.parametrize("name", ["mlp", "convnet", "lstm", "shallow_water", "nbody", "kernels"])
def test_no_pass_changes_what_a_program_computes(benchmarks, name):
    program = benchmarks[name]
    size = program.SIZES["tiny"]
    if name == "kernels":
        cases = program.cases("rabbet", size)
    else:
        step, state = program.BUILDERS["rabbet"](rb, **size)
        cases = {name: (step, state)}
    for case, (fn, *args) in cases.items():
        found = results_by_passes(fn, args, each=name not in ("lstm", "convnet"))  # these compile longest
        for choice, leaves in found.items():
            for ours, plain in zip(leaves, found["none"], strict=True):
                np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5, err_msg=f"{case}, {choice}")


def test_growth_is_measured_at_each_size(benchmarks):
    growth = benchmarks["growth"]
    assert set(growth.ops("rabbet", "tiny")) == {"trace_s@10", "trace_lower_s@10"}
    ours, numpys = (growth.sizes(name, "tiny", seconds=0) for name in ("rabbet", "numpy"))
    assert ours["values"] == pytest.approx(numpys["values"], rel=1e-4)
    assert set(ours) == {"chain_ms@10", "sum_ms@10", "values"}


def test_the_programs_over_several_devices_run():
    command = [sys.executable, str(BENCHMARKS / "parallel.py"), "rabbet", "1", "scaling"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)
    assert all(found[f"devices_{count}_ms"] > 0 for count in (1, 2, 4, 8))
