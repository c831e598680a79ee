"""Who calls as JAX documents it is understood: the signatures of the functions and methods
that both have, beside jax's.

A signature here takes every call that jax's takes, with the same names and the same defaults; it may take
more. What is different on purpose stands in ``DIFFERENT``, with the reason. Below, what the less common
arguments mean.
"""

import importlib
import inspect
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

MODULES = [
    "", "ad_checkpoint", "checkpoint_policies", "custom_batching", "custom_derivatives", "debug", "dtypes",
    "experimental.checkify", "experimental.jet", "experimental.random",
    "experimental.sparse", "flatten_util", "image", "lax",
    "lax.linalg", "nn", "nn.initializers", "numpy", "numpy.fft", "numpy.linalg", "ops", "random",
    "scipy.special", "tree", "tree_util",
]  # fmt: skip

NO_UFUNCS = "a function with a ufunc's methods; neither package writes to out or leaves out elements"
NUMPYS = "NumPy's arguments by name; jax's accepts any, and refuses or passes them on"
CALLED = "called by checkpoint, by position; the operation's name for the argument"
NOTHING_TO_SET = "without a value jax, too, raises when it is called"
POSITIONAL = "the method of the structure itself, which has no argument names"
UFUNCS = (
    "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or logical_xor maximum "
    "minimum multiply negative subtract"
)
POLICIES = "checkpoint_dots checkpoint_dots_with_no_batch_dims dots_saveable dots_with_no_batch_dims_saveable"
DIFFERENT = {
    **{f"numpy.{name}": NO_UFUNCS for name in UFUNCS.split()},
    **{f"checkpoint_policies.{name}": CALLED for name in POLICIES.split()},
    "lax.linalg.eig": "its vectors have derivatives without a switch; None stands for that",
    **dict.fromkeys(
        [
            "array_garbage_collection_guard",
            "default_device",
            "default_matmul_precision",
            "default_prng_impl",
            "legacy_prng_key",
            "numpy_dtype_promotion",
            "numpy_rank_promotion",
            "transfer_guard_device_to_device",
            "transfer_guard_device_to_host",
            "transfer_guard_host_to_device",
        ],
        NOTHING_TO_SET,
    ),
    **dict.fromkeys(["tree.unflatten"], POSITIONAL),
    **{f"numpy.{name}": NUMPYS for name in ("fromfile", "fromiter", "set_printoptions")},
    "experimental.jet.jet": "an argument that it does not know is an error here",
    "lax.random_gamma_grad": "it has two arguments, and says so",
}


def module(package, path):
    """The module at a dotted path, which may be an attribute only."""
    found = importlib.import_module(package)
    for i, part in enumerate(path.split(".") if path else (), 1):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join([package, *path.split(".")[:i]]))
    return found


