"""Small calls of kernels that JAX ships: by JAX's interpreter or, with ``--rabbet``, on Rabbet, which serves
jax: ``python published_kernels.py results.npz`` and names of cases, by default all. The kernels' files are
JAX's, unchanged.
"""

import sys

import numpy as np

if "--rabbet" in sys.argv:
    import rabbet_jax

    rabbet_jax.install()
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

if "--rabbet" not in sys.argv:
    compiled = pl.pallas_call
    pl.pallas_call = lambda *args, **named: compiled(*args, **{**named, "interpret": True})

R = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(R.normal(size=shape).astype("float32"))


def ints(values):
    return jnp.asarray(values, "int32")


def tpu_matmul():
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    return matmul(normal(256, 256), normal(256, 128), block_shape=(128, 128), block_k=128)


def grads(f, *a):
    out, pull = jax.vjp(f, *a)
    return [out, *pull(jnp.ones_like(out) * 0.1 + out)]


def tpu_flash():
    from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, flash_attention

    b = BlockSizes(
        block_q=128,
        block_k_major=128,
        block_k=128,
        block_b=1,
        block_q_major_dkv=128,
        block_k_major_dkv=128,
        block_k_dkv=128,
        block_q_dkv=128,
        block_k_major_dq=128,
        block_k_dq=128,
        block_q_dq=128,
    )
    q, k, v = [normal(1, 2, 256, 64) for _ in range(3)]
    return grads(
        lambda q, k, v: flash_attention(q, k, v, causal=True, sm_scale=0.125, block_sizes=b), q, k, v
    )


def tpu_splash():
    from jax.experimental.pallas.ops.tpu import splash_attention as sa

    n = 256
    q, k, v = [normal(2, n, 128) for _ in range(3)]
    mask = sa.MultiHeadMask([sa.CausalMask((n, n)), sa.LocalMask((n, n), (64, 0), 0)])
    b = sa.BlockSizes(
        block_q=128,
        block_kv=128,
        block_kv_compute=128,
        block_q_dkv=128,
        block_kv_dkv=128,
        block_kv_dkv_compute=128,
        block_q_dq=128,
        block_kv_dq=128,
    )
    f = sa.make_splash_mha(mask, block_sizes=b, head_shards=1, q_seq_shards=1)
    return grads(lambda q, k, v: f(q, k, v), q, k, v)


def tpu_megablox():
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    x, w = normal(384, 128), normal(3, 128, 128)
    sizes = ints([100, 200, 84])
    return grads(lambda x, w: gmm(x, w, sizes, jnp.float32, (128, 128, 128), interpret=True), x, w)


def tpu_paged():
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

    q = normal(2, 4, 128)
    kp = normal(2, 8, 16, 128)
    vp = normal(2, 8, 16, 128)
    idx = ints(R.permutation(8).reshape(2, 4))
    return paged_attention(q, kp, vp, ints([40, 64]), idx, pages_per_compute_block=2)


def tpu_ragged():
    """JAX's own interpreter cannot run it: beside the function that its package has to compare with."""
    from jax.experimental.pallas.ops.tpu import ragged_paged_attention as rpa

    args = [normal(32, 4, 128), normal(8, 16, 4, 128), ints([40, 20]), ints(R.permutation(8).reshape(2, 4))]
    args += [ints([0, 20, 32]), ints([2])]
    if "--rabbet" not in sys.argv:
        return rpa.ref_ragged_paged_attention(*args)
    return rpa.ragged_paged_attention(*args, num_kv_pages_per_block=2, num_queries_per_block=8)


def tpu_example():
    from jax.experimental.pallas.ops.tpu.example_kernel import double

    return double(normal(8, 128))


def gpu_mha():
    from jax.experimental.pallas.ops.gpu.attention import BlockSizes, mha

    q, k, v = [normal(1, 128, 2, 64) for _ in range(3)]
    s = ints(np.repeat([0, 1], 64)[None])
    b = BlockSizes(block_q=64, block_k=64, block_q_dkv=32, block_kv_dkv=32, block_q_dq=32, block_kv_dq=32)
    return grads(
        lambda q, k, v: mha(q, k, v, s, causal=True, sm_scale=0.125, block_sizes=b, interpret=True), q, k, v
    )


def gpu_softmax():
    from jax.experimental.pallas.ops.gpu.softmax import softmax

    return softmax(normal(6, 100), interpret=True)


def gpu_layer_norm():
    from jax.experimental.pallas.ops.gpu.layer_norm import layer_norm

    return grads(
        lambda x, w, b: layer_norm(x, w, b, interpret=True), normal(2, 32, 100), normal(100), normal(100)
    )


def gpu_rms_norm():
    from jax.experimental.pallas.ops.gpu.rms_norm import rms_norm

    return grads(
        lambda x, w, b: rms_norm(x, w, b, interpret=True), normal(2, 32, 100), normal(100), normal(100)
    )


def gpu_decode_mqa():
    from jax.experimental.pallas.ops.gpu.decode_attention import mqa

    return mqa(
        normal(2, 16, 64),
        normal(2, 256, 64),
        normal(2, 256, 64),
        kv_seq_len=ints([200, 256]),
        k_splits=2,
        block_k=64,
        interpret=True,
    )


