"""Promotion, as jax does it: every pair, and every triple of a few, with weak types and in both widths."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from rabbet import dtypes
from rabbet.config import config
from rabbet.extend.primitive import ShapedArray

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

NARROW = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "complex64",
]
NAMES = [*NARROW, "int64", "uint64", "float64", "complex128"]
SCALARS = [True, 1, 1.0, 1j]
WEAK = ["int32", "float32", "complex64", "float16", "bfloat16", "int8"]


@pytest.fixture(params=[False, True], ids=["32 bits", "64 bits"])
def wide(request):
    with config.override(enable_x64=request.param), jax.enable_x64(request.param):
        yield request.param


def values(names, weak=WEAK):
    """(description, kind, what) of arrays, of weak arrays and of Python numbers."""
    arrays = [("array", name) for name in names] + [("weak", name) for name in weak]
    return arrays + [("scalar", scalar) for scalar in SCALARS]


def disagreements(values, tuples):
    """Where the two frameworks promote differently: ``{values: (ours, theirs)}``."""
    ours = [what if kind == "scalar" else ShapedArray((), what, kind == "weak") for kind, what in values]
    # Weak arrays exist in jax as tracers only; so all of them are asked for at once while one function is
    # traced.
    structs = [
        jax.ShapeDtypeStruct((), np.dtype(what), weak_type=kind == "weak")
        for kind, what in values if kind != "scalar"
    ]  # fmt: skip
    found = {}

    def ask(arrays):
        theirs = [*arrays, *[what for kind, what in values if kind == "scalar"]]
        for indices in tuples:
            dtype, weak = dtypes.result_type(*[ours[i] for i in indices], return_weak_type_flag=True)
            answer = jax.dtypes.result_type(*[theirs[i] for i in indices], return_weak_type_flag=True)
            if (dtype, weak) != answer:
                found[tuple([values[i] for i in indices])] = (dtype.name, weak), (answer[0].name, answer[1])
        return 0

    jax.eval_shape(ask, structs)
    return found


def test_every_pair(wide):
    all_values = values(NAMES if wide else NARROW)
    assert disagreements(all_values, list(product(range(len(all_values)), repeat=2))) == {}


def test_triples(wide):
    few = values(["bool", "uint8", "int16", "uint32", "float16", "bfloat16", "float32", "complex64"])
    assert disagreements(few, list(combinations_with_replacement(range(len(few)), 3))) == {}


def test_types_of_python_numbers_are_weak(wide):
    for name, scalar in product(NARROW, [bool, int, float, complex]):
        dtype = np.dtype(dtypes.canonicalize(name))
        assert dtypes.result_type(dtype, scalar) == jnp.result_type(dtype, scalar)


def test_explicit_64_bits_without_the_switch():
    """What jax does where it allows explicit 64-bit dtypes, which here is always so; some are wider here."""
    try:
        jax.config.update("jax_explicit_x64_dtypes", "allow")
    except (AttributeError, ValueError):
        pytest.skip("this jax cannot")
    try:
        strong = values(NAMES, weak=())
        if disagreements([("array", "int64"), ("array", "float64")], [(0, 1)]):
            pytest.skip("this jax still narrows them")
        found = disagreements(strong, list(product(range(len(strong)), repeat=2)))
        # docs/promotion.md: integers of 64 bits are not rounded to numbers of 32 bits.
        wider = {"float32": "float64", "complex64": "complex128"}
        for operands, ((ours, weak), (theirs, as_weak)) in found.items():
            names = {name for _, name in operands}
            assert names & {"int64", "uint64"}, operands
            assert (ours, weak) == (wider[theirs], as_weak) and weak, operands
        assert (("array", "int64"), ("array", "uint64")) in found
    finally:
        jax.config.update("jax_explicit_x64_dtypes", "warn")


def test_kinds():
    classes = [np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
               np.floating, np.complexfloating, bool, int, float, complex]  # fmt: skip
    for a in [*NAMES, bool, int, float, complex, np.floating, np.integer]:
        dtype = dtypes.canonicalize(a) if isinstance(a, str) else a
        for b in [*classes, *[dtypes.canonicalize(n) for n in NAMES]]:
            assert dtypes.issubdtype(dtype, b) == jnp.issubdtype(dtype, b), (a, b)


def test_limits():
    for name in ["float16", "bfloat16", "float32", "float64", "complex64"]:
        ours, theirs = dtypes.finfo(name), jnp.finfo(dtypes.canonicalize(name))
        fields = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "nmant", "precision")
        assert [float(getattr(ours, f)) for f in fields] == [float(getattr(theirs, f)) for f in fields]
    for name in ["int8", "uint8", "int32", "uint64"]:
        assert (dtypes.iinfo(name).min, dtypes.iinfo(name).max) == (jnp.iinfo(name).min, jnp.iinfo(name).max)
