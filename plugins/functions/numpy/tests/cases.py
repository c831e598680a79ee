"""Calls of ``rabbet.numpy`` that mean the same in NumPy and in JAX.

``CASES[family][name]`` takes the module and returns arrays. The operands are NumPy arrays of 32-bit dtypes,
so that every module starts from the same.
"""

import numpy as np

random = np.random.RandomState(0)
F = random.randn(3, 4).astype("f4")  # floats of both signs
G = random.randn(3, 4).astype("f4")
V = random.randn(4).astype("f4")
U = (np.abs(F) + 0.1).astype("f4")  # positive
S = (np.tanh(F) * 0.9).astype("f4")  # between -1 and 1
C = (F + 1j * G).astype("c8")
ROW = random.randn(1, 4).astype("f4")
COLUMN = random.randn(3, 1).astype("f4")
T = random.randn(2, 3, 4).astype("f4")
I = random.randint(-9, 9, (3, 4)).astype("i4")
J = random.randint(1, 5, (3, 4)).astype("i4")
K8 = random.randint(-9, 9, (3, 4)).astype("i1")
W = random.randint(0, 200, (3, 4)).astype("u1")
B = F > 0
D = G > 0
TIES = np.array([3, 1, 2, 3, 1, 0, 3], "i4")
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 2.5], "f4")
HOLES = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, -6.0]], "f4")
SORTED = np.sort(V)

UNARY_FLOAT = (
    "sin cos tan arcsin arctan sinh cosh tanh arcsinh exp exp2 expm1 sinc "
    "degrees radians deg2rad rad2deg cbrt fabs"
)
UNARY_POSITIVE = "sqrt log log2 log10 log1p reciprocal"
UNARY_ANY = (
    "negative positive sign square abs absolute floor ceil trunc rint isnan "
    "isinf isfinite signbit real imag conj"
)
BINARY = (
    "add subtract multiply divide true_divide maximum minimum fmax fmin hypot "
    "arctan2 copysign logaddexp logaddexp2 "
    "floor_divide remainder mod fmod equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor "
    "heaviside"
)
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm"
REDUCTIONS = "sum prod mean var std max min any all ptp argmax argmin count_nonzero median"
NAN_REDUCTIONS = "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian"


def call(function_name, *args, **kwargs):
    """A case: one function on the given arguments."""
    return lambda m: getattr(m, function_name)(*args, **kwargs)


def elementwise():
    for name in UNARY_FLOAT.split():
        yield name, call(name, S)
        yield f"{name} of ints", call(name, (I % 2).astype("i4"))
    for name in UNARY_POSITIVE.split():
        yield name, call(name, U)
    for name in UNARY_ANY.split():
        yield name, call(name, F)
        yield f"{name} of ints", call(name, I)
        yield f"{name} of odd numbers", call(name, ODD)
    for name in (
        "negative",
        "square",
        "exp",
        "sqrt",
        "sin",
        "abs",
        "conj",
        "real",
        "imag",
        "angle",
        "isnan",
        "sign",
        "tanh",
    ):
        yield f"{name} of complex", call(name, C)
    yield "arccos", call("arccos", S)
    yield "arccosh", call("arccosh", U + 1)
    yield "arctanh", call("arctanh", S)
    yield "angle of reals", call("angle", F)
    yield "modf", call("modf", F)
    yield "divmod", call("divmod", F, G)
    yield "round", call("round", F, 1)
    yield "round halves", call("round", np.array([0.5, 1.5, 2.5, -0.5], "f4"))
    yield "clip", call("clip", F, -0.5, 0.5)
    yield "clip by arrays", call("clip", F, COLUMN - 1, ROW + 1)
    yield "nan_to_num", call("nan_to_num", ODD)
    yield "nan_to_num given", call("nan_to_num", ODD, nan=1.0, posinf=2.0, neginf=-2.0)
    yield "isposinf", call("isposinf", ODD)
    yield "isneginf", call("isneginf", ODD)
    yield "bitwise_count", call("bitwise_count", I)
    yield "invert", call("invert", I)
    yield "invert booleans", call("invert", B)
    yield "logical_not", call("logical_not", I)