def gpu_decode_gqa():
    from jax.experimental.pallas.ops.gpu.decode_attention import gqa

    return gqa(
        normal(2, 8, 64), normal(2, 256, 2, 64), normal(2, 256, 2, 64), k_splits=2, block_k=64, interpret=True
    )


def gpu_paged():
    from jax.experimental.pallas.ops.gpu.paged_attention import paged_attention

    q = normal(2, 16, 64)
    kp = normal(2, 8, 16, 64)
    vp = normal(2, 8, 16, 64)
    idx = ints(R.permutation(8).reshape(2, 4))
    return paged_attention(
        q, kp, vp, idx, ints([40, 64]), pages_per_compute_block=2, k_splits=2, interpret=True
    )


def tpu_more_matmul():
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    x, y = normal(3, 128, 256), normal(3, 256, 128)
    product = lambda x, y: matmul(x, y, block_shape=(128, 128), block_k=128)
    few = matmul(x[0].astype("bfloat16"), y[0].astype("bfloat16"), block_shape=(128, 128), block_k=128)
    return jax.vmap(product)(x, y), few.astype("float32")


def tpu_more_flash():
    """A bias, segments and half precision."""
    from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, SegmentIds, flash_attention

    b = BlockSizes(128, 128, 128, 1, 128, 128, 128, 128, 128, 128, 128)
    q, k, v = [normal(1, 1, 256, 64).astype("bfloat16") for _ in range(3)]
    ids = ints(np.sort(R.integers(0, 3, (1, 256)), 1))
    run = lambda q, k, v, ab: flash_attention(
        q, k, v, ab, SegmentIds(ids, ids), causal=True, sm_scale=0.125, block_sizes=b
    )
    return [x.astype("float32") for x in grads(run, q, k, v, normal(1, 1, 256, 256))]


def tpu_more_splash():
    """A mask of its own, four heads for two, a soft cap, segments, one kernel for all derivatives."""
    from jax.experimental.pallas.ops.tpu import splash_attention as sa

    n = 256
    q, k, v = 0.1 * normal(4, n, 128), normal(2, n, 128), normal(2, n, 128)
    own = sa.NumpyMask((R.random((n, n)) < 0.5) | np.eye(n, dtype=bool))
    mask = sa.MultiHeadMask([own, sa.FullMask((n, n)), sa.CausalMask((n, n)) & own, sa.CausalMask((n, n))])
    b = sa.BlockSizes(128, 128, 128, 128, 128, 128, use_fused_bwd_kernel=True)
    f = sa.make_splash_mha(mask, block_sizes=b, head_shards=1, q_seq_shards=1, attn_logits_soft_cap=20.0)
    ids = ints(np.repeat([0, 1], n // 2))
    return grads(lambda q, k, v: f(q, k, v, sa.SegmentIds(ids, ids)), q, k, v)


def tpu_more_megablox():
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    x, w = normal(384, 160), normal(5, 192, 160)
    sizes = ints([128, 0, 200, 0, 56])
    return grads(lambda x, w: gmm(x, w, sizes, transpose_rhs=True, interpret=True), x, w)


def tpu_more_paged():
    """Pages of int8 with scales."""
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention, quantization_utils

    pages = [quantization_utils.QuantizedTensor(*quantization_utils.quantize_to_int8(normal(2, 8, 16, 128)))
             for _ in range(2)]  # fmt: skip
    idx = ints(R.permutation(8).reshape(2, 4))
    return paged_attention(normal(2, 4, 128), *pages, ints([1, 64]), idx, pages_per_compute_block=4)


def gpu_more():
    """Half precision, other derivatives, starts, scales."""
    from jax.experimental.pallas.ops.gpu import decode_attention, layer_norm, paged_attention, softmax

    half = lambda *shape: normal(*shape).astype("float16")
    idx = ints(R.permutation(8).reshape(2, 4))
    small = lambda: (20 * normal(2, 8, 16, 64)).astype("int8")
    scale = lambda: jnp.abs(normal(2, 8, 16))
    found = [
        softmax.softmax(half(5, 33), interpret=True),
        *grads(lambda *a: layer_norm.layer_norm(*a, backward_pass_impl="xla", interpret=True),
               half(2, 16, 130), half(130), half(130)),
        decode_attention.mqa(normal(2, 32, 64), normal(2, 256, 64), normal(2, 256, 64), ints([10, 70]),
                             ints([200, 256]), k_splits=4, block_k=64, interpret=True),
        paged_attention.paged_attention(normal(2, 4, 64), small(), small(), idx, None, scale(), scale(),
                                        pages_per_compute_block=1, k_splits=2, interpret=True),
    ]  # fmt: skip
    return [x.astype("float32") for x in found]


CASES = {name: case for name, case in list(globals().items()) if name.startswith(("tpu_", "gpu_"))}

if __name__ == "__main__":
    found = {}
    for name in [one for one in sys.argv[2:] if one != "--rabbet"] or CASES:
        R = np.random.default_rng(0)
        found |= {f"{name} {i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(CASES[name]()))}
    np.savez(sys.argv[1], **found)
