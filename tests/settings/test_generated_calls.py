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
# Values of the host become arrays only where they are put there: with arrays as arguments nothing is
# refused, with NumPy's everything is that reads their values.
GUARDS = ("host_to_device", "device_to_device", "device_to_host")
GUARDED = {f"transfer_guard_{way}": "disallow" for way in GUARDS}
TAKES_NO_VALUES = {
    "dtypes.result_type": "reads the dtype alone",
    "lax.full_like": "reads the type alone",
    "numpy.array_str": "shows the numbers, on the host",
    "numpy.diag_indices_from": "reads the shape alone",
    "numpy.einsum_path": "reads the shapes alone",
    "numpy.empty_like": "reads the type alone",
    "numpy.full_like": "reads the type alone",
    "numpy.isrealobj": "reads the dtype alone",
    "numpy.ones_like": "reads the type alone",
    "tree.flatten": "handles the object as it is",
    "tree.leaves": "handles the object as it is",
    "tree.structure": "handles the object as it is",
}


def called(name, call):
    """The leaves that a call gives, as NumPy arrays or texts; or its error."""
    try:
        function, args, kwargs = prepared(name, call)
        return leaves_of(function(*args, **kwargs))
    except Exception as error:
        return error


def prepared(name, call):
    module, _, function = name.rpartition(".")
    function = getattr(importlib.import_module(f"rabbet.{module}"), function)
    args = generated.as_arguments(call.args, rb, rnp)
    return function, args, {k: generated.as_arguments(v, rb, rnp) for k, v in call.kwargs.items()}


def leaves_of(out):
    return [plain(x) for x in rb.tree_util.tree_leaves(out)]


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


# Transfers ---------------------------------------------------------------------------------------------


def transfers(names):
    """What ``transfer_guard`` refuses of arrays, or changes; what it does not refuse of NumPy's arrays; and
    how many calls were compared.
    """
    found, passed, count = [], [], 0
    for name in names:
        for call in generated.calls(name, TABLE[name], GOOD, 0):
            try:
                function, args, kwargs = prepared(name, call)
                given = rb.tree_util.tree_map(on_device, (args, kwargs))
                without = leaves_of(function(*given[0], **given[1]))
            except Exception:
                continue
            count += 1
            try:
                with rb.config.override(**GUARDED):
                    out = function(*given[0], **given[1])
                if not all(map(alike, leaves_of(out), without)):
                    found.append((name, call, f"{out}, without {without}"))
            except Exception as error:
                found.append((name, call, f"{type(error).__name__}: {error}"))
            if given_arrays(args, kwargs) and name not in TAKES_NO_VALUES:
                try:
                    with rb.config.override(**GUARDED):
                        function(*args, **kwargs)
                    passed.append((name, call, "takes an array of NumPy's"))
                except rb.errors.TransferError:
                    pass
                except Exception as error:
                    passed.append((name, call, f"{type(error).__name__}: {error}"))
    return found, passed, count


def on_device(x):
    return rb.device_put(x) if isinstance(x, np.ndarray) else x


def given_arrays(*values):
    return any(isinstance(x, np.ndarray) and x.ndim for x in rb.tree_util.tree_leaves(values))


def check_transfers(names):
    found, passed, count = transfers(names)
    print(f"transfer_guard: {count} calls, {len(found)} refused or changed, {len(passed)} not refused")
    lines = [f"{name}{call}: {what}"[:300] for name, call, what in found + passed]
    assert not lines, f"{len(lines)} of {count}:\n" + "\n".join(lines)


def test_some_functions_move_what_is_given_to_them_alone():
    check_transfers(sorted(TABLE)[::40])


@pytest.mark.exhaustive
def test_all_functions_move_what_is_given_to_them_alone():
    check_transfers(sorted(TABLE))


# 64-bit operands ---------------------------------------------------------------------------------------

WIDE = {"f": "float64", "i": "int64", "u": "uint64", "c": "complex128"}


def in_64_bits(x):
    if isinstance(x, np.ndarray) and x.dtype.kind in WIDE:
        return rb.lax.convert_element_type(x, WIDE[x.dtype.kind])
    return x


def check_wide(names):
    """With ``explicit_x64_dtypes="error"`` nothing is refused that the library makes of 64-bit operands."""
    found, count = [], 0
    for name in names:
        for call in generated.calls(name, TABLE[name], GOOD, 0):
            try:
                function, args, kwargs = prepared(name, call)
                args, kwargs = rb.tree_util.tree_map(in_64_bits, (args, kwargs))
                function(*args, **kwargs)
            except Exception:
                continue
            count += 1
            try:
                with rb.config.override(explicit_x64_dtypes="error"):
                    function(*args, **kwargs)
            except Exception as error:
                found.append(f"{name}{call}: {type(error).__name__}: {error}"[:300])
    print(f"64-bit operands: {count} calls, {len(found)} refused")
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found)


def test_some_functions_take_wide_operands():
    check_wide(sorted(TABLE)[::40])


@pytest.mark.exhaustive
def test_all_functions_take_wide_operands():
    check_wide(sorted(TABLE))