def binary():
    for name in BINARY.split():
        yield name, call(name, F, G)
        yield f"{name} broadcast", call(name, ROW, COLUMN)
        yield f"{name} of ints", call(name, I, J)
    for name in BITS.split():
        yield name, call(name, I if "shift" not in name else J, J)
        yield f"{name} broadcast", call(name, J[:1], J[:, :1])
    for name in ("gcd", "lcm"):
        yield f"{name} of a boolean", call(name, B, J)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "add", "multiply"):
        yield f"{name} of booleans", call(name, B, D)
    for name in ("maximum", "minimum", "fmax", "fmin", "add", "copysign"):
        yield f"{name} of odd numbers", call(name, ODD, ODD[::-1].copy())
    for name in ("add", "multiply", "divide", "equal"):
        yield f"{name} of complex", call(name, C, C.T.reshape(3, 4))
    yield "power", call("power", U, F)
    yield "power of ints", call("power", I, J)
    yield "float_power", call("float_power", U, G)
    yield "unsigned floor_divide", call("floor_divide", W, J.astype("u1"))
    yield "signed right_shift", call("right_shift", I, np.int32(1))


def logic():
    yield "isclose", call("isclose", F, F + np.float32(1e-6))
    yield "isclose nan", call("isclose", ODD, ODD, equal_nan=True)
    yield "allclose", call("allclose", F, F)
    yield "array_equal", call("array_equal", F, F)
    yield "array_equal of shapes", call("array_equal", F, V)
    yield "array_equiv", call("array_equiv", F, F[:1])
    yield "isin", call("isin", I, TIES)
    yield "isin inverted", call("isin", I, TIES, invert=True)
    yield "where", call("where", B, F, G)
    yield "where broadcast", call("where", COLUMN > 0, ROW, F)
    yield "select", lambda m: m.select([B, D], [F, G], 7.0)
    yield "choose", lambda m: m.choose(m.asarray(J % 2), [F, G])


def reductions():
    for name in REDUCTIONS.split():
        for label, x in (("", F), (" of ints", I), (" of booleans", B)):
            if name in ("ptp", "median") and x is B:
                continue
            yield f"{name}{label}", call(name, x)
            yield f"{name} axis{label}", call(name, x, axis=0)
            yield f"{name} last axis{label}", call(name, x, axis=-1, keepdims=True)
        if not name.startswith("arg"):
            yield f"{name} two axes", call(name, T, axis=(0, 2))
    for name in NAN_REDUCTIONS.split():
        yield name, call(name, HOLES)
        yield f"{name} axis", call(name, HOLES, axis=1)
    yield "nanargmax", call("nanargmax", HOLES, axis=1)
    yield "nanargmin", call("nanargmin", HOLES, axis=0)
    yield "sum where", call("sum", F, axis=1, where=B)
    yield "sum initial", call("sum", F, initial=10.0)
    yield "max initial where", call("max", F, initial=-1.0, where=B)
    yield "mean where", call("mean", F, axis=0, where=np.array([[True], [False], [True]]))
    yield "var ddof", call("var", F, axis=0, ddof=1)
    yield "std where", call("std", F, where=B)
    yield "var of complex", call("var", C)
    yield "mean of complex", call("mean", C, axis=0)
    yield "max of complex", call("max", C)
    yield "max of complex where", call("max", C, axis=0, initial=0.25, where=C.real > 0)
    yield "sum of small ints", call("sum", W)
    yield "average", call("average", F, axis=1)
    yield "average weighted", call("average", F, axis=1, weights=np.abs(V))
    yield "average returned", call("average", F, weights=np.abs(G), returned=True)
    yield "argmax of nan", call("argmax", ODD)
    yield "argmax of ties", call("argmax", TIES)
    yield "argmin of ties", call("argmin", TIES)
    for q in (0.3, np.array([0.1, 0.5], "f4")):
        yield f"quantile {np.ndim(q)}", call("quantile", F, q)
        yield f"quantile axis {np.ndim(q)}", call("quantile", F, q, axis=1, keepdims=True)
    for method in ("lower", "higher", "nearest", "midpoint"):
        yield f"quantile {method}", call("quantile", F, np.float32(0.37), axis=0, method=method)
    yield "percentile", call("percentile", F, 30.0)
    yield "nanquantile", call("nanquantile", HOLES, 0.4, axis=1)
    yield "cov", call("cov", F)
    yield "corrcoef", call("corrcoef", F)


