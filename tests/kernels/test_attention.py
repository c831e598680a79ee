"""``rabbet.nn.dot_product_attention`` takes kernels where they are, and is what it was everywhere else."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.nn import implementations
from rabbet_kernels.attention import attend

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
    for more in ({"implementation": "xla"}, {"bias": np.zeros((1, 1, 64, 64), "float32")}):
        assert CALLS[platform] not in lowered(platform, **more)


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
    from rabbet_kernels import attention_kernels
    from rabbet_kernels.attention import flash

    asked = attention_kernels.Options(1.0, False, None, 1, 16, 16, True)
    out, pull = rb.vjp(lambda q, k, v: flash(asked, q, k, v, np.zeros(1, "int32"))[0], x, x, x)
    assert not rnp.any(out)
    assert not any(bool(rnp.any(c)) for c in pull(rnp.ones_like(out)))


def test_forward_mode_and_second_derivatives():
    x = np.random.default_rng(1).normal(size=(3, 1, 1, 16, 16)).astype("float32")
    from rabbet_kernels import attention_kernels
    from rabbet_kernels.attention import flash

    asked = attention_kernels.Options(0.25, True, None, 1, 16, 16, False)
    lengths = np.array([16], "int32")
    kernels = lambda *xs: (flash(asked, *xs, lengths)[0] ** 2).sum()
    plain = lambda *xs: (attention_kernels.plain(asked, *xs, lengths)[0] ** 2).sum()
    direction = tuple(np.roll(x, 1, 0))
    for f, g in ((kernels, plain), (rb.grad(kernels), rb.grad(plain))):
        for a, b in zip(rb.jvp(f, tuple(x), direction), rb.jvp(g, tuple(x), direction), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
