"""Attention of ``rabbet-kernels`` and its derivatives, as rows for writers."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_kernels import attention_kernels
from rabbet_kernels.attention import flash

FULL = np.array([32, 32], "int32")


def random(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype("float32").astype(dtype)


def arguments(group, time, other, dtype="float32", size=32):
    return (
        random(2, 2 * group, time, size, dtype=dtype),
        random(2, 2, other, size, seed=1, dtype=dtype),
        random(2, 2, other, size, seed=2, dtype=dtype),
    )


def options(group=1, is_causal=False, window=None, bounded=False, rows=16, columns=16):
    return attention_kernels.Options(0.125, is_causal, window, group, rows, columns, bounded)


def forward(asked, lengths):
    return lambda q, k, v: flash(asked, q, k, v, lengths)[0]


def backward(asked, lengths):
    """All cotangents in one array, for a loss that weighs elements and logarithms."""

    def loss(q, k, v):
        out, logs = flash(asked, q, k, v, lengths)
        weight = rnp.cos(rnp.arange(out.size, dtype="float32")).reshape(out.shape)
        return (out.astype("float32") * weight).sum() + (logs * 0.1).sum()

    def gradient(q, k, v):
        found = rb.grad(loss, (0, 1, 2))(q, k, v)
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
KERNELS = [
    *[(name, forward(asked, lengths), given, BOTH) for name, asked, given, lengths in CASES],
    *[(f"{name}: gradient", backward(asked, lengths), given, BOTH) for name, asked, given, lengths in CASES],
    ("attention bf16", forward(options(1, True), FULL), arguments(1, 32, 32, "bfloat16", 128), BOTH),
    ("attention f16", forward(options(1, True), FULL), arguments(1, 32, 32, "float16", 64), ("triton",)),
]