def running():
    for name in ("cumsum", "cumprod"):
        yield name, call(name, F)
        yield f"{name} axis", call(name, F, axis=1)
        yield f"{name} of ints", call(name, I, axis=0)
    yield "nancumsum", call("nancumsum", HOLES, axis=1)
    yield "cumulative_sum", call("cumulative_sum", F, axis=1, include_initial=True)
    yield "diff", call("diff", F)
    yield "diff twice", call("diff", F, 2, 0)
    yield "diff extended", call("diff", F, axis=0, prepend=1.0, append=ROW)
    yield "ediff1d", call("ediff1d", V)
    yield "gradient", lambda m: m.gradient(F, 0.5)
    yield "gradient axis", lambda m: m.gradient(F, SORTED, axis=1)
    yield "trapezoid", call("trapezoid", F, dx=0.5)
    yield "trapezoid at", call("trapezoid", F, SORTED, axis=1)
    yield "interp", call("interp", V, SORTED, np.arange(4, dtype="f4"))
    yield "convolve", call("convolve", V, F[0])
    yield "convolve same", call("convolve", V, F[0, :3], "same")
    yield "correlate", call("correlate", V, F[0], "full")


def shapes():
    yield "reshape", call("reshape", F, (2, -1))
    yield "reshape columns first", call("reshape", F, (2, 6), order="F")
    yield "ravel", call("ravel", F)
    yield "ravel columns first", call("ravel", F, "F")
    yield "transpose", call("transpose", T)
    yield "transpose axes", call("transpose", T, (1, 2, 0))
    yield "swapaxes", call("swapaxes", T, 0, -1)
    yield "moveaxis", call("moveaxis", T, (0, 1), (-1, 0))
    yield "rollaxis", call("rollaxis", T, 2)
    yield "expand_dims", call("expand_dims", F, (0, -1))
    yield "squeeze", call("squeeze", F[None, :, None])
    yield "squeeze axis", call("squeeze", F[None, :, None], 0)
    yield "broadcast_to", call("broadcast_to", V, (3, 4))
    yield "broadcast_arrays", lambda m: list(m.broadcast_arrays(ROW, COLUMN))
    for n in (1, 2, 3):
        for x in (np.float32(1), V, F, T):
            yield f"atleast_{n}d of {np.ndim(x)}", call(f"atleast_{n}d", x)
    for name in ("vstack", "hstack", "dstack", "column_stack"):
        yield name, call(name, [F, G])
        yield f"{name} of vectors", call(name, [V, V])
    yield "concatenate", call("concatenate", [F, ROW], axis=0)
    yield "concatenate flat", call("concatenate", [F, V], axis=None)
    yield "concatenate mixed", call("concatenate", [F, I])
    yield "stack", call("stack", [F, G], axis=-1)
    yield "unstack", call("unstack", F, axis=1)
    yield "block", call("block", [[F, COLUMN], [ROW, np.ones((1, 1), "f4")]])
    yield "split", call("split", F, 2, axis=1)
    yield "split at", call("split", F, [1, 3], axis=1)
    yield "array_split", call("array_split", np.arange(7, dtype="i4"), 3)
    for name, x in (("vsplit", T), ("hsplit", F), ("dsplit", T)):
        yield name, call(name, x, 2)
    yield "tile", call("tile", F, (2, 1, 3))
    yield "tile once", call("tile", V, 2)
    yield "repeat", call("repeat", F, 2, axis=1)
    yield "repeat flat", call("repeat", F, 2)
    yield "repeat each", call("repeat", F, np.array([1, 0, 2]), axis=0)
    yield "roll", call("roll", F, 1)
    yield "roll axis", call("roll", F, -2, axis=1)
    yield "roll axes", call("roll", F, (1, 2), axis=(0, 1))
    for name in ("flip", "fliplr", "flipud"):
        yield name, call(name, F)
    yield "flip axis", call("flip", F, axis=1)
    for k in range(-1, 4):
        yield f"rot90 {k}", call("rot90", F, k)
    yield "append", call("append", F, G, axis=0)
    yield "append flat", call("append", F, V)
    yield "delete", call("delete", F, 1, axis=1)
    yield "delete several", call("delete", F, [0, 2], axis=0)
    yield "insert", call("insert", F, 1, V, axis=0)
    yield "insert numbers", call("insert", V, [1, 3], np.float32(9))
    yield "insert several", call("insert", F, [0, 2], COLUMN, axis=1)
    yield "resize", call("resize", V, (2, 3))
    for mode in (
        "edge",
        "reflect",
        "symmetric",
        "wrap",
        "mean",
        "maximum",
        "minimum",
        "linear_ramp",
        "constant",
    ):
        yield f"pad {mode}", call("pad", F, ((1, 2), (0, 3)), mode)
    yield "pad values", call("pad", F, 1, constant_values=(1, 2))
    yield "trim_zeros", call("trim_zeros", np.array([0, 0, 1, 2, 0], "f4"))
    yield "unravel_index", lambda m: list(m.unravel_index(np.array([5, 11]), (3, 4)))
    yield "ravel_multi_index", call("ravel_multi_index", (np.array([1, 2]), np.array([0, 3])), (3, 4))


