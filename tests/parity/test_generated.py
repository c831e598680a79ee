"""Every function of ``generated_calls.txt``, on generated arguments, beside jax's: values, shapes, dtypes,
weak types, and the classes of errors.

What may differ stands in ``differences.json``, with the reason, and the page "Coming from JAX" lists it: a
fault is mended, not listed. A line there that nothing needs is an error, too.
"""

import functools
import importlib
import importlib.util
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("generated_arguments", HERE / "generated_arguments.py")
generated = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generated)

TABLE = generated.table((HERE / "generated_calls.txt").read_text())
DIFFERENCES = json.loads((HERE / "differences.json").read_text())
GOOD = {"numpy": 2}  # calls of each function of a module that fit; of others one
CLASSES = (
    IndexError, KeyError, OverflowError, ZeroDivisionError, NotImplementedError, AttributeError,
    AssertionError, TypeError, ValueError, RuntimeError,
)  # fmt: skip


def outcome(package, fnp, function, call):
    """What a call gives: its leaves, or its error."""
    try:
        args = generated.as_arguments(call.args, package, fnp)
        kwargs = {k: generated.as_arguments(v, package, fnp) for k, v in call.kwargs.items()}
        made = function(*args, **kwargs)
        return list(package.tree_util.tree_leaves(made))
    except Exception as error:
        return error


def class_of(error):
    """The class of Python's that an error is of."""
    return next((c for c in CLASSES if isinstance(error, c)), type(error))


def plain(leaf):
    """A leaf as an array of NumPy of a dtype that it can compare; what is none as its text."""
    if not hasattr(leaf, "dtype") and not isinstance(leaf, (bool, int, float, complex)):
        return np.array(str(leaf).replace("rabbet", "jax"))
    if "key<" in str(getattr(leaf, "dtype", "")):
        return np.array(str(leaf.shape))
    array = np.asarray(leaf)
    return array.astype("float32") if array.dtype.kind == "V" else array


def type_of(leaf):
    """Shape, dtype and weakness, which means nothing for bools and for what is no array of the package."""
    dtype = str(getattr(leaf, "dtype", type(leaf).__name__))
    weak = dtype != "bool" and bool(getattr(leaf, "weak_type", False))
    return getattr(leaf, "shape", ()), dtype, weak


def tolerance(leaves):
    dtypes = {str(getattr(leaf, "dtype", "float64")) for leaf in leaves}
    return 4e-2 if dtypes & {"bfloat16"} else 6e-3 if dtypes & {"float16"} else 3e-5


def difference(name, call):
    """``(what, text)`` of the first difference between the packages, or None."""
    module, _, function = name.rpartition(".")
    mine, theirs = (
        getattr(importlib.import_module(f"{package}.{module}"), function) for package in ("rabbet", "jax")
    )
    found, wanted = outcome(rb, rnp, mine, call), outcome(jax, jnp, theirs, call)
    if isinstance(wanted, Exception):
        if isinstance(found, class_of(wanted)):
            return None
        what = "error" if isinstance(found, Exception) else "accepted"
        return what, f"{class_of(found).__name__}, jax {class_of(wanted).__name__}"
    if isinstance(found, Exception):
        return "refused", f"{type(found).__name__}: {found}"
    if len(found) != len(wanted):
        return "structure", f"{len(found)} results, jax {len(wanted)}"
    near = tolerance([*found, *wanted, *[a for a in call.args if hasattr(a, "dtype")]])
    for x, y in zip(found, wanted, strict=True):
        for what, a, b in zip(("shape", "dtype", "weak type"), type_of(x), type_of(y), strict=True):
            if a != b:
                return what, f"{a}, jax {b}"
        x, y = plain(x), plain(y)
        if y.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                largest = np.max(np.abs(y), where=np.isfinite(y), initial=1.0 / 3)
                same = np.allclose(x, y, rtol=near, atol=near * largest, equal_nan=True)
        else:
            same = np.array_equal(x, y)
        if not same:
            return "value", f"{x!r}, jax {y!r}".replace("\n", "")
    return None


def explained(name, what):
    """The line of ``differences.json`` that allows a difference, or None."""
    for line in DIFFERENCES:
        if what == line["what"] and name in line["functions"]:
            return line
    return None


# Functions that differ somewhere, as `differences.json` says: that they still do shows in all their calls.
DIFFERING = {name for line in DIFFERENCES for name in line["functions"]}


@functools.cache
def differences(of_all):
    """What differs: ``(function, call, what, text)``; and how many calls were compared.

    Args:
      of_all: all calls. Else of most functions one that fits and one that does not: calls of one function are
        drawn by seeds of their own, so these are among all.
    """
    found, count = [], 0
    for name, kinds in TABLE.items():
        good = GOOD.get(name.rpartition(".")[0], 1) if of_all or name in DIFFERING else 1
        for call in generated.calls(name, kinds, good, 1):
            count += 1
            differs = difference(name, call)
            if differs:
                found.append((name, call, *differs))
    return found, count


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("of_all", "least"),
    [pytest.param(False, 1100, id="some"), pytest.param(True, 1400, id="all", marks=pytest.mark.exhaustive)],
)
def test_generated_calls_give_what_they_give_in_jax(of_all, least):
    found, count = differences(of_all)
    assert count > least
    unexplained = [
        f"{name}{call}: {what}: {text}" for name, call, what, text in found if not explained(name, what)
    ]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.filterwarnings("ignore")
def test_no_explanation_is_left_over():
    found, _ = differences(False)
    used = {(name, what) for name, _, what, _ in found}
    for line in DIFFERENCES:
        assert line["reason"].endswith("."), line
        unused = [name for name in line["functions"] if (name, line["what"]) not in used]
        assert not unused, f"{line['reason']} {unused} do not differ any more"
