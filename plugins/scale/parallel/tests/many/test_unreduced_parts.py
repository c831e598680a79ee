"""``unreduced`` and ``reduced`` axes within ``shard_map``: values, types, derivatives, what is refused."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType
from rabbet.sharding import PartitionSpec as P
from rabbet_parallel.unreduced_sums import COMPILER_KNOWS

knows = pytest.mark.skipif(not COMPILER_KNOWS, reason="this compiler does not know the word")
MESH = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
A = np.arange(32, dtype=np.float32).reshape(8, 4)
U, R, X, WHOLE = P(unreduced={"x"}), P(reduced={"x"}), P("x"), P()
cast = lax.pcast


@pytest.fixture(autouse=True)
def mesh():
    with rb.set_mesh(MESH):
        yield


def there(spec, values=A):
    return rb.device_put(values, spec)


def whole(x):
    return np.asarray(rb.reshard(x, P()))


def mapped(f, ins, outs):
    return rb.shard_map(f, in_specs=ins, out_specs=outs)


def type_within(f, ins, outs, *args):
    """The short type of what a function makes of its parts."""
    found = []

    def seen(*parts):
        out = f(*parts)
        found.append(rb.typeof(out).str_short())
        return out

    rb.jit(mapped(seen, ins, outs)).lower(*args)
    return found[0]


# What each says: the function, specs, what the result is in words of types, and its value.
VALUES = {
    "identity": (lambda u: u, (U,), U, "f32[8,4]{U:x}", A),
    "sum of sums": (lambda u: u + u - (-u), (U,), U, "f32[8,4]{U:x}", 3 * A),
    "psum": (lambda u: lax.psum(u, "x"), (U,), WHOLE, "f32[8,4]", A),
    "psum_scatter": (lambda u: lax.psum_scatter(u, "x", tiled=True), (U,), X, "f32[2,4]{V:x}", A),
    "another axis": (lambda u: lax.psum(cast(u, "y", to="varying"), "y"), (U,), U, "f32[8,4]{U:x}", 2 * A),
    "product": (lambda u, r: u * r, (U, R), U, "f32[8,4]{U:x}", A * A),
    "number": (lambda u: u * 2.0, (U,), U, "f32[8,4]{U:x}", 2 * A),
    "quotient": (lambda u: u / 2, (U,), U, "f32[8,4]{U:x}", A / 2),
    "moved": (lambda u: u.T.reshape(32)[:8], (U,), U, "f32[8]{U:x}", A.T.reshape(32)[:8]),
    "padded": (lambda u: rnp.pad(u, 1), (U,), U, "f32[10,6]{U:x}", np.pad(A, 1)),
    "summed": (lambda u: u.sum(0), (U,), U, "f32[4]{U:x}", A.sum(0)),
    "loop": (lambda u: lax.fori_loop(0, 3, lambda i, c: c + u, u), (U,), U, "f32[8,4]{U:x}", 4 * A),
    "scan": (
        lambda u: lax.scan(lambda c, _: (c + u, None), u, None, length=2)[0], (U,), U, "f32[8,4]{U:x}", 3 * A,
    ),
    "while": (
        lambda u: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + u), (0, u))[1],
        (U,), U, "f32[8,4]{U:x}", 4 * A,
    ),
    "cond": (lambda u: lax.cond(u.shape[0] > 3, lambda: u + u, lambda: u), (U,), U, "f32[8,4]{U:x}", 2 * A),
    "to sum": (lambda v: cast(v, "x", to="unreduced"), (X,), U, "f32[2,4]{U:x}", A.reshape(4, 2, 4).sum(0)),
    "to reduced": (lambda v: cast(v, "x", to="reduced"), (WHOLE,), R, "f32[8,4]{R:x}", A),
    "reduced stays": (lambda r: rnp.sin(r) + r, (R,), R, "f32[8,4]{R:x}", np.sin(A) + A),
    "reduced leaves": (lambda r: 1 * r, (R,), WHOLE, "f32[8,4]{R:x}", A),
    "to varying": (lambda r: cast(r, "x", to="varying"), (R,), X, "f32[8,4]{V:x}", np.tile(A, (4, 1))),
    "with parts": (lambda v, r: v * r[:2], (X, R), X, "f32[2,4]{V:x}", A * np.tile(A[:2], (4, 1))),
    "contracted": (
        lambda v, r: cast(v.T @ v, "x", to="unreduced") * r[:4], (X, R), U, "f32[4,4]{U:x}", A.T @ A * A[:4],
    ),
    "gathered": (lambda v: lax.all_gather(v, "x", tiled=True, to="reduced"), (X,), R, "f32[8,4]{R:x}", A),
    "zeros": (lambda u: rnp.zeros_like(u) + u, (U,), U, "f32[8,4]{U:x}", A),
    "two axes": (
        lambda v: cast(v, ("x", "y"), to="unreduced"), (P("x", "y"),), P(unreduced={"x", "y"}),
        "f32[2,2]{U:(x,y)}", A.reshape(4, 2, 2, 2).sum((0, 2)),
    ),
    "one of two": (
        lambda v: cast(v, "x", to="unreduced"), (P("x", "y"),), P(None, "y", unreduced={"x"}),
        "f32[2,2]{V:y, U:x}", A.reshape(4, 2, 4).sum(0),
    ),
}  # fmt: skip


@knows
@pytest.mark.parametrize("case", list(VALUES))
@pytest.mark.parametrize("within", ["jit", "eager"])
def test_values_and_types(case, within):
    f, ins, outs, told, want = VALUES[case]
    args = [there(spec) for spec in ins]
    call = mapped(f, ins, outs)
    out = (rb.jit(call) if within == "jit" else call)(*args)
    np.testing.assert_allclose(whole(out), want, rtol=1e-6)
    assert (out.sharding.spec.unreduced, out.sharding.spec.reduced) == (outs.unreduced, outs.reduced)
    assert type_within(f, ins, outs, *args) == told


# What is differentiated, and the derivatives' types: of what is reduced a sum, of a sum what is reduced.
DERIVATIVES = {
    "psum": (lambda u: lax.psum(u, "x"), (U,), WHOLE, ["f32[8,4]{R:x}"]),
    "identity": (lambda u: u, (U,), U, ["f32[8,4]{R:x}"]),
    "to sum": (lambda v: cast(v, "x", to="unreduced"), (X,), U, ["f32[8@x,4]"]),
    "to varying": (lambda r: cast(r, "x", to="varying"), (R,), X, ["f32[8,4]{U:x}"]),
    "reduced and back": (
        lambda v: cast(cast(v, "x", to="reduced"), "x", to="varying"), (WHOLE,), X, ["f32[8,4]"],
    ),
    "with parts": (lambda r, v: r[:2] * v, (R, X), X, ["f32[8,4]{U:x}", "f32[8@x,4]"]),
    "product": (lambda u, r: u * r, (U, R), U, ["f32[8,4]{R:x}", "f32[8,4]{U:x}"]),
    "product of matrices": (
        lambda v, r: cast(v @ r.T, "x", to="unreduced"), (X, R), U, ["f32[8@x,4]", "f32[8,4]{U:x}"],
    ),
    "scattered": (lambda u: lax.psum_scatter(u, "x", tiled=True), (U,), X, ["f32[8,4]{R:x}"]),
    "gathered": (lambda v: lax.all_gather(v, "x", tiled=True, to="reduced"), (X,), R, ["f32[8@x,4]"]),
    "loop": (
        lambda r, v: lax.scan(lambda c, _: (c * r[:2], None), v, None, length=2)[0], (R, X), X,
        ["f32[8,4]{U:x}", "f32[8@x,4]"],
    ),
    "rows": (
        lambda r, v: rnp.take(r, np.array([0, 3]), axis=0) * v, (R, X), X, ["f32[8,4]{U:x}", "f32[8@x,4]"],
    ),
    "a row": (
        lambda r, v: lax.dynamic_slice_in_dim(r, r.sum().astype(int) * 0, 2) * v, (R, X), X,
        ["f32[8,4]{U:x}", "f32[8@x,4]"],
    ),
    "checkpoint": (
        lambda r, v: rb.checkpoint(lambda a, b: rnp.sin(a[:2]) * b)(r, v), (R, X), X,
        ["f32[8,4]{U:x}", "f32[8@x,4]"],
    ),
}  # fmt: skip


@knows
@pytest.mark.parametrize("case", list(DERIVATIVES))
@pytest.mark.parametrize("within", ["jit", "eager"])
def test_derivatives(case, within):
    f, ins, outs, told = DERIVATIVES[case]
    small = A / 32
    args = [there(spec, small) for spec in ins]
    which = tuple(range(len(ins)))

    def loss(*args):
        out = mapped(f, ins, outs)(*args)
        return (rb.reshard(out, P()) ** 2).sum()

    grads = rb.grad(loss, which)
    found = (rb.jit(grads) if within == "jit" else grads)(*args)
    assert [rb.typeof(g).str_short() for g in found] == told
    value = rb.jit(loss)
    rng = np.random.default_rng(0)
    for i, (g, spec) in enumerate(zip(found, ins, strict=True)):
        step = rng.standard_normal(small.shape).astype(np.float32)
        moved = lambda h, i=i, spec=spec, step=step: value(
            *[there(spec, small + h * step) if k == i else a for k, a in enumerate(args)]
        )
        slope = (float(moved(1e-2)) - float(moved(-1e-2))) / 2e-2
        np.testing.assert_allclose((whole(g) * step).sum(), slope, rtol=2e-2)


@knows
def test_gradients_are_added_over_steps_before_anything_is_sent():
    def grads(w, steps):
        step = lambda total, x: (total + rb.grad(lambda w: (mapped(
            lambda w, x: rnp.sin(x @ w), (R, X), X)(w, x)).sum())(w), None)  # fmt: skip
        first = rb.reshard(rnp.zeros((4, 3)), U)
        return lax.scan(step, first, steps)[0]

    w = there(R, np.ones((4, 3), np.float32) / 8)
    steps = there(P(None, "x"), np.stack([A, A / 2]))
    text = rb.jit(grads).lower(w, steps).compile().as_text()
    assert "all-reduce" not in text
    want = rb.jit(lambda w, s: rb.reshard(grads(w, s), P()))(w, steps)
    plain = 0.0
    with rb.set_mesh(None):
        for x in (A, A / 2):
            loss = lambda w, x=x: rnp.sin(x @ w).sum()
            plain += np.asarray(rb.grad(loss)(np.ones((4, 3), np.float32) / 8))
    np.testing.assert_allclose(want, plain, rtol=1e-5)


@knows
@pytest.mark.parametrize(
    ("f", "ins", "outs", "why"),
    [
        (lambda u: u * u, (U,), U, "one operand may be such a sum"),
        (lambda u, v: u * v, (U, WHOLE), U, "the others 'reduced'"),
        (lambda u, v: u + v, (U, WHOLE), U, "counted once a device"),
        (lambda u: u + 2.0, (U,), U, "counted once a device"),
        (lambda u: rnp.sin(u), (U,), U, "not linear"),
        (lambda u: u @ rnp.ones((4, 2)), (U,), U, "not linear"),
        (lambda u: u * lax.axis_index("x"), (U,), U, "differs between devices along 'x'"),
        (lambda u: rnp.pad(u, 1, constant_values=1.0), (U,), U, "counted once a device"),
        (lambda u: lax.pmax(u, "x"), (U,), WHOLE, "not added up yet"),
        (lambda u: lax.all_gather(u, "x"), (U,), X, "not added up yet"),
        (lambda u: lax.ppermute(u, "x", [(0, 1)]), (U,), X, "not added up yet"),
        (lambda u: cast(u, "x", to="varying"), (U,), X, "not added up yet"),
        (lambda u: cast(u, "x", to="reduced"), (U,), R, "it is unreduced"),
        (lambda v: cast(v, "x", to="unreduced"), (WHOLE,), U, "it is invarying"),
        (lambda v: cast(v, "x", to="reduced"), (X,), R, "it is varying"),
        (lambda r: lax.psum(r, "x"), (R,), WHOLE, "is reduced there"),
        (lambda u: u, (WHOLE,), U, "no unreduced axes"),
        (lambda v: v, (X,), U, "no unreduced axes"),
        (lambda u: u, (U,), WHOLE, "with unreduced"),
        (lambda v: v, (WHOLE,), R, "no reduced axes"),
    ],
)
def test_what_is_refused(f, ins, outs, why):
    with pytest.raises(ShardingError, match=why):
        rb.jit(mapped(f, ins, outs))(*[there(spec) for spec in ins])


@knows
def test_specs_say_what_arguments_are():
    for spec, x in ((WHOLE, there(U)), (U, there(WHOLE)), (R, there(WHOLE)), (WHOLE, there(R))):
        with pytest.raises(ShardingError, match="by its type its sharding"):
            mapped(lambda v: v, (spec,), spec)(x)
    np.testing.assert_allclose(whole(rb.shard_map(lambda v: v + v, out_specs=U)(there(U))), 2 * A)
    auto = rb.make_mesh((8,), ("z",), axis_types=AxisType.Auto)
    with rb.set_mesh(None), pytest.raises(ShardingError, match="axes of type Explicit"):
        rb.shard_map(lambda v: v, mesh=auto, in_specs=P("z"), out_specs=P(unreduced={"z"}))(A)
    with pytest.raises(ValueError, match="to must be"):
        mapped(lambda v: cast(v, "x", to="other"), (X,), X)(there(X))


@knows
def test_axes_that_are_left_keep_what_types_say():
    f = rb.shard_map(lambda v: v + v, in_specs=P(), out_specs=P(), axis_names={"y"})
    out = rb.jit(f)(there(U))
    assert rb.typeof(out).str_short() == "f32[8,4]{U:x}"
    np.testing.assert_allclose(whole(out), 2 * A)


@pytest.mark.skipif(COMPILER_KNOWS, reason="this compiler knows the word")
def test_an_older_compiler_is_named():
    with pytest.raises(ShardingError, match="use jaxlib"):
        mapped(lambda v: cast(v, "x", to="unreduced"), (X,), U)(there(X))