def creation():
    yield "zeros", call("zeros", (2, 3), "f4")
    yield "ones", call("ones", 3, "i4")
    yield "full", call("full", (2, 2), np.float32(7))
    yield "full of array", call("full", (3, 4), V)
    yield "zeros_like", call("zeros_like", I)
    yield "ones_like", call("ones_like", F, shape=(2,))
    yield "full_like", call("full_like", F, 3)
    yield "arange", call("arange", 5, dtype="i4")
    yield "arange step", call("arange", 10, 3, -2, dtype="i4")
    yield "arange floats", call("arange", 0.5, 2.0, 0.25, dtype="f4")
    yield "linspace", call("linspace", -1.0, 3.0, 7, dtype="f4")
    yield "linspace open", call("linspace", -1.0, 3.0, 7, endpoint=False, dtype="f4")
    yield "linspace of arrays", call("linspace", V, V + 2, 5, axis=1, dtype="f4")
    yield "logspace", call("logspace", 0.0, 2.0, 5, dtype="f4")
    yield "geomspace", call("geomspace", 1.0, 100.0, 5, dtype="f4")
    yield "eye", call("eye", 3, 4, 1, dtype="f4")
    yield "identity", call("identity", 3, dtype="f4")
    yield "tri", call("tri", 3, 4, -1, dtype="f4")
    for name in ("tril", "triu"):
        yield name, call(name, T, 1)
    yield "diag", call("diag", V, 1)
    yield "diag of matrix", call("diag", F, -1)
    yield "diagonal", call("diagonal", T, 1, 1, 2)
    yield "diagflat", call("diagflat", F[:2, :2], -1)
    yield "trace", call("trace", F, 1)
    for indexing in ("xy", "ij"):
        yield (
            f"meshgrid {indexing}",
            lambda m, indexing=indexing: list(m.meshgrid(V, F[0, :2], indexing=indexing)),
        )
    yield "meshgrid sparse", lambda m: list(m.meshgrid(V, V, sparse=True))
    yield "indices", call("indices", (2, 3), dtype="i4")
    yield "vander", call("vander", V, 3)
    yield "tril_indices", lambda m: list(m.tril_indices(3))
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        yield name, call(name, 7)
    yield "kaiser", call("kaiser", 7, 3.0)


def products():
    yield "dot", call("dot", F, G.T)
    yield "dot of vectors", call("dot", V, V)
    yield "dot of stacks", call("dot", T, T.transpose(0, 2, 1))
    yield "dot with number", call("dot", F, np.float32(2))
    yield "vdot of complex", call("vdot", C, C[::-1])
    yield "vecdot", call("vecdot", F, G)
    yield "inner", call("inner", F, G)
    yield "outer", call("outer", V, F)
    yield "kron", call("kron", F[:2, :2], G[:2])
    for name, x, y in (
        ("matmul", F, G.T),
        ("matmul vectors", V, V),
        ("matmul vector right", T, V),
        ("matmul vector left", V, T.transpose(0, 2, 1)),
        ("matmul stacks", T, T.transpose(0, 2, 1)),
        ("matmul matrix left", F, T.transpose(0, 2, 1)),
        ("matmul broadcast", T[:, None], T.transpose(0, 2, 1)[None]),
        ("matmul ints", I, J.T),
        ("matmul complex", C, C.T),
    ):
        yield name, call("matmul", x, y)
    yield "tensordot", call("tensordot", T, F, 2)
    yield "tensordot axes", call("tensordot", T, F, axes=((2, 1), (1, 0)))
    yield "cross", call("cross", F[:, :3], G[:, 1:])
    yield "matvec", call("matvec", T, V)
    yield "vecmat", call("vecmat", V, T.transpose(0, 2, 1))
    for subscripts, *arrays in EINSUMS:
        yield f"einsum {subscripts}", call("einsum", subscripts, *arrays)
    yield "einsum of lists", lambda m: m.einsum(F, [0, 1], G, [2, 1], [2, 0])


