"""Kernels that JAX ships, from its own files, written for GPUs and TPUs and evaluated in NumPy, beside the
CPU: ``python written_kernels.py`` prints for each the number of kernels that were evaluated and the largest
difference.
"""

import sys
from pathlib import Path

import numpy as np
import rabbet as rb
import rabbet_jax

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

import calls
import test_tpu
import test_triton

rabbet_jax.install()
import jax.numpy as jnp  # noqa: E402
from jax.experimental.pallas.ops.gpu import attention, decode_attention, layer_norm, rms_norm, softmax  # noqa: E402
from jax.experimental.pallas.ops.tpu import flash_attention, matmul  # noqa: E402
from jax.experimental.pallas.ops.tpu.megablox import gmm  # noqa: E402
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


def squared(function):
    """The gradient of a sum of squares for three arguments."""
    return rb.grad(lambda *xs: (function(*xs) ** 2).sum(), (0, 1, 2))


def mha(q, k, v):
    sizes = dict.fromkeys("q k q_dkv kv_dkv q_dq kv_dq".split(), 16)
    blocks = attention.BlockSizes(**{f"block_{name}": n for name, n in sizes.items()})
    return attention.mha(q, k, v, None, causal=True, block_sizes=blocks)


def flash(q, k, v):
    sizes = flash_attention.BlockSizes(128, 128, 128, 1)
    return flash_attention.flash_attention(q, k, v, causal=True, block_sizes=sizes)


def paged(q, k, v):
    lengths, pages = np.array([40, 20], "int32"), np.array([[1, 2, 3, 4], [5, 6, 7, 0]], "int32")
    return paged_attention(q, k, v, lengths, pages, pages_per_compute_block=2)


def groups(x, y):
    return gmm(x, y, jnp.array([100, 0, 156]), preferred_element_type=jnp.float32)


def product(x, y):
    return matmul.matmul(x, y, block_shape=(128, 128), block_k=128)


GPU = [
    ("softmax", softmax.softmax, [(4, 50)]),
    ("layer_norm", squared(layer_norm.layer_norm), [(2, 2, 64), (64,), (64,)]),
    ("rms_norm", squared(rms_norm.rms_norm), [(2, 2, 64), (64,), (64,)]),
    ("attention", squared(mha), [(1, 32, 1, 32)] * 3),
    ("decode_attention", decode_attention.mqa, [(1, 16, 16), (1, 256, 16), (1, 256, 16)]),
]
TPU = [
    ("matmul", product, [(256, 256), (256, 128)]),
    ("megablox", groups, [(256, 128), (3, 128, 128)]),
    ("flash_attention", flash, [(1, 1, 256, 128)] * 3),
    ("paged_attention", paged, [(2, 8, 128), (8, 8, 16, 128), (8, 8, 16, 128)]),
]


def tried(name, function, shapes, evaluated):
    count = []

    def run(call, operands):
        count.append(call.name)
        return evaluated(call, operands)

    arguments = tuple([normal(*s) for s in shapes])
    flat = lambda *xs: rb.tree.leaves(function(*xs))
    found, wanted = calls.computed(flat, arguments, run), rb.jit(flat)(*arguments)
    pairs = [[np.asarray(x, "float64") for x in pair] for pair in zip(found, wanted, strict=True)]
    print(name, len(count), max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs), flush=True)


for rows, evaluated in ((GPU, test_triton.evaluated), (TPU, test_tpu.evaluated)):
    for row in rows:
        tried(*row, evaluated)
