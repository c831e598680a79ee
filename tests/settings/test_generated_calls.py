"""Every function of the table of generated calls, under settings that check programs: the library obeys them,
and its results are what they are without.

One function in forty runs in every run, all of them in the environment ``settings``.
"""

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = [
    pytest.mark.narrow,
    pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy", "lax.linalg", "scipy", "random", "nn"),
    pytest.mark.needs("bfloat16"),
    pytest.mark.filterwarnings("ignore"),
]

PARITY = Path(__file__).resolve().parents[1] / "parity"
SPEC = importlib.util.spec_from_file_location("generated_arguments", PARITY / "generated_arguments.py")
generated = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generated)
TABLE = generated.table((PARITY / "generated_calls.txt").read_text())

GOOD = 1  # calls of each function, of arguments that fit
# Its numbers come from a state of the device's, and are others in each call.
TABLE.pop("lax.rng_uniform")

SETTINGS = {
    "numpy_rank_promotion": "raise",
    "numpy_dtype_promotion": "strict",
    "enable_x64": True,
    "debug_nans": True,
    "debug_infs": True,
    "check_tracer_leaks": True,
    "explicit_x64_dtypes": "error",
    "disable_jit": True,
}


def called(name, call):
    """The leaves that a call gives, as NumPy arrays or texts; or its error."""
    module, _, function = name.rpartition(".")
    try:
        function = getattr(importlib.import_module(f"rabbet.{module}"), function)
        args = generated.as_arguments(call.args, rb, rnp)
        kwargs = {k: generated.as_arguments(v, rb, rnp) for k, v in call.kwargs.items()}
        return [plain(x) for x in rb.tree_util.tree_leaves(function(*args, **kwargs))]
    except Exception as error:
        return error


def plain(leaf):
    if not hasattr(leaf, "dtype") and not isinstance(leaf, (bool, int, float, complex)):
        return str(leaf)
    if "key<" in str(getattr(leaf, "dtype", "")):
        return str(leaf.shape)
    array = np.asarray(leaf)
    return array.astype("float32") if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def arrays_of(call):
    return [np.asarray(x) for x in rb.tree_util.tree_leaves((call.args, call.kwargs)) if hasattr(x, "shape")]


def numbers_of(call):
    leaves = rb.tree_util.tree_leaves((call.args, call.kwargs))
    kinds = (int, float, complex, type, generated.Weak, generated.Typed)
    return [x for x in leaves if isinstance(x, kinds)]


def may_refuse(setting, call, without, error):
    """Whether a setting may refuse a call: of what the caller gave, or because of what comes out."""
    numbers = [x for x in without if isinstance(x, np.ndarray) and x.dtype.kind in "fc"]
    if setting in ("debug_nans", "debug_infs"):
        test = np.isnan if setting == "debug_nans" else np.isinf
        return isinstance(error, FloatingPointError) and any(test(x).any() for x in numbers)
    if setting == "numpy_rank_promotion":
        return "numpy_rank_promotion" in str(error) and len({x.ndim for x in arrays_of(call)} - {0}) > 1
    if setting == "numpy_dtype_promotion":
        of = {x.dtype.name for x in arrays_of(call)} | {type(x).__name__ for x in numbers_of(call)}
        return "numpy_dtype_promotion" in str(error) and len(of) > 1
    return False


def differences(setting, names):
    """``(function, call, what)`` of all that a setting changes; and how many calls were compared."""
    found, count = [], 0
    for name in names:
        for call in generated.calls(name, TABLE[name], GOOD, 0):
            without = called(name, call)
            if isinstance(without, Exception):
                continue
            count += 1
            with rb.config.override(**{setting: SETTINGS[setting]}):
                within = called(name, call)
            if isinstance(within, Exception):
                if not may_refuse(setting, call, without, within):
                    found.append((name, call, f"{type(within).__name__}: {within}"))
            elif setting != "enable_x64" and not all(map(alike, within, without)):
                found.append((name, call, f"{within}, without {without}"))
    return found, count


def alike(x, y):
    if isinstance(x, str) or isinstance(y, str):
        return x == y
    near = 2e-2 if x.dtype == np.float16 else 1e-4
    same = x.dtype == y.dtype and x.shape == y.shape
    return same and np.allclose(x, y, rtol=near, atol=near, equal_nan=True)


def check(setting, names):
    found, count = differences(setting, names)
    print(f"{setting}: {count} calls, {len(found)} differ")
    lines = [f"{name}{call}: {what}"[:300] for name, call, what in found]
    assert not found, f"{len(found)} of {count} under {setting}:\n" + "\n".join(lines)


@pytest.mark.parametrize("setting", SETTINGS)
def test_some_functions_obey(setting):
    check(setting, sorted(TABLE)[::40])


@pytest.mark.exhaustive
@pytest.mark.parametrize("setting", SETTINGS)
def test_all_functions_obey(setting):
    check(setting, sorted(TABLE))