EINSUMS = [
    ("ij,kj->ik", F, G),
    ("ij,kj", F, G),
    ("ij->ji", F),
    ("ij->", F),
    ("ij->j", F),
    ("ii", F[:, :3]),
    ("ii->i", F[:, :3]),
    ("i,j->ij", V, V),
    ("ij,ij->ij", F, G),
    ("bij,bkj->bik", T, T),
    ("...ij,...kj->...ik", T, F),
    ("...j->...", T),
    ("ij,jk,kl->il", F, G.T, F),
    ("bij,ij->b", T, F),
    ("ij,j,i->", F, V, COLUMN[:, 0]),
    ("abc,cd,bd->a", T, F.T, G[:, :3]),
    ("ij,ij,ij->i", F, G, F),
    ("a,b,c->cab", V, V, V),
    ("iij->ij", T[:, :2]),
    ("ij,jj->i", F[:, :3], G[:, :3]),
    ("...,...", F, G),
    ("...ij->...ji", T),
    ("ij , jk -> ki", F, G.T),
]


def ordering():
    yield "sort", call("sort", F)
    yield "sort axis", call("sort", F, axis=0)
    yield "sort flat", call("sort", F, axis=None)
    yield "sort odd numbers", call("sort", ODD)
    yield "sort complex", call("sort", C)
    yield "argsort", call("argsort", F, axis=0)
    yield "argsort ties", call("argsort", TIES, kind="stable")
    yield "lexsort", call("lexsort", (TIES, TIES[::-1]))
    yield "sort_complex", call("sort_complex", V)
    for side in ("left", "right"):
        yield (
            f"searchsorted {side}",
            call("searchsorted", np.array([1, 2, 2, 3], "f4"), np.array([[0, 2], [3, 9]], "f4"), side=side),
        )
    for right in (False, True):
        yield f"digitize {right}", call("digitize", V, SORTED, right)
        yield f"digitize falling {right}", call("digitize", V, SORTED[::-1], right)
    yield "nonzero", lambda m: list(m.nonzero(B))
    yield "flatnonzero", call("flatnonzero", B)
    yield "argwhere", call("argwhere", B)
    yield "where alone", lambda m: list(m.where(B))
    yield "unique", call("unique", TIES)
    yield "unique all", call("unique", TIES, return_index=True, return_inverse=True, return_counts=True)
    yield "unique rows", call("unique", np.array([[1, 2], [0, 1], [1, 2]], "i4"), axis=0)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        yield name, call(name, TIES, J.ravel())
    yield "bincount", call("bincount", TIES)
    yield "bincount weighted", call("bincount", TIES, np.arange(7, dtype="f4"))
    yield "histogram", call("histogram", F, 4)
    yield "take", call("take", F, np.array([2, 0]), axis=0)
    yield "take flat", call("take", F, np.array([[5, 0], [-1, 1]]))
    yield "take wrap", call("take", F, np.array([5, -7]), axis=1, mode="wrap")
    yield "take clip", call("take", F, np.array([5, -7]), axis=1, mode="clip")
    yield "take_along_axis", call("take_along_axis", F, np.argsort(F, 1), axis=1)
    yield "take_along_axis broadcast", call("take_along_axis", F, np.array([[2, 0]]), axis=1)
    yield "compress", call("compress", np.array([True, False, True]), F, axis=0)
    yield "extract", call("extract", B, F)
    yield "partition", lambda m: m.partition(V, 1)[1]


FAMILIES = (elementwise, binary, logic, reductions, running, shapes, creation, products, ordering)
CASES = {f"{family.__name__}: {name}": case for family in FAMILIES for name, case in family()}


def random_attention(heads):
    """Queries, keys or values of a small attention: batch 2, time 5, size 8."""
    return np.random.RandomState(heads).randn(2, 5, heads, 8).astype("f4")
