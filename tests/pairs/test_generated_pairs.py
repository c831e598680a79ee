"""Every function of the table of generated calls through pairs of transformations, against the plain result.

A function's arrays become ``EXAMPLES`` examples. What it gives for each one, its derivative in a direction
and the gradient of a weighted sum of its results, all computed one by one without another transformation,
are what every pair has to give. A few functions run in every run, all of them in the environment ``pairs``.
"""

import collections
import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ConcretizationTypeError, TracerArrayConversionError

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = [
    pytest.mark.narrow,
    pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy", "lax.linalg", "scipy", "random", "nn"),
    pytest.mark.needs("bfloat16", "shard_map", "experimental.checkify", "experimental.jet", "checkpoint"),
    pytest.mark.filterwarnings("ignore"),
]

PARITY = Path(__file__).resolve().parents[1] / "parity"
SPEC = importlib.util.spec_from_file_location("generated_arguments", PARITY / "generated_arguments.py")
generated = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generated)
TABLE = generated.table((PARITY / "generated_calls.txt").read_text())
# Its numbers come from a state of the device's, and are others in each call.
TABLE.pop("lax.rng_uniform")

EXAMPLES = 4
# In every run: integers, floats, floats in three dimensions, no elements, and values that decide Python.
SOME = ("lax.add", "nn.silu", "lax.cummin", "nn.squareplus", "numpy.intersect1d")
# What a transformation says by name: values decide Python, or there is no derivative.
REFUSALS = (ConcretizationTypeError, TracerArrayConversionError, NotImplementedError)
# XLA cannot take this operation apart.
LEFT = {("lax.mulhi", "shard_map"), ("lax.mulhi", "jit of shard_map")}


class Refused(Exception):
    """A call that does not apply, and why."""


def moves(y):
    """Whether a result has derivatives."""
    return rb.dtypes.issubdtype(rnp.asarray(y).dtype, np.inexact)


class Case:
    """One call as a function of its arrays, and the examples of these."""

    def __init__(self, name, call):
        module, _, function = name.rpartition(".")
        function = getattr(importlib.import_module(f"rabbet.{module}"), function)
        named = {k: generated.as_arguments(v, rb, rnp) for k, v in call.kwargs.items()}
        given = generated.as_arguments(call.args, rb, rnp), named
        leaves, structure = rb.tree_util.tree_flatten(given)
        places = [i for i, x in enumerate(leaves) if self.is_moving(x)]
        if not places:
            raise Refused("no arrays")

        def flat(*arrays):
            whole = list(leaves)
            for i, x in zip(places, arrays, strict=True):
                whole[i] = x
            args, kwargs = rb.tree_util.tree_unflatten(structure, whole)
            return rb.tree_util.tree_leaves(function(*args, **kwargs))

        self.function = flat
        self.arrays = [rnp.asarray(leaves[i]) for i in places]
        self.examples = [[self.example(x, i) for x in self.arrays] for i in range(EXAMPLES)]
        self.stacked = [rnp.stack(xs) for xs in zip(*self.examples, strict=True)]
        self.floats = [i for i, x in enumerate(self.arrays) if rb.dtypes.issubdtype(x.dtype, np.floating)]

    @staticmethod
    def is_moving(x):
        return hasattr(x, "shape") and getattr(x, "dtype", None) not in (None, np.dtype("uint32"))

    @staticmethod
    def example(x, i):
        """Another array of the kind: floats a little smaller, and not in another order."""
        if not rb.dtypes.issubdtype(x.dtype, np.inexact):
            return x
        return (x * np.asarray(1 - i / 32, np.float32).astype(x.dtype)).astype(x.dtype)

    # --------------------------------------------------------------------------------- what derivatives need
    def of_floats(self, arrays):
        """The function of the floating-point arrays alone, with results that have derivatives."""

        def g(*floats):
            whole = list(arrays)
            for i, x in zip(self.floats, floats, strict=True):
                whole[i] = x
            return [y for y in self.function(*whole) if moves(y)]

        return g

    def tangents(self, arrays):
        return [
            rnp.asarray(np.cos(1 + np.arange(arrays[i].size)).reshape(arrays[i].shape), arrays[i].dtype)
            for i in self.floats
        ]

    def total(self, arrays):
        """A weighted sum of the results as a function of the floating-point arrays."""
        g = self.of_floats(arrays)

        def sums(*floats):
            out = 0.0
            for y in g(*floats):
                y = rnp.asarray(y)
                w = np.sin(1.0 + np.arange(y.size)).reshape(y.shape).astype("float32")
                real = y.real + 2 * y.imag if rb.dtypes.kind(y.dtype) == "c" else y
                out += (real.astype("float32") * w).sum()
            return out

        return sums

    def jvp(self, arrays):
        g = self.of_floats(arrays)
        return rb.jvp(g, [arrays[i] for i in self.floats], self.tangents(arrays))[1]

    def grad(self, arrays, wrapped=lambda f: f):
        floats = [arrays[i] for i in self.floats]
        return list(rb.grad(wrapped(self.total(arrays)), argnums=tuple(range(len(floats))))(*floats))


