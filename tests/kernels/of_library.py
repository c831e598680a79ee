"""Norms and products by blocks of ``rabbet-kernels``, as rows for writers, and beside plain programs."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import float8
from rabbet_kernels import cross_entropy, normalizing, scaled


def random(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype("float32").astype(dtype)


def norm(platform, centered):
    options = normalizing.Options(centered, 1e-5, platform)
    return lambda x, *factors: normalizing.by_kernels(options, x, *factors)


def gradient(f):
    """All cotangents in one array, for half of the sum of squares, whose cotangent is the result itself."""

    def found(*arrays):
        loss = lambda *arrays: (f(*arrays) ** 2).sum() / 2

        parts = rb.grad(loss, tuple(range(len(arrays))))(*arrays)
        return rnp.concatenate([p.astype("float32").reshape(-1) for p in parts])

    return found


def by_blocks(mode, m=70, n=40, k=256):
    """The options and the bytes of a product."""
    config = float8.get_scaled_dot_general_config(mode)
    parts = [float8.quantize_blocks(random(1, rows, k, seed=rows), config) for rows in (m, n)]
    arrays = [parts[0][0], parts[1][0], parts[0][1], parts[1][1]]
    options = scaled.Options(str(arrays[0].dtype), str(arrays[2].dtype), config.block_size)
    return options, tuple([np.asarray(scaled.in_bytes(x)) for x in arrays])


def products():
    for mode in ("mxfp8", "mxfp4", "nvfp4"):
        options, arrays = by_blocks(mode)
        yield (
            f"scaled product {mode}",
            lambda *xs, options=options: scaled.product(options, *xs),
            arrays,
            ("triton",),
        )


X, SCALE, BIAS = random(20, 100), random(100, seed=1), random(100, seed=2)
NORMS = [
    (f"{name} {target}{said}", make(norm(platform, centered)), (X, *factors), (target,))
    for target, platform in (("triton", "cuda"), ("tpu", "tpu"))
    for name, centered, factors in (("layer norm", True, (SCALE, BIAS)), ("rms norm", False, (SCALE,)))
    for said, make in (("", lambda f: f), (": gradient", gradient))
]
KERNELS = [*NORMS, *products()]


def beside_plain(small=False):
    """By name: a function, the plain program, and arguments of a size that is worth a kernel."""
    rows, size, classes, length = (32, 128, 256, 64) if small else (2048, 1024, 32768, 1024)
    x, scale, bias = random(rows, size), random(size, seed=1), random(size, seed=2)
    plain_norm = lambda centered: (
        lambda x, *factors: normalizing.directly(normalizing.Options(centered, 1e-5, ""), x, *factors)
    )
    of_platform = rb.default_backend()
    platform = of_platform if of_platform in ("cuda", "tpu") else "tpu"
    yield "layer norm", norm(platform, True), plain_norm(True), (x, scale, bias)
    yield "layer norm: gradient", gradient(norm(platform, True)), gradient(plain_norm(True)), (x, scale, bias)
    yield "rms norm", norm(platform, False), plain_norm(False), (x, scale)
    yield "rms norm: gradient", gradient(norm(platform, False)), gradient(plain_norm(False)), (x, scale)
    hidden, weights = random(rows // 4, size // 4), random(size // 4, classes, seed=1) * 0.05
    labels = np.arange(rows // 4, dtype="int32") % classes
    blocked = lambda h, w: cross_entropy.softmax_cross_entropy(h, w, labels)
    at_once = lambda h, w: cross_entropy.plain(h, w, labels)
    yield "cross entropy", blocked, at_once, (hidden, weights)
    yield "cross entropy: gradient", gradient(blocked), gradient(at_once), (hidden, weights)
    for mode in ("mxfp8", "nvfp4"):
        config = float8.get_scaled_dot_general_config(mode)
        parts = [float8.quantize_blocks(random(1, rows // 4, size, seed=s), config) for s in (0, 1)]
        arrays = parts[0][0], parts[1][0], parts[0][1], parts[1][1]
        yield f"scaled product {mode}", scaled.by_kernel, float8.scaled_matmul, arrays
    q, k, v = [random(1, length, 8, 64, seed=s) for s in range(3)]
    causal = lambda implementation: (
        lambda q, k, v: rb.nn.dot_product_attention(q, k, v, is_causal=True, implementation=implementation)
    )
    yield "attention", causal(None), causal("xla"), (q, k, v)
    yield "attention: gradient", gradient(causal(None)), gradient(causal("xla")), (q, k, v)


__all__ = ["KERNELS", "beside_plain"]
