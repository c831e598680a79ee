"""Attention of ``rabbet-kernels`` and its derivatives, as rows for writers."""

import ml_dtypes  # noqa: F401  NumPy knows its dtypes by name from then on
import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_kernels.attention import flash
from rabbet_kernels.attention_parts import Options

FULL = np.array([32, 32], "int32")


def random(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype("float32").astype(dtype)


def arguments(group, time, other, dtype="float32", size=32):
    return (
        random(2, 2 * group, time, size, dtype=dtype),
        random(2, 2, other, size, seed=1, dtype=dtype),
        random(2, 2, other, size, seed=2, dtype=dtype),
    )


def options(group=1, is_causal=False, window=None, bounded=False, rows=16, columns=16, in_turn=True):
    return Options(0.125, is_causal, window, group, rows, columns, bounded, in_turn)


def forward(asked, lengths):
    return lambda q, k, v, *extras: flash(asked, q, k, v, lengths, named(extras))[0]


def named(extras):
    """Extras of a row by their names: a bias, a mask, numbers of segments."""
    return dict(extras[0]) if extras else {}


def backward(asked, lengths):
    """All cotangents in one array, for a loss that weighs elements and logarithms."""

    def loss(q, k, v, bias, others):
        extras = others | ({} if bias is None else {"bias": bias})
        out, logs = flash(asked, q, k, v, lengths, extras)
        weight = rnp.cos(rnp.arange(out.size, dtype="float32")).reshape(out.shape)
        return (out.astype("float32") * weight).sum() + (logs * 0.1).sum()

    def gradient(q, k, v, *extras):
        extras = named(extras)
        bias = extras.pop("bias", None)
        numbers = (0, 1, 2) if bias is None else (0, 1, 2, 3)
        found = rb.grad(loss, numbers)(q, k, v, bias, extras)
        return rnp.concatenate([x.astype("float32").reshape(-1) for x in found])

    return gradient


CASES = [
    ("attention", options(), arguments(1, 32, 32), FULL),
    ("attention, causal, grouped heads", options(2, True), arguments(2, 32, 32), FULL),
    ("attention, window, lengths left over", options(1, False, (9, 5)), arguments(1, 20, 38), FULL + 6),
    ("attention, causal window", options(1, True, (10, 0)), arguments(1, 32, 32), FULL),
    (
        "attention, lengths of keys",
        options(1, bounded=True),
        arguments(1, 32, 32),
        np.array([32, 21], "int32"),
    ),
]
BOTH = ("triton", "tpu")


def extra(bias=None, mask=None, segments=False, time=32, other=32):
    """Arguments of attention with a bias and a mask of these shapes, and with segments."""
    found, draw = {}, np.random.default_rng(3)
    if bias is not None:
        found["bias"] = draw.normal(size=bias).astype("float32")
    if mask is not None:
        found["mask"] = (draw.random(mask) < 0.7).astype("int32")
    if segments:
        found["segments"] = np.sort(draw.integers(0, 3, (2, 1, time, 1)), 2).astype("int32")
        found["other_segments"] = np.sort(draw.integers(0, 3, (2, 1, 1, other)), 3).astype("int32")
    return (*arguments(2, time, other), found)


# On a TPU a part of the last dimension begins at a multiple of 128.
WIDE = np.array([256, 256], "int32")
EXTRAS = [
    ("bias for all pairs", extra((2, 4, 32, 32)), FULL, {}),
    ("bias for keys, segments", extra((1, 1, 1, 32), segments=True), FULL, {"is_causal": True}),
    ("bias of heads, mask", extra((1, 4, 20, 38), (2, 1, 20, 38), time=20, other=38), FULL + 6, {}),
    ("bias for queries, mask of keys", extra((2, 1, 32, 1), (2, 1, 1, 32)), FULL, {"window": (9, 5)}),
]
MORE = [
    (
        f"attention, {name}{said}",
        make(options(2, **more, columns=64, in_turn=target == "tpu"), lengths),
        given,
        (target,),
    )
    for name, given, lengths, more in EXTRAS
    for target in BOTH
    for said, make in ((f" {target}", forward), (f" {target}: gradient", backward))
]
KERNELS = [
    *[(name, forward(asked, lengths), given, BOTH) for name, asked, given, lengths in CASES],
    *[(f"{name}: gradient", backward(asked, lengths), given, BOTH) for name, asked, given, lengths in CASES],
    ("attention bf16", forward(options(1, True), FULL), arguments(1, 32, 32, "bfloat16", 128), BOTH),
    *MORE,
    (
        "attention, bias, segments, many keys",
        backward(options(2, columns=128), WIDE),
        extra((1, 4, 32, 256), segments=True, other=256),
        ("tpu",),
    ),
    ("attention f16", forward(options(1, True), FULL), arguments(1, 32, 32, "float16", 64), ("triton",)),
]