def each(results):
    """Lists of leaves, one for each example, as leaves with a dimension in front."""
    return [np.stack([plain(x) for x in xs]) for xs in zip(*results, strict=True)]


def plain(leaf):
    array = np.asarray(leaf)
    return array.astype("float32") if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def mesh():
    return rb.make_mesh((len(rb.devices()) if EXAMPLES % len(rb.devices()) == 0 else 1,), ("i",))


def mapped_on_devices(case):
    spec = rb.sharding.PartitionSpec("i")
    inner = lambda *xs: rb.vmap(case.function)(*xs)
    return rb.shard_map(inner, mesh=mesh(), in_specs=spec, out_specs=spec)


def pairs_of_values(case):
    """``(pair, function that gives the leaves)``: all are ``vmap`` of the function, example by example."""
    f, xs = case.function, case.stacked
    checkify = importlib.import_module("rabbet.experimental.checkify").checkify
    halves = [x.reshape(2, EXAMPLES // 2, *x.shape[1:]) for x in xs]
    joined = lambda ys: [y.reshape(EXAMPLES, *y.shape[2:]) for y in ys]
    return {
        "vmap": lambda: rb.vmap(f)(*xs),
        "jit of vmap": lambda: rb.jit(rb.vmap(f))(*xs),
        "vmap of jit": lambda: rb.vmap(rb.jit(f))(*xs),
        "vmap of vmap": lambda: joined(rb.vmap(rb.vmap(f))(*halves)),
        "shard_map": lambda: mapped_on_devices(case)(*xs),
        "jit of shard_map": lambda: rb.jit(mapped_on_devices(case))(*xs),
        "vmap of checkpoint": lambda: rb.vmap(rb.checkpoint(f))(*xs),
        "checkify of vmap": lambda: checkify(rb.vmap(f))(*xs)[1],
        "vmap of checkify": lambda: rb.vmap(checkify(f))(*xs)[1],
    }


def pairs_of_tangents(case):
    """The same for derivatives in a direction."""
    xs = case.stacked
    moving = [xs[i] for i in case.floats]
    tangents = [rnp.stack([t] * EXAMPLES) for t in case.tangents(case.arrays)]
    others = lambda whole: [x for i, x in enumerate(whole) if i not in case.floats]

    def put(floats, rest):
        rest, floats = iter(rest), iter(floats)
        return [next(floats if i in case.floats else rest) for i in range(len(xs))]

    def g(floats, rest):
        ys = case.function(*put(floats, rest))
        return [y for y in ys if moves(y)]

    one = lambda floats, ts, rest: rb.jvp(lambda *x: g(x, rest), floats, ts)[1]
    rest = others(xs)
    jet = importlib.import_module("rabbet.experimental.jet").jet
    zeros = lambda ts: [rnp.zeros_like(t) for t in ts]

    def coefficients(floats, ts, rest):
        series = [[t, z] for t, z in zip(ts, zeros(ts), strict=True)]
        return [out[0] for out in jet(lambda *x: g(x, rest), tuple(floats), tuple(series))[1]]

    many = lambda *x: rb.vmap(g)(list(x), rest)
    straight = lambda x, t, r: rb.linearize(lambda *x: g(x, r), *x)[1](*t)
    return {
        "vmap of jvp": lambda: rb.vmap(one)(moving, tangents, rest),
        "jit of vmap of jvp": lambda: rb.jit(rb.vmap(one))(moving, tangents, rest),
        "jvp of vmap": lambda: rb.jvp(many, moving, tangents)[1],
        "linearize of vmap": lambda: rb.linearize(many, *moving)[1](*tangents),
        "vmap of linearize": lambda: rb.vmap(straight)(moving, tangents, rest),
        "jvp of checkpoint of vmap": lambda: rb.jvp(rb.checkpoint(many), moving, tangents)[1],
        "vmap of jet": lambda: rb.vmap(coefficients)(moving, tangents, rest),
    }


def pairs_of_gradients(case):
    """The same for gradients."""
    xs = case.stacked
    moving = [xs[i] for i in case.floats]
    rest = [x for i, x in enumerate(xs) if i not in case.floats]
    argnums = tuple(range(len(moving)))

    def total(floats, rest):
        rest, floats = iter(rest), list(floats)
        it = iter(floats)
        whole = [next(it if i in case.floats else rest) for i in range(len(xs))]
        return case.total(whole)(*floats)

    one = lambda floats, rest: list(rb.grad(lambda *x: total(x, rest), argnums=argnums)(*floats))
    every = lambda *x: rb.vmap(total)(list(x), rest).sum()
    return {
        "vmap of grad": lambda: rb.vmap(one)(moving, rest),
        "jit of vmap of grad": lambda: rb.jit(rb.vmap(one))(moving, rest),
        "grad of vmap": lambda: list(rb.grad(every, argnums=argnums)(*moving)),
        "grad of checkpoint of vmap": lambda: list(rb.grad(rb.checkpoint(every), argnums=argnums)(*moving)),
        "jit of grad of jit": lambda: list(rb.jit(rb.grad(rb.jit(every), argnums=argnums))(*moving)),
    }


def tolerance(case, wanted):
    names = {str(x.dtype) for x in (*case.arrays, *wanted)}
    return 6e-2 if "bfloat16" in names else 1e-2 if "float16" in names else 2e-4


def compared(case, pairs, wanted, near, tell):
    for pair, run in pairs.items():
        try:
            found = [plain(y) for y in run()]
        except Exception as error:
            tell(pair, "refused" if isinstance(error, REFUSALS) else f"{type(error).__name__}: {error}")
            continue
        if len(found) != len(wanted):
            tell(pair, f"{len(found)} results, not {len(wanted)}")
            continue
        tell(pair, next((d for d in map(difference, found, wanted, [near] * len(found)) if d), ""))


def difference(x, y, near):
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{x.dtype}{x.shape}, alone {y.dtype}{y.shape}"
    if y.dtype.kind not in "fc":
        return "" if np.array_equal(x, y) else f"{x}, alone {y}"
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(y), where=np.isfinite(y), initial=1.0 / 3)
        same = np.allclose(x, y, rtol=near, atol=near * largest, equal_nan=True)
    return "" if same else f"{x}, alone {y}"


def differences(names):
    """``(function, call, pair, what)`` of all that differs, and how many were compared, by pair."""
    found, counts = [], collections.Counter()
    for name in names:
        for call in generated.calls(name, TABLE[name], 1, 0):
            try:
                case = Case(name, call)
                alone = [case.function(*e) for e in case.examples]
                if not all(type(y) is rb.Array for ys in alone for y in ys):
                    raise Refused("no arrays")
                wanted = each(alone)
            except Exception:
                counts["does not apply"] += 1
                continue

            def tell(pair, what, name=name, call=call):
                if what == "refused":
                    counts[f"{pair}: refused"] += 1
                elif what and (name, pair) not in LEFT:
                    found.append((name, call, pair, what.replace("\n", " ")))
                elif not what:
                    counts[pair] += 1

            near = tolerance(case, wanted)
            compared(case, pairs_of_values(case), wanted, near, tell)
            if not case.floats:
                continue
            for kind, alone_by, pairs in (
                ("jvp", case.jvp, pairs_of_tangents), ("grad", case.grad, pairs_of_gradients),
            ):  # fmt: skip
                try:
                    wanted = each([alone_by(e) for e in case.examples])
                except Exception as error:
                    if isinstance(error, (*REFUSALS, TypeError)):
                        counts[f"{kind}: refused"] += 1
                    else:
                        found.append((name, call, kind, f"{type(error).__name__}: {error}"))
                    continue
                if wanted:
                    compared(case, pairs(case), wanted, near * 4, tell)
    return found, counts


def check(names):
    found, counts = differences(names)
    print("\n".join(f"{n} {pair}" for pair, n in sorted(counts.items())))
    lines = [f"{name}{call}: {pair}: {what}"[:400] for name, call, pair, what in found]
    assert not found, f"{len(found)} differ:\n" + "\n".join(lines)
    assert counts["does not apply"] < len(names) / 2, counts
    return counts


def test_some_functions_through_pairs():
    counts = check(SOME)
    agreed = [pair for pair in counts if ":" not in pair and pair != "does not apply"]
    assert len(agreed) == 21 and min(counts[pair] for pair in agreed) >= 3, counts


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(20))
def test_all_functions_through_pairs(part):
    check(sorted(TABLE)[part::20])
