"""``rabbet.nn.dot_product_attention`` takes kernels where they are, and is what it was everywhere else."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.nn import implementations
from rabbet_kernels.attention import attend, flash, plain
from rabbet_kernels.attention_parts import Options

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
CALLS = {"cuda": "__gpu$xla.gpu.triton", "tpu": "tpu_custom_call"}


def lowered(platform, size=64, dtype="float32", gradient=False, **more):
    x = rb.ShapeDtypeStruct((1, 64, 2, size), dtype)
    result = lambda q, k, v: rb.nn.dot_product_attention(q, k, v, **more)
    loss = lambda q, k, v: result(q, k, v).astype("float32").sum()
    f = rb.jit(rb.grad(loss, (0, 1, 2)) if gradient else result)
    return f.trace(x, x, x).lower(platforms=(platform,)).as_text()



@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_kernels_are_used_on_hardware(platform):
    for size in (64, 96, 128, 256):
        assert CALLS[platform] in lowered(platform, size, is_causal=True)
    assert CALLS[platform] in lowered(platform, dtype="bfloat16", local_window_size=(3, 4))
    assert lowered(platform, gradient=True).count(CALLS[platform]) == 3


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_plain_operations_where_a_kernel_cannot_be(platform):
    for more in ({"implementation": "xla"}, {"size": 320}):
        assert CALLS[platform] not in lowered(platform, **more)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("named", ["bias", "mask", "segment_ids"])
def test_kernels_with_a_bias_a_mask_or_segments(platform, named):
    one = {
        "bias": np.zeros((1, 2, 64, 64), "float32"),
        "mask": np.ones((1, 1, 1, 64), bool),
        "segment_ids": np.zeros((1, 64), "int32"),
    }
    assert CALLS[platform] in lowered(platform, **{named: one[named]})


def test_nothing_changes_on_the_cpu():
    texts = [lowered("cpu", is_causal=True, implementation=i) for i in (None, "xla")]
    for operation in ("dot_general", "exponential", "select", "while", "case"):
        assert len({text.count(f"stablehlo.{operation}") for text in texts}) == 1


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_what_kernels_are_asked_for_is_what_plain_operations_give(platform, monkeypatch):
    """The table's function, computed on the CPU, against ``implementation="xla"``."""
    random = np.random.default_rng(0)
    q = random.normal(size=(2, 24, 4, 24)).astype("float32")
    k, v = random.normal(size=(2, 2, 40, 2, 24)).astype("float32")
    more = {"is_causal": True, "local_window_size": (7, 0), "key_value_seq_lengths": np.array([40, 11])}
    more["query_seq_lengths"] = np.array([24, 9])
    wanted = rb.nn.dot_product_attention(q, k, v, implementation="xla", return_residual=True, **more)
    here = lambda *_: {"cpu": lambda *args: attend(platform, *args)}
    monkeypatch.setattr(implementations, "for_platforms", here)
    found = rb.nn.dot_product_attention(q, k, v, return_residual=True, **more)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    rows = [(0, slice(None)), (1, slice(9))]  # of queries that do not count nothing is said
    for example, some in rows:
        np.testing.assert_allclose(found[1][example, some], wanted[1][example, some], rtol=1e-5, atol=1e-5)


def test_a_query_that_sees_no_key():
    """A mean of nothing: zeros, without a gradient, and no NaN."""
    x = np.random.default_rng(1).normal(size=(1, 1, 16, 16)).astype("float32")
    asked = Options(1.0, False, None, 1, 16, 16, True)
    out, pull = rb.vjp(lambda q, k, v: flash(asked, q, k, v, np.zeros(1, "int32"), {})[0], x, x, x)
    assert not rnp.any(out)
    assert not any(bool(rnp.any(c)) for c in pull(rnp.ones_like(out)))


def test_forward_mode_and_second_derivatives():
    x = np.random.default_rng(1).normal(size=(3, 1, 1, 16, 16)).astype("float32")
    asked = Options(0.25, True, None, 1, 16, 16, False)
    lengths = np.array([16], "int32")
    kernels = lambda *xs: (flash(asked, *xs, lengths, {})[0] ** 2).sum()
    directly = lambda *xs: (plain(asked, *xs, lengths, {})[0] ** 2).sum()
    direction = tuple(np.roll(x, 1, 0))
    for f, g in ((kernels, directly), (rb.grad(kernels), rb.grad(directly))):
        for a, b in zip(rb.jvp(f, tuple(x), direction), rb.jvp(g, tuple(x), direction), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


BIAS = [(2, 4, 24, 40), (1, 4, 1, 40), (1, 1, 24, 40), (4, 24, 1), (2, 1, 1, 40)]


SHOWN = [("cuda", BIAS[0]), ("tpu", BIAS[1])]  # compiling them is what takes time


@pytest.mark.parametrize(
    ("platform", "shape"),
    [
        pytest.param(p, s, marks=() if (p, s) in SHOWN else pytest.mark.exhaustive)
        for p in ("cuda", "tpu")
        for s in BIAS
    ],
)
def test_bias_mask_and_segments_with_their_derivatives(platform, shape, monkeypatch):
    """All cotangents of the table's function against those of ``implementation="xla"``."""
    random = np.random.default_rng(4)
    q = random.normal(size=(2, 24, 4, 24)).astype("float32")
    k, v = random.normal(size=(2, 2, 40, 2, 24)).astype("float32")
    bias = random.normal(size=shape).astype("float32")
    mask = random.random((2, 1, 24, 40)) < 0.8
    ids = np.sort(random.integers(0, 2, (2, 24)), 1), np.sort(random.integers(0, 2, (2, 40)), 1)
    factor = random.normal(size=q.shape).astype("float32")

    def loss(implementation, *arrays):
        *qkv, bias = arrays
        more = {"mask": mask, "segment_ids": ids, "implementation": implementation}
        return (rb.nn.dot_product_attention(*qkv, bias, **more) * factor).sum()

    arrays = q, k, v, bias
    wanted = rb.value_and_grad(lambda *a: loss("xla", *a), (0, 1, 2, 3))(*arrays)
    here = lambda *_: {"cpu": lambda *args: attend(platform, *args)}
    monkeypatch.setattr(implementations, "for_platforms", here)
    found = rb.value_and_grad(lambda *a: loss(None, *a), (0, 1, 2, 3))(*arrays)
    for a, b in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_the_cotangent_of_a_bias_nobody_asks_for_costs_nothing():
    """One call of a kernel more computes it."""
    x, bias = rb.ShapeDtypeStruct((1, 64, 2, 64), "float32"), rb.ShapeDtypeStruct((1, 2, 64, 64), "float32")
    loss = lambda q, b: rb.nn.dot_product_attention(q, q, q, b).sum()
    count = []
    for numbers in (0, (0, 1)):
        f = rb.jit(rb.grad(loss, numbers))
        text = f.trace(x, bias).lower(platforms=("cuda",)).as_text()
        count.append(text.count('name = "attention_bias"'))
    assert count == [0, 1]
