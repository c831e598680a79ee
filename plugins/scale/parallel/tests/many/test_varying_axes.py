"""Gradients within ``shard_map``: a value that all devices share gets the sum of their cotangents, as types
say.

The laws compare a function that differentiates on each device with one that differentiates the whole.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

jit = pytest.importorskip("rabbet_jit").jit
autodiff = pytest.importorskip("rabbet_autodiff")
vmap = pytest.importorskip("rabbet_vmap").vmap
rnp = pytest.importorskip("rabbet.numpy")
grad = autodiff.grad

MESH = rb.make_mesh((4, 2), ("x", "y"))
W = np.linspace(-1, 2, 4, dtype=np.float32)
X = np.linspace(-1, 1.5, 32, dtype=np.float32).reshape(8, 4)


def close(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


WHOLE, INS = P(), (P(), P("x"))


def mapped(f, outs=WHOLE, ins=INS, **options):
    return jit(rb.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, **options))


def loss(w, x):
    return ((x @ w) ** 2).sum()


def scanned(w, x):
    return lax.scan(lambda c, r: (c + lax.sin(r @ w) ** 2, None), rnp.float32(0), x)[0]


def carried(w, x):
    return lax.scan(lambda c, r: (w * lax.sin(c.sum()) + r.mean() * w, None), w, x)[0].sum()


@autodiff.custom_vjp
def twice(w, x):
    return (x @ w).sum()


twice.defvjp(lambda w, x: (twice(w, x), x), lambda x, ct: (2 * ct * x.sum(0), rnp.zeros_like(x)))

# A loss of the examples that one device has; together they have the sum of these.
LOCAL = {
    "squares": loss,
    "remat": autodiff.checkpoint(loss),
    "a call": jit(loss),
    "a scan": scanned,
    "a branch": lambda w, x: lax.cond(
        x.sum() > 0, lambda w: (x * w).sum(), lambda w: (w**2 * x).sum(), w
    ),
    "a custom rule": twice,
    "a part that all share": lambda w, x: (x @ w).sum() + 0.0 * x.sum(),
    "mapped": lambda w, x: vmap(lambda r: lax.exp(r @ w))(x).sum(),
    "said before": lambda w, x: loss(lax.pcast(w, "x", to="varying"), x),
}


@pytest.mark.parametrize("name", LOCAL)
def test_the_gradient_of_what_all_devices_share_is_the_sum(name):
    f = LOCAL[name]
    whole = lambda w, x: sum(plain(f, name)(w, part) for part in x.reshape(4, 2, 4))
    close(mapped(grad(f))(W, X), grad(whole)(W, X))
    # Of what is each device's own, it is its own.
    close(mapped(grad(f, 1), P("x"))(W, X), grad(whole, 1)(W, X))


def plain(f, name):
    return loss if name == "said before" else f


def test_a_loss_that_is_summed_has_the_gradient_of_the_sum():
    wanted = grad(loss)(W, X)
    close(mapped(grad(lambda w, x: lax.psum(loss(w, x), "x")))(W, X), wanted)
    close(mapped(grad(lambda w, x: lax.pmean(loss(w, x), "x")))(W, X), wanted / 4)
    close(
        mapped(lambda w, x: lax.pmean(grad(loss)(lax.pcast(w, "x", to="varying"), x), "x"))(W, X), wanted / 4
    )


def test_carried_values_become_as_different_as_what_the_body_returns():
    whole = lambda w, x: sum(carried(w, part) for part in x.reshape(4, 2, 4))
    close(mapped(grad(carried))(W, X), grad(whole)(W, X))


def test_a_constant_loss_counts_on_each_device():
    close(mapped(grad(lambda w, x: w.sum() + x.sum()))(W, X), np.full(4, 4.0))
    close(mapped(grad(lambda w, x: (w * lax.axis_index("x")).sum()))(W, X), np.full(4, 0.0 + 1 + 2 + 3))
    close(mapped(grad(lambda w, x: lax.psum(w.sum(), "x")))(W, X), np.full(4, 4.0))


def test_other_modes():
    tangent = np.ones(4, np.float32)
    forward = lambda w, x: lax.psum(autodiff.jvp(lambda w: loss(w, x), (w,), (tangent,))[1], "x")
    close(mapped(forward)(W, X), autodiff.jvp(lambda w: loss(w, X), (W,), (tangent,))[1])
    second = autodiff.jacfwd(grad(lambda w, x: lax.psum(((x @ w) ** 3).sum(), "x")))
    close(mapped(second)(W, X), autodiff.hessian(lambda w: ((X @ w) ** 3).sum())(W))


def test_two_axes():
    ins = (P("y"), P("x", "y"))
    dot = lambda w, x: lax.psum(x @ w, "y")
    f = lambda w, x: (dot(w, x) ** 2).sum()
    close(mapped(grad(f), P("y"), ins)(W, X), grad(loss)(W, X))
    close(mapped(grad(f, 1), P("x", "y"), ins)(W, X), grad(loss, 1)(W, X))
    none = lambda w, x: lax.psum(f(w, x), "x") ** 2
    close(mapped(grad(none), P("y"), ins)(W, X), grad(lambda w: loss(w, X) ** 2)(W))


def test_outside_of_what_differentiates_inside():
    inner = lambda w, x: lax.psum((grad(loss)(w, x) * x.sum()).sum(), "x")
    f = mapped(inner)

    def whole(w, x):
        return (grad(loss)(w, x) * x.sum()).sum()

    close(f(W, X), whole(W, X))
    close(grad(f)(W, X), grad(whole)(W, X))
    close(grad(f, 1)(W, X), grad(whole, 1)(W, X))


def test_without_the_check_gradients_are_those_of_a_map():
    f = lambda w, x: lax.psum(grad(loss)(w, x), "x")
    close(mapped(f, check_vma=False)(W, X), grad(loss)(W, X))


def test_types_name_the_axes():
    seen = []

    def f(w, x):
        seen.extend([str(rb.typeof(v)) for v in (w, x, x @ w, lax.psum(x, "x"), lax.axis_index("y"))])
        return lax.psum(x, "x")

    mapped(f)(W, X)
    assert [text.partition("]")[2].rstrip(")") for text in seen] == ["", "{V:x}", "{V:x}", "", "{V:y}"]


# One value that all share: weights, the pieces of which the devices have, gathered for a loss of the whole.
def of_the_gathered(piece, to):
    whole = lax.all_gather(piece, "x", tiled=True, to=to)
    return (whole**3 * np.arange(1, 9, dtype=np.float32)).sum()


V = np.linspace(-1, 2, 8, dtype=np.float32)
SLOPES = 3 * V**2 * np.arange(1, 9, dtype=np.float32)


@pytest.mark.parametrize("to, copies", [("invarying", 1), ("varying", 4)])
def test_gathered_and_differentiated_within(to, copies):
    slopes = mapped(grad(lambda v: of_the_gathered(v, to)), P("x"), (P("x"),))(V)
    close(slopes, copies * SLOPES)


def test_gathered_to_one_value_that_all_share():
    seen = []

    def gathered(v):
        whole = lax.all_gather(v, ("x", "y"), axis=1, to="invarying")
        seen.append(rb.typeof(whole).str_short())
        return whole

    f = mapped(gathered, WHOLE, (P(("x", "y")),))
    close(f(X), X.reshape(8, 1, 4).swapaxes(0, 1))
    assert seen[0] == "f32[1,8,4]"
    close(grad(lambda x: (f(x) ** 2).sum())(X), 2 * X)
    outside = grad(lambda v: mapped(lambda v: of_the_gathered(v, "invarying"), WHOLE, (P("x"),))(v))
    close(outside(V), SLOPES)
    over_rows = mapped(vmap(lambda v: lax.all_gather(v, "x", to="invarying")), WHOLE, (P(None, "x"),))
    close(over_rows(X[:, :4]).reshape(8, 4), X[:, :4])


def test_gathered_of_what_all_have_already():
    weights = np.arange(4, dtype=np.float32)[:, None]
    f = grad(lambda v: (lax.all_gather(v, "x", to="invarying") * weights).sum())
    close(mapped(f, WHOLE, (WHOLE,))(V), np.full(8, 6.0))


def test_groups_do_not_share_what_they_gather():
    f = lambda v: lax.all_gather(v, "x", to="invarying", axis_index_groups=[[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="what groups gather differs between them"):
        mapped(f, P("x"), (P("x"),))(V)
