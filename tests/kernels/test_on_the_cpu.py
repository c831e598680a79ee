"""Kernels in what other packages make of programs: exports, programs over devices, pages that show them."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import pallas as pl

ROWS = pl.BlockSpec((2, 3), lambda i: (i, 0))
X = np.arange(24, dtype="float32").reshape(8, 3)


def numbered(x):
    """``2 x`` plus the number of the block of rows."""

    def kernel(x, out):
        out[...] = x[...] * 2 + pl.program_id(0)

    call = pl.pallas_call(kernel, rb.typeof(x), grid=x.shape[0] // 2, in_specs=[ROWS], out_specs=ROWS)
    return call(x)


WANTED = X * 2 + np.repeat(np.arange(4), 2)[:, None]


def test_exported():
    exported = rb.export.export(rb.jit(numbered))(X)
    again = rb.export.deserialize(exported.serialize(vjp_order=1))
    np.testing.assert_array_equal(again.call(X), WANTED)
    np.testing.assert_array_equal(rb.grad(lambda x: again.call(x).sum())(X), np.full_like(X, 2))


def test_within_shard_map():
    mesh = rb.make_mesh((1,), ("i",))
    mapped = rb.shard_map(numbered, mesh=mesh, in_specs=rb.P("i"), out_specs=rb.P("i"))
    for f in (mapped, rb.jit(mapped)):
        np.testing.assert_array_equal(f(X), WANTED)
    np.testing.assert_array_equal(rb.grad(lambda x: mapped(x).sum())(X), np.full_like(X, 2))


def test_shown(tmp_path):
    page = tmp_path / "page.html"
    rb.debug.show(numbered, X, file=page)
    text = page.read_text()
    assert "pallas_call" in text and "numbered" in text and "call.kernel" in text


@pytest.mark.parametrize("checks", [False, True])
def test_with_checks_of_rules(checks):
    with rb.enable_checks(checks):
        np.testing.assert_array_equal(rb.jit(rb.vmap(numbered))(rnp.stack([X, X]))[1], WANTED)
        np.testing.assert_array_equal(rb.grad(lambda x: numbered(x).sum())(X), np.full_like(X, 2))
