"""Every generated call of ``tests/parity/generated_calls.txt`` as a model: what ONNX Runtime computes is what
the function computes, or the export says which operation it does not know.

The arguments are normal numbers; then the floats among them hold NaN and infinities too.
"""

import importlib
import importlib.util
import pathlib

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import MissingRule

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
rnp = pytest.importorskip("rabbet.numpy")

HERE = pathlib.Path(__file__).resolve()
PARITY = next((p / "tests" / "parity" for p in HERE.parents if (p / "tests" / "parity").is_dir()), None)
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(PARITY is None, reason="the table lies in the repository"),
]
# What ONNX Runtime itself has no kernel for, in some dtype: it says so when a model is loaded.
NO_KERNEL = ("NOT_IMPLEMENTED", "is not a registered function/op", "is invalid")


def table():
    spec = importlib.util.spec_from_file_location("generated_arguments", PARITY / "generated_arguments.py")
    generated = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generated)
    return generated, generated.table((PARITY / "generated_calls.txt").read_text())


# Infinities and NaN are in the order of their places in a model, and NaN first here.
BY_VALUE = ("top_k", "approx_max_k", "approx_min_k")


def harder(x, infinite):
    """An array with NaN and infinities among its floats."""
    x = np.array(x)
    if x.dtype.kind == "f" and x.size:
        flat = x.reshape(-1)
        flat[:: max(1, x.size // 2)] = np.nan
        flat[-1] = np.inf if infinite and x.size > 1 else np.nan
    return x


def outcome(function, args, kwargs):
    """``None``, or what is wrong with the model of a call; or ``skip`` and why there is none."""
    places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    if not places or any(args[i].dtype.kind not in "biuf" for i in places):
        return "skip", "no real arrays"
    arrays = [np.asarray(rnp.asarray(args[i])) for i in places]

    def of_arrays(*arrays):
        full = list(args)
        for i, x in zip(places, arrays, strict=True):
            full[i] = x
        return rb.tree.leaves(function(*full, **kwargs))

    try:
        wanted = [np.asarray(x) for x in rb.jit(of_arrays)(*arrays)]
    except Exception as error:
        return "skip", f"cannot be compiled: {type(error).__name__}"
    try:
        model = rb.onnx.export(of_arrays, *arrays)
    except MissingRule:
        return "missing", ""
    except TypeError as error:
        return ("missing", "") if "ONNX has no dtype" in str(error) else ("wrong", str(error))
    try:
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        found = session.run(None, dict(zip(names, arrays, strict=True)))
    except Exception as error:
        text = str(error)
        return ("kernel", text) if any(word in text for word in NO_KERNEL) else ("wrong", text[:300])
    for mine, theirs in zip(found, wanted, strict=True):
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            return "wrong", f"{mine.dtype}{mine.shape}, here {theirs.dtype}{theirs.shape}"
        near = 5e-3 if theirs.dtype == "float16" else 3e-5
        with np.errstate(all="ignore"):
            if theirs.dtype.kind == "f":
                largest = np.max(np.abs(theirs), where=np.isfinite(theirs), initial=0.3)
                same = np.allclose(mine, theirs, rtol=near, atol=near * largest, equal_nan=True)
            else:
                same = np.array_equal(mine, theirs)
        if not same:
            return "wrong", f"{mine!r}, here {theirs!r}".replace("\n", "")
    return "same", ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("numbers", ["normal", "with nan"])
def test_models_of_generated_calls(numbers):
    generated, functions = table()
    counts, wrong = {}, []
    for name, kinds in functions.items():
        module, _, function = name.rpartition(".")
        found = getattr(importlib.import_module(f"rabbet.{module}"), function)
        for call in generated.calls(name, kinds, 1, 0):
            args = [generated.as_arguments(a, rb, rnp) for a in call.args]
            if numbers == "with nan":
                infinite = function not in BY_VALUE
                args = [harder(a, infinite) if isinstance(a, np.ndarray) else a for a in args]
            kwargs = {k: generated.as_arguments(v, rb, rnp) for k, v in call.kwargs.items()}
            what, text = outcome(found, args, kwargs)
            counts[what] = counts.get(what, 0) + 1
            if what == "wrong":
                wrong.append(f"{name}{call}: {text}")
    print(counts)
    assert counts["same"] > 100
    assert not wrong, "\n".join(wrong)
