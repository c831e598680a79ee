"""Attention against the definition, whole and in blocks, and the memory that it takes."""

import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import nn

attention = sys.modules[nn.dot_product_attention.__module__]


def inputs(time, heads=2, size=4, other=None, seed=0):
    random = np.random.RandomState(seed)
    shapes = [(2, n, heads, size) for n in (time, other or time, other or time)]
    return [random.randn(*shape).astype("f4") for shape in shapes]


def by_definition(q, k, v, allowed=True, bias=0.0):
    """The means and the logarithms of the sums, in double precision; as many heads of keys as of queries."""
    q, k, v = (a.astype("f8") for a in (q, k, v))
    scores = np.where(allowed, np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1]) + bias, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    sums = weights.sum(-1, keepdims=True)
    logs = (top + np.log(sums))[..., 0].transpose(0, 2, 1)
    return np.einsum("bhts,bshd->bthd", weights / sums, v), logs


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


def test_attention():
    q, k, v = inputs(5, heads=4, size=8)
    close(nn.dot_product_attention(q, k, v), by_definition(q, k, v)[0])
    causal = np.tril(np.ones((5, 5), bool))
    close(nn.dot_product_attention(q, k, v, is_causal=True), by_definition(q, k, v, causal)[0])
    close(nn.dot_product_attention(q, k, v, mask=causal), by_definition(q, k, v, causal)[0])
    grouped = nn.dot_product_attention(q, k[:, :, :2], v[:, :, :2])
    close(grouped, by_definition(q, *(a[:, :, [0, 0, 1, 1]] for a in (k, v)))[0])
    assert nn.dot_product_attention(q[0], k[0], v[0]).shape == (5, 4, 8)


