"""Kernels that writers are tried with: rows of a name, a function, and its arguments.

Each row is computed on the CPU (the language's own operations), written for the hardware, and what was
written
is evaluated in NumPy; ``tests/aot`` compiles the same rows, and ``tools/check/kernels_on_gpu.py`` runs them.
"""

import dataclasses
from collections.abc import Callable

import attention
import longer_kernels
import numpy as np
import of_library
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl


@dataclasses.dataclass(frozen=True)
class Row:
    """A kernel with arguments: ``function(*arguments)``. ``targets`` are those that can have it."""

    name: str
    function: Callable
    arguments: tuple
    targets: tuple[str, ...] = ("triton", "tpu")
    tolerance: float = 1e-5

    @property
    def types(self):
        struct = lambda a: rb.ShapeDtypeStruct(np.shape(a), np.asarray(a).dtype)
        return [rb.tree.map(struct, a) for a in self.arguments]


def normal(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32").astype(dtype)


def integers(*shape, dtype="int32", low=-9, high=9):
    return np.random.default_rng(1).integers(low, high, size=shape).astype(dtype)


def whole(function, *arguments, out=None):
    """A kernel of one program that computes a function of whole arrays."""

    def kernel(*refs):
        *ins, result = refs
        result[...] = function(*[r[...] for r in ins])

    def call(*arrays):
        shape = out or rb.eval_shape(function, *arrays)
        return pl.pallas_call(kernel, rb.ShapeDtypeStruct(shape.shape, shape.dtype), name="whole")(*arrays)

    return call


X, Y, POSITIVE, UNIT = (
    normal(8, 128),
    normal(8, 128, seed=1),
    abs(normal(8, 128)) + 0.1,
    np.tanh(normal(8, 128)) * 0.9,
)
N, M = integers(8, 128), integers(8, 128, low=1, high=5)
U = integers(8, 128, dtype="uint32", low=0, high=99)

# (name, function of whole arrays, arguments)
ELEMENTWISE = [
    *[(f"{n} f32", getattr(lax, n), (X, Y)) for n in "add sub mul div max min rem".split()],
    *[(f"{n} i32", getattr(lax, n), (N, M)) for n in "add sub mul div max min rem".split()],
    *[(f"{n} u32", getattr(lax, n), (U, M.astype("uint32"))) for n in "add div max min rem".split()],
    *[(n, getattr(lax, n), (N, M)) for n in "bitwise_and bitwise_or bitwise_xor".split()],
    *[(n, getattr(lax, n), (N, M)) for n in "shift_left shift_right_arithmetic shift_right_logical".split()],
    *[
        (n, getattr(lax, n), (X,))
        for n in "neg abs sign exp exp2 tanh logistic floor ceil round sin cos".split()
    ],
    *[(n, getattr(lax, n), (X,)) for n in "erf erfc expm1 square".split()],
    *[(n, getattr(lax, n), (POSITIVE,)) for n in "log log1p sqrt rsqrt".split()],
    *[(f"{n} i32", getattr(lax, n), (N,)) for n in "neg abs sign bitwise_not".split()],
    *[
        (f"{n} f32", lambda x, y, n=n: lax.select(getattr(lax, n)(x, y), x, y), (X, Y))
        for n in "lt le gt ge eq ne".split()
    ],
    *[
        (f"{n} i32", lambda x, y, n=n: lax.select(getattr(lax, n)(x, y), x, y), (N, M))
        for n in "lt le gt ge eq ne".split()
    ],
    ("lt u32", lambda x, y: lax.select(lax.lt(x, y), x, y), (U, U[::-1].copy())),
    ("integer_pow", lambda x: lax.integer_pow(x, 5), (X,)),
    ("integer_pow -2", lambda x: lax.integer_pow(x, -2), (POSITIVE,)),
    ("pow", lambda x, y: lax.pow(x, y), (POSITIVE, Y)),
    ("clamp", lambda x: lax.clamp(-0.5, x, 0.5), (X,)),
    ("f32 to i32", lambda x: (x * 9).astype("int32"), (X,)),
    ("i32 to f32", lambda x: x.astype("float32"), (N,)),
    ("f32 to bf16 and back", lambda x: x.astype("bfloat16").astype("float32"), (X,)),
    ("u32 to f32", lambda x: x.astype("float32"), (U,)),
    ("bits of f32", lambda x: lax.bitcast_convert_type(x, "int32"), (X,)),
    ("silu", rb.nn.silu, (X,)),
    ("gelu", rb.nn.gelu, (X,)),
    (
        "is_finite",
        lambda x: rnp.where(lax.is_finite(1 / x), x, 2.0),
        (np.where(X > 1, X, 0).astype("float32"),),
    ),
    ("where", lambda x: rnp.where(x > 0, x, -np.inf), (X,)),
]
ARRAYS = [
    ("iota", lambda x: x + lax.broadcasted_iota("float32", (8, 128), 1), (X,)),
    ("sum of rows", lambda x: x + rnp.sum(x, 1, keepdims=True), (X,)),
    ("sum of columns", lambda x: x + rnp.sum(x, 0, keepdims=True), (X,)),
    ("max of rows", lambda x: x - rnp.max(x, 1, keepdims=True), (X,)),
    ("min of columns", lambda x: x - rnp.min(x, 0, keepdims=True), (X,)),
    ("a row for all", lambda x, y: x + y[None], (X, X[0])),
    ("transpose", lambda x: x.T + 1, (normal(128, 128),)),
]


def products():
    a, b = normal(64, 32), normal(32, 128)
    dot = lambda x, y, dims, **more: lax.dot_general(x, y, dimension_numbers=(dims, ((), ())), **more)
    precise = {"precision": "highest"}
    yield "dot", whole(lambda x, y: dot(x, y, ((1,), (0,)), **precise)), (a, b)
    yield "dot of transposed", whole(lambda x, y: dot(x, y, ((1,), (1,)), **precise)), (a, normal(128, 32))
    yield "dot by columns", whole(lambda x, y: dot(x, y, ((0,), (0,)), **precise)), (normal(32, 64), b)
    half = {"preferred_element_type": "float32"}
    small = [x.astype("bfloat16") for x in (normal(64, 128), normal(128, 128))]
    yield "dot bf16", whole(lambda x, y: dot(x, y, ((1,), (0,)), **half)), tuple(small)


def softmax(x, rows=8):
    def kernel(x, out):
        part = x[...]
        e = rnp.exp(part - rnp.max(part, axis=1, keepdims=True))
        out[...] = e / rnp.sum(e, axis=1, keepdims=True)

    block = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    grid = -(-x.shape[0] // rows)
    shape = rb.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, shape, grid=grid, in_specs=[block], out_specs=block, name="softmax")(x)


def matmul(x, y, block=(32, 128)):
    """A product by blocks, summed up in a loop over the contracted dimension."""
    (m, k), n = x.shape, y.shape[1]

    def kernel(x, y, out):
        def step(i, total):
            return total + lax.dot(x[:, pl.ds(i * 128, 128)], y[pl.ds(i * 128, 128), :], precision="highest")

        out[...] = lax.fori_loop(0, k // 128, step, rnp.zeros(block, "float32"))

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((m, n), "float32"), grid=(m // block[0], n // block[1]), name="matmul",
        in_specs=[pl.BlockSpec((block[0], k), lambda i, j: (i, 0)), pl.BlockSpec((k, block[1]), lambda i,
        j: (0, j))], out_specs=pl.BlockSpec(block, lambda i, j: (i, j)),
    )(x, y)  # fmt: skip


def squeezed(x):
    """Three dimensions, of which the kernel sees two, in another order of blocks."""

    def kernel(x, out):
        out[...] = x[...] * 2

    a, b, c = x.shape
    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((b, a, c), "float32"), grid=(a, b // 8), name="squeezed",
        in_specs=[pl.BlockSpec((None, 8, c), lambda i, j: (i, j, 0))],
        out_specs=pl.BlockSpec((8, None, c), lambda i, j: (j, i, 0)),
    )(x)  # fmt: skip


def counted(x):
    """A loop whose bound the data says, a branch, and a loop that ends by a condition."""

    def kernel(x, n, out):
        total = lax.fori_loop(0, n[0], lambda i, c: c + i.astype("float32"), x[...])
        total = lax.cond(n[0] > 2, lambda v: v + 1, lambda v: v * 2, total)
        more = lambda c: c[0] * c[0] < n[0] * 10
        rounds, total = lax.while_loop(more, lambda c: (c[0] + 2, c[1] * 2), (n[0], total))
        out[...] = total + rounds.astype("float32")

    return pl.pallas_call(kernel, rb.ShapeDtypeStruct(x.shape, "float32"), name="counted")(
        x, np.array([5], "int32")
    )


def last_place(dtype):
    """How far neighbours are apart: results in a small dtype may be rounded to either."""
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10}.get(str(dtype), 0.0)


def rows():
    """All rows."""
    for name, function, arguments in [*ELEMENTWISE, *ARRAYS]:
        yield Row(name, whole(function), arguments)
    for name, function, arguments in products():
        yield Row(name, function, arguments)
    yield Row("softmax", softmax, (normal(16, 128),))
    yield Row("softmax, rows left over", softmax, (normal(20, 128),))
    yield Row("matmul", matmul, (normal(64, 256), normal(256, 256)), tolerance=1e-4)
    yield Row("squeezed", squeezed, (normal(3, 16, 128),), ("triton",))
    yield Row("counted", counted, (normal(8, 128),), ("triton",))
    yield Row("mapped", rb.vmap(softmax), (normal(3, 16, 128),))
    more = [*longer_kernels.KERNELS, *attention.KERNELS, *of_library.KERNELS]
    for name, function, arguments, targets in more:
        yield Row(name, function, arguments, targets, max(1e-4, last_place(arguments[0].dtype)))


ROWS = {row.name: row for row in rows()}