def signature(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def plain(value):
    """Whether two defaults of this sort can be compared."""
    return value is None or isinstance(value, (bool, int, float, str, tuple, np.generic, type))


def misunderstood(ours, theirs):
    """What a caller could write for jax and not here, or None."""
    P = inspect.Parameter
    mine = list(ours.parameters.values())
    kinds = {p.kind for p in mine}
    positional = [p for p in mine if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    named = {p.name: p for p in mine if p.kind in (P.KEYWORD_ONLY, P.POSITIONAL_OR_KEYWORD)}
    known = set()
    for i, p in enumerate(theirs.parameters.values()):
        if p.kind in (P.VAR_POSITIONAL, P.VAR_KEYWORD):
            if p.kind not in kinds:
                return f"no {p}"
            continue
        if p.name.startswith("_"):
            continue
        found = None
        if p.kind is not P.KEYWORD_ONLY:
            if i >= len(positional):
                if P.VAR_POSITIONAL in kinds:
                    continue
                return f"no argument {p.name} by position"
            found = positional[i]
        if p.kind is not P.POSITIONAL_ONLY:
            if p.name not in named:
                if P.VAR_KEYWORD in kinds:
                    continue
                return f"no argument {p.name} by name"
            if found is not None and found.name != p.name:
                return f"{found.name} where jax has {p.name}"
            found = named[p.name]
        known.add(found.name)
        if p.default is not P.empty:
            if found.default is P.empty:
                return f"{found.name} must be given"
            if plain(p.default) and plain(found.default) and found.default != p.default:
                return f"{found.name} is {found.default!r}, in jax {p.default!r}"
    needed = [
        p.name for p in positional + list(named.values()) if p.default is P.empty and p.name not in known
    ]
    return f"{needed[0]} must be given" if needed else None


def compared(ours, theirs, names, prefix):
    """Differences by name; and how many pairs were compared."""
    found, count = {}, 0
    for name in names:
        try:
            mine, other = getattr(ours, name), getattr(theirs, name)
        except (AttributeError, NotImplementedError):
            continue
        if not callable(mine) or isinstance(other, types.ModuleType) or isinstance(mine, type):
            continue
        wanted = signature(other)
        if wanted is None:
            continue
        count += 1
        have = signature(mine)
        reason = "no signature" if have is None else misunderstood(have, wanted)
        if reason:
            found[prefix + name] = reason
    return found, count


def same(x):
    return x


OBJECTS = {
    "Array": lambda p, np: np.ones((2, 2)),
    "at": lambda p, np: np.ones(2).at[0],
    "jit": lambda p, np: p.jit(same),
    "Traced": lambda p, np: p.jit(same).trace(1.0),
    "Lowered": lambda p, np: p.jit(same).lower(1.0),
    "Compiled": lambda p, np: p.jit(same).lower(1.0).compile(),
    "custom_jvp": lambda p, np: p.custom_jvp(same),
    "custom_vjp": lambda p, np: p.custom_vjp(same),
    "custom_vmap": lambda p, np: p.custom_batching.custom_vmap(same),
    "config": lambda p, np: p.config,
}


def test_every_call_for_jax_is_understood():
    found, count = {}, 0
    for path in MODULES:
        theirs = module("jax", path)
        names = [name for name in dir(theirs) if not name.startswith("_")]
        differences, pairs = compared(module("rabbet", path), theirs, names, f"{path}." if path else "")
        found, count = found | differences, count + pairs
    for kind, make in OBJECTS.items():
        mine, other = make(rb, rnp), make(jax, jnp)
        names = [name for name in dir(other) if not name.startswith("_")]
        differences, pairs = compared(mine, other, names, f"{kind}.")
        found, count = found | differences, count + pairs
    assert count > 830
    unexplained = {name: reason for name, reason in found.items() if name not in DIFFERENT}
    assert unexplained == {}
    assert set(DIFFERENT) <= set(found), "what is not different any more needs no reason"


A, B = np.int32([1, 2, 2, 3]), np.int32([2, 3, 4, 3])
TABLE = np.float32([[4, 1, 3], [9, 7, 8]])
SHARES = np.float32([0.1, 0.5, 0.9])
CALLS = {
    "union1d": lambda p, np: np.union1d(A, B, size=6),
    "intersect1d": lambda p, np: np.intersect1d(A, B, return_indices=True, size=3),
    "setdiff1d": lambda p, np: np.setdiff1d(A, B, size=3),
    "setxor1d": lambda p, np: np.setxor1d(A, B, size=4, fill_value=-1),
    "quantile": lambda p, np: np.quantile(TABLE, SHARES, axis=1, weights=SHARES, method="inverted_cdf"),
    "nanpercentile": lambda p, np: np.nanpercentile(TABLE, 30, method="inverted_cdf"),
    "var": lambda p, np: np.var(TABLE, axis=1, mean=TABLE[:, :1], ddof=1),
    "nanstd": lambda p, np: np.nanstd(TABLE, mean=2),
    "argsort": lambda p, np: np.argsort(TABLE, dtype="int8"),
    "corrcoef": lambda p, np: np.corrcoef(TABLE, dtype="float16"),
    "ravel_multi_index": lambda p, np: np.ravel_multi_index((A, B), (5, 5), dtype="int8"),
    "top_k": lambda p, np: np.top_k(TABLE, 2, mode="smallest"),
    "trim_zeros": lambda p, np: np.trim_zeros(np.pad(TABLE, 1), "f", axis=0),
    "take_along_axis": lambda p, np: np.take_along_axis(A, B - 3, 0, wrap_negative_indices=False),
    "compress": lambda p, np: np.asarray(TABLE).compress(condition=A > 1, size=4, fill_value=7),
    "vjp": lambda p, np: p.vjp(np.multiply, TABLE, TABLE, in_nzs=(True, False))[1](np.ones((2, 3))),
    "out_nzs": lambda p, np: p.vjp(lambda x, y: (x * 2, {"y": y}), 1.0, 2.0, in_nzs=(True, False))[1].out_nzs,
    "linearize": lambda p, np: p.linearize(np.multiply, TABLE, TABLE, in_nzs=[False, True])[1](TABLE, TABLE),
    "vmap": lambda p, np: p.vmap(lambda x: (x * x, x), out_axes=(None, 1), sum_match=True)(TABLE),
    "vmap of int8": lambda p, np: p.vmap(lambda x: x, out_axes=None, sum_match=True)(np.asarray(A, "int8")),
    "device_put": lambda p, np: p.device_put((A, [TABLE]), donate=(True, False), may_alias=(False, True)),
    "standardize": lambda p, np: p.nn.standardize(TABLE, algorithm="stable"),
    "key": lambda p, np: p.random.key_data(p.random.key(3, dtype=p.random.key(0).dtype)),
    "disable_jit": lambda p, np: p.disable_jit(disable=True)(p.jit(lambda x: float(x)))(2.0),
    "after_all": lambda p, np: p.jit(lambda t, x: (p.lax.after_all(t, t), x)[1])(p.lax.after_all(), TABLE),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_the_arguments_mean(name):
    ours, theirs = rb.tree.leaves(CALLS[name](rb, rnp)), jax.tree.leaves(CALLS[name](jax, jnp))
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-3 if x.dtype == np.float16 else 1e-5)