@pytest.mark.parametrize("time", [7, 700, 2100])
def test_segments(time):
    """Packed sequences see themselves alone: whole, in blocks, and in parts of them."""
    q, k, v = inputs(time, heads=1)
    ids = np.stack([np.arange(time) * 3 // time, np.arange(time) * 2 // time])
    allowed = (ids[:, :, None] == ids[:, None])[:, None]
    more = {} if time == 2100 else {"is_causal": True}
    if more:
        allowed = allowed & np.tril(np.ones((time, time), bool))
    wanted = by_definition(q, k, v, allowed)[0]
    close(nn.dot_product_attention(q, k, v, segment_ids=ids, **more), wanted)
    if time == 7:
        close(nn.dot_product_attention(q, k, v, segment_ids=(ids, ids), **more), wanted)
        close(nn.dot_product_attention(q[0], k[0], v[0], segment_ids=ids[0], **more), wanted[0])


def test_messages():
    q, k, v = inputs(5, heads=4)
    with pytest.raises(ValueError, match="query heads must be a multiple of key heads"):
        nn.dot_product_attention(q, k[:, :, :3], v[:, :, :3])
    with pytest.raises(ValueError, match="segment_ids of queries must be integers"):
        nn.dot_product_attention(q, k, v, segment_ids=np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"segment_ids of keys must be of shape \(2, 5\)"):
        nn.dot_product_attention(q, k, v, segment_ids=(np.zeros((2, 5), int), np.zeros((2, 4), int)))
    with pytest.raises(ValueError, match=r"implementation='quick' is not installed\n  to fix: .*'xla'"):
        nn.dot_product_attention(q, k, v, implementation="quick")


def test_the_logarithms_of_the_sums():
    q, k, v = inputs(5)
    out, logs = nn.dot_product_attention(q, k, v, return_residual=True)
    for found, wanted in zip((out, logs), by_definition(q, k, v), strict=True):
        close(found, wanted)
    assert nn.dot_product_attention(q[0], k[0], v[0], return_residual=True)[1].shape == (5, 2)


OPTIONS = {
    "causal": {"is_causal": True},
    "window": {"local_window_size": (30, 4)},
    "both": {"is_causal": True, "local_window_size": 50},
    "lengths": {"is_causal": True, "key_value_seq_lengths": np.array([70, 90])},
    "bias": {"is_causal": True, "bias": np.random.RandomState(3).randn(1, 2, 90, 90).astype("f4")},
    "mask": {"is_causal": True, "mask": np.random.RandomState(4).rand(2, 1, 90, 90) < 0.8},
    "rows": {"is_causal": True, "bias": np.random.RandomState(3).randn(1, 2, 1, 90).astype("f4")},
}


@pytest.mark.parametrize("parts", [False, True], ids=["blocks", "loops"])
@pytest.mark.parametrize("name", OPTIONS)
def test_in_blocks_it_is_the_same(name, parts, monkeypatch):
    """In blocks, and in loops over parts of them that do not divide a block evenly."""
    pytest.importorskip("rabbet_jit", reason="the package rabbet-jit is not installed")
    options = OPTIONS[name]
    q, k, v = inputs(90)
    options = {**options}
    if "mask" in options:
        options["mask"] = options["mask"] | np.eye(90, dtype=bool)

    def results(q, k, v):
        # A function of its own each time: nothing of an earlier trace is used.
        attend = rb.jit(lambda *a: nn.dot_product_attention(*a, return_residual=True, **options))
        return attend(q, k, v)

    whole = results(q, k, v)
    monkeypatch.setattr(attention, "FROM_LENGTH", 64)
    monkeypatch.setattr(attention, "BLOCKS", 3)
    blocks, attend = [], attention.attend

    def seen(*arguments, **keywords):
        blocks.append(keywords)
        return attend(*arguments, **keywords)

    monkeypatch.setattr(attention, "attend", seen)
    if parts:
        monkeypatch.setattr(attention, "MOST_PRODUCTS", 16)
        monkeypatch.setattr(attention, "PART", 7)
    for found, wanted in zip(results(q, k, v), whole, strict=True):
        close(found, wanted)
    assert len(blocks) == 3
    assert all(("sliced" in keywords) == parts for keywords in blocks)


def test_gradients_in_blocks_and_loops(monkeypatch):
    pytest.importorskip("rabbet_jit", reason="the package rabbet-jit is not installed")
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")
    q, k, v = inputs(90)
    turned = np.cos(np.arange(q.size)).reshape(q.shape)

    def gradient():
        loss = lambda *a: (nn.dot_product_attention(*a, is_causal=True) * turned).sum()
        return rb.jit(rb.grad(loss, (0, 1, 2)))(q, k, v)

    whole = gradient()
    monkeypatch.setattr(attention, "FROM_LENGTH", 64)
    monkeypatch.setattr(attention, "MOST_PRODUCTS", 16)
    monkeypatch.setattr(attention, "PART", 5)
    for found, wanted in zip(gradient(), whole, strict=True):
        close(found, wanted)


@pytest.mark.forbidden("disable_jit")
def test_memory_grows_with_the_length_and_not_with_its_square():
    """The memory of temporaries of twice the length is far from four times as much, backward too."""
    pytest.importorskip("rabbet_jit", reason="the package rabbet-jit is not installed")
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")

    def temporaries(time):
        loss = lambda *a: nn.dot_product_attention(*a, is_causal=True).sum()
        shapes = [rb.ShapeDtypeStruct((1, time, 1, 8), "float32")] * 3
        compiled = rb.jit(rb.grad(loss, (0, 1, 2))).lower(*shapes).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    short, long = temporaries(16384), temporaries(32768)
    assert long < 2.5 * short
    assert long < 32768 * 32768 * 4 / 8


def test_more_queries_than_keys_in_blocks(monkeypatch):
    """Those past the last key see all keys, and a block never lacks one."""
    monkeypatch.setattr(attention, "FROM_LENGTH", 64)
    q, k, v = inputs(70, other=20)
    seen = np.arange(20)[None] <= np.arange(70)[:, None]
    close(nn.dot_product_attention(q, k, v, is_causal=True), by_definition(q, k, v, seen)[0])
