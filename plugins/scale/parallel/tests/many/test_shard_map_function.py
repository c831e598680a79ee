"""``shard_map``: values against NumPy, against ``vmap`` with a named axis, and under every transformation."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError, UnboundAxisError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
autodiff = pytest.importorskip("rabbet_autodiff")
vmap = pytest.importorskip("rabbet_vmap").vmap
rnp = pytest.importorskip("rabbet.numpy")
grad = autodiff.grad

MESH = rb.make_mesh((4, 2), ("x", "y"))
ROW = rb.make_mesh((8,), ("i",))
HOST = np.linspace(-1, 1, 16 * 8, dtype=np.float32).reshape(16, 8)
WEIGHTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)


def close(x, y, **limits):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), **{"rtol": 1e-5, "atol": 1e-5, **limits})


def mapped(f, ins, outs, **options):
    return rb.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, **options)


# --------------------------------------------------------------------------- the same program under vmap
MEMBERS = np.arange(8 * 8 * 3, dtype=np.float32).reshape(8, 8, 3) % 13 - 6
EVEN = [[0, 3, 5, 6], [7, 1, 2, 4]]
UNEVEN = [[0, 3, 5], [7, 1, 2, 4, 6]]
PROGRAMS = {
    "psum": lambda x: lax.psum(x, "i"),
    "psum of counted": lambda x: lax.psum(x > 0, "i"),
    "psum in groups": lambda x: lax.psum(x, "i", axis_index_groups=EVEN),
    "pmax in uneven groups": lambda x: lax.pmax(x, "i", axis_index_groups=UNEVEN),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmin": lambda x: lax.pmin(x, "i"),
    "pmax of booleans": lambda x: lax.pmax(x > 0, "i"),
    "all_gather": lambda x: lax.all_gather(x, "i", axis=1),
    "all_gather in groups": lambda x: lax.all_gather(x, "i", tiled=True, axis_index_groups=EVEN),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
    "psum_scatter, tiled, in groups": lambda x: lax.psum_scatter(x, "i", tiled=True, axis_index_groups=EVEN),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 1),
    "all_to_all in groups": lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True, axis_index_groups=EVEN),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (5, 0)]),
    "ppermute to nobody": lambda x: lax.ppermute(x, "i", []),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [3, 1, 2, 0, 7, 6, 5, 4]),
    "pswapaxes": lambda x: lax.pswapaxes(x, "i", 0),
    "pcast": lambda x: lax.pcast(x, "i", to="varying") + 1,
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 3),
    "axis_index": lambda x: x * lax.axis_index("i") + lax.axis_size("i"),
    "a loop": lambda x: lax.fori_loop(
        0, 3, lambda k, c: lax.ppermute(c, "i", [(j, (j + 1) % 8) for j in range(8)]) + k, x
    ),
    "a scan": lambda x: lax.scan(lambda c, r: (c + lax.psum(r, "i"), lax.axis_index("i") * r), x[0], x)[1],
    "a branch": lambda x: lax.cond(
        lax.psum(x.sum(), "i") > 0, lambda x: x + 1, lambda x: lax.psum(x, "i"), x
    ),
    "a call": lambda x: jit(lambda x: lax.sin(lax.psum(x, "i")))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_program_under_vmap_and_under_shard_map(name):
    f = PROGRAMS[name]
    wanted = vmap(f, axis_name="i")(MEMBERS)
    one = lambda x: lax.expand_dims(f(lax.squeeze(x, (0,))), (0,))
    found = jit(rb.shard_map(one, mesh=ROW, in_specs=P("i"), out_specs=P("i")))(MEMBERS)
    assert found.dtype == wanted.dtype
    close(found, wanted)


@pytest.mark.parametrize(
    "name", [n for n in PROGRAMS if n not in ("psum of counted", "pmax of booleans", "a branch")]
)
def test_so_are_derivatives(name):
    f = PROGRAMS[name]
    if name == "a loop":
        f = lambda x: lax.scan(lambda c, k: (PROGRAMS["psum"](lax.sin(c)) * 0.1, None), x, None, length=2)[0]
    weigh = lambda out: (out * lax.cos(rnp.arange(out.size, dtype="float32").reshape(out.shape))).sum()
    one = lambda x: lax.expand_dims(f(lax.squeeze(x, (0,))), (0,))
    over = rb.shard_map(one, mesh=ROW, in_specs=P("i"), out_specs=P("i"))
    close(
        jit(grad(lambda x: weigh(over(x))))(MEMBERS), grad(lambda x: weigh(vmap(f,
        axis_name="i")(x)))(MEMBERS), rtol=1e-4, atol=1e-4,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- specs
def test_parts_go_in_and_come_out_by_their_specs():
    seen = []

    def f(x, pair):
        seen.append((x.shape, pair["a"].shape, pair["b"].shape))
        return {"x": x * 2, "rest": (pair["a"], lax.psum(pair["b"], "y"))}

    out = jit(
        mapped(
            f, (P("x", "y"), {"a": P(None, "x"), "b": None}), {"x": P("x", "y"), "rest": (P(None, "x"), P())}
        )
    )(HOST, {"a": HOST, "b": HOST[0]})
    assert seen == [((4, 4), (16, 2), (8,))]
    assert (
        out["x"].sharding == NamedSharding(MESH, P("x", "y")) and out["rest"][1].sharding.is_fully_replicated
    )
    close(out["x"], 2 * HOST), close(out["rest"][0], HOST), close(out["rest"][1], 2 * HOST[0])


def test_two_axes_on_one_dimension_and_in_any_order():
    for spec in (P(("x", "y")), P(("y", "x")), P(None, ("y", "x"))):
        close(mapped(lambda x: x + 0, spec, spec)(HOST), HOST)
    swapped = mapped(lambda x: x, P(("x", "y")), P(("y", "x")))(HOST)
    close(swapped, HOST.reshape(4, 2, 2, 8).transpose(1, 0, 2, 3).reshape(16, 8))


def test_some_axes_may_be_left_to_the_compiler():
    f = mapped(lambda x: lax.psum(x, "x") * (1 + lax.axis_index("x")), P("x"), P("x"), axis_names={"x"})
    wanted = np.concatenate([HOST.reshape(4, 4, 8).sum(0) * (1 + k) for k in range(4)])
    close(jit(f)(HOST), wanted)
    both = jit(f)(rb.device_put(HOST, NamedSharding(MESH, P("x", "y"))))
    close(both, wanted)
    assert both.sharding.spec == P("x", "y")
    close(grad(lambda x: (f(x) ** 2).sum())(HOST), grad(lambda x: (full(x) ** 2).sum())(HOST))


def full(x):
    """What the function above computes, without devices."""
    total = x.reshape(4, 4, 8).sum(0)
    return lax.concatenate([total * (1.0 + k) for k in range(4)], 0)


def test_within_each_other():
    inner = rb.shard_map(
        lambda x: lax.psum(x, "y") + lax.axis_index("x") * 1.0, mesh=MESH, in_specs=P(None, "y"),
          out_specs=P(),
        axis_names={"y"}, check_vma=False,
    )  # fmt: skip
    outer = mapped(lambda x: inner(x), P("x"), P("x"), axis_names={"x"}, check_vma=False)
    wanted = HOST[:, :4] + HOST[:, 4:] + np.repeat(np.arange(4), 4)[:, None]
    close(jit(outer)(HOST), wanted)


def test_another_mesh_within_is_refused():
    """XLA ends the process for such programs."""
    on_row = rb.shard_map(lambda v: v * 2, mesh=ROW, in_specs=P("i"), out_specs=P("i"))
    again = mapped(lambda v: v * 2, P("x"), P("x"), axis_names={"x"})
    for inner, words in ((on_row, "stands within another one, on Mesh"), (again, "which takes apart 'x'")):
        outer = mapped(inner, P(None, "x"), P(None, "x"), axis_names={"x"}, check_vma=False)
        for run in (outer, jit(outer)):
            with pytest.raises(ShardingError, match=words):
                run(HOST)


def test_smap_and_the_mesh_that_is_set():
    with rb.set_mesh(MESH):
        f = rb.smap(lambda x: lax.psum(x, "x"), in_axes=0, out_axes=None, axis_name="x")
        close(f(HOST), HOST.reshape(4, 4, 8).sum(0))
        from_the_end = rb.smap(lambda x, c: x * c, in_axes=(-2, None), out_axes=0, axis_name="x")
        close(from_the_end(HOST, 2.0), HOST * 2)
        with pytest.raises(ValueError, match="in_axes is -3 for an argument of 2 dimensions"):
            rb.smap(lambda x: x, in_axes=-3, out_axes=0, axis_name="x")(HOST)
        close(rb.shard_map(lambda x: x + 1, in_specs=P("y"), out_specs=P("y"))(HOST), HOST + 1)


# --------------------------------------------------------------------------------------- transformations
def loss(w, x):
    def on_parts(w, x):
        y = rnp.tanh(lax.psum(x @ w, "y"))
        return lax.psum((y**2).sum(), "x")

    return mapped(on_parts, (P("y"), P("x", "y")), P())(w, x)


def plain(w, x):
    return (rnp.tanh(x @ w) ** 2).sum()


def test_under_derivatives_maps_and_calls():
    both = np.stack([WEIGHTS, 2 * WEIGHTS])
    for transform, args in (
        (lambda f: f, (WEIGHTS, HOST)),
        (lambda f: grad(f, (0, 1)), (WEIGHTS, HOST)),
        (lambda f: jit(grad(f, (0, 1))), (WEIGHTS, HOST)),
        (lambda f: grad(rb.checkpoint(f)), (WEIGHTS, HOST)),
        (lambda f: lambda w, x: rb.jvp(f, (w, x), (x[:8, :3], x))[1], (WEIGHTS, HOST)),
        (lambda f: vmap(f, (0, None)), (both, HOST)),
        (lambda f: vmap(grad(f), (0, None)), (both, HOST)),
        (lambda f: grad(lambda w, x: vmap(f, (0, None))(w, x).sum()), (both, HOST)),
        (
            lambda f: (
                lambda w, x: lax.scan(lambda c, _: (c - 0.1 * grad(f)(c, x), f(c, x)), w, None, length=3)
            ),
            (WEIGHTS, HOST),
        ),
        (lambda f: lambda w, x: lax.cond(x[0, 0] < 0, f, lambda w, x: f(2 * w, x), w, x), (WEIGHTS, HOST)),
        (lambda f: grad(lambda w, x: (grad(f)(w, x) ** 2).sum()), (WEIGHTS, HOST)),
    ):
        wanted = rb.tree.leaves(transform(plain)(*args))
        for found, value in zip(rb.tree.leaves(transform(loss)(*args)), wanted, strict=True):
            close(found, value, rtol=1e-4, atol=1e-4)


def test_loops_inside_are_differentiated():
    def steps(x):
        def step(c, r):
            return lax.sin(c) + lax.psum(r.sum(), "x"), c * r

        c, ys = lax.scan(step, x[0], x)
        return c + ys.sum(0)

    def loop(x):
        return mapped(lambda x: steps(x)[None], P("x", "y"), P("x", "y"))(x)

    def by_hand(x):
        parts = x.reshape(4, 4, 8)
        totals = [[parts[:, j, 4 * b : 4 * b + 4].sum() for j in range(4)] for b in range(2)]
        out = []
        for a in range(4):
            row = []
            for b in range(2):
                c, ys = parts[a, 0, 4 * b : 4 * b + 4], 0.0
                for j in range(4):
                    ys = ys + c * parts[a, j, 4 * b : 4 * b + 4]
                    c = lax.sin(c) + totals[b][j]
                row.append(c + ys)
            out.append(lax.concatenate(row, 0))
        return rnp.stack(out)

    close(loop(HOST), by_hand(HOST))
    close(
        grad(lambda x: (loop(x) ** 2).sum())(HOST),
        grad(lambda x: (by_hand(x) ** 2).sum())(HOST),
        rtol=1e-3,
        atol=1e-3,
    )


def test_functions_with_rules_of_their_own():
    @rb.custom_vjp
    def halved(x):
        return lax.psum(x, "x") * 0.5

    halved.defvjp(lambda x: (halved(x), None), lambda _, ct: (10.0 * lax.psum(ct, "x"),))
    f = mapped(lambda x: halved(x)[:1], P("x"), P())
    close(f(HOST), HOST.reshape(4, 4, 8).sum(0)[:1] * 0.5)
    gradient = grad(lambda x: f(x).sum())(HOST)
    close(gradient.reshape(4, 4, 8)[:, 0], np.full((4, 8), 10.0))


def test_a_function_inside_may_itself_differentiate():
    """As under vmap and as JAX has it with check_vma=False: the transpose of psum is psum."""
    inner = mapped(
        grad(lambda x: lax.psum(x**2, ("x", "y")).sum()), P(("x", "y")), P(("x", "y")), check_vma=False
    )
    close(inner(HOST[:8, 0]), 16 * HOST[:8, 0])


def test_captured_values_are_whole_on_each_device():
    table = rb.device_put(HOST[:4])
    f = lambda t: mapped(lambda x: x + table * t, P("x"), P("x"))(HOST)
    close(f(2.0), HOST + np.tile(2 * HOST[:4], (4, 1)))
    close(grad(lambda t: f(t).sum())(2.0), 4 * HOST[:4].sum())


def test_python_functions_inside_run_on_each_device_and_their_errors_arrive():
    shapes = []

    def double(x):
        shapes.append(x.shape)
        return 2 * np.asarray(x)

    f = lambda x: rb.pure_callback(double, rb.ShapeDtypeStruct(x.shape, x.dtype), x)
    close(jit(mapped(f, P("x", "y"), P("x", "y")))(HOST), 2 * HOST)
    assert shapes == [(4, 4)] * 8

    def fails(x):
        raise ValueError("on one of them")

    f = lambda x: rb.pure_callback(fails, rb.ShapeDtypeStruct(x.shape, x.dtype), x)
    with pytest.raises(ValueError, match="on one of them"):
        jit(mapped(f, P("x", "y"), P("x", "y")))(HOST)


# ---------------------------------------------------------------------------------------------- messages
def test_results_that_differ_are_refused():
    for f in (
        lambda x: x,
        lambda x: x[:1] * lax.axis_index("y"),
        lambda x: lax.psum(x, "y"),
        lambda x: lax.scan(lambda c, r: (c + r, None), x[0] * 0, x)[0],
        lambda x: lax.cond(x[0, 0] > 0, lambda: 1.0, lambda: 2.0),
    ):
        with pytest.raises(ShardingError, match="result leaf 0 may differ between devices along"):
            mapped(f, P("x", "y"), P())(HOST)
    for f in (
        lambda x: lax.psum(x, ("x", "y")),
        lambda x: lax.pmax(x.max(), ("x", "y")),
        lambda x: lax.fori_loop(0, 3, lambda k, c: lax.psum(c + x, ("x", "y")), 0 * lax.psum(x, ("x", "y"))),
        lambda x: lax.pbroadcast(x, ("x", "y"), 0),
        lambda x: 1.0,
    ):
        mapped(f, P("x", "y"), P())(HOST)
    assert mapped(lambda x: x[:1], P("x", "y"), P(None, "y"), check_vma=False)(HOST).shape == (1, 8)


def test_what_does_not_fit_is_refused():
    for make, words in (
        (
            lambda: mapped(lambda x: x, P("x"), P("x"))(HOST[:7]),
            r"cuts dimension 0 of f32\[7,8\] into 4 parts",
        ),
        (lambda: mapped(lambda x: x, P("x", "y"), P())(HOST[0]), "with entries for 2 dimensions"),
        (lambda: mapped(lambda x: x.sum(), P("x"), P("x"))(HOST), "the spec of result leaf 0 is"),
        (lambda: mapped(lambda x: x, P("q"), P())(HOST), "names the axis 'q'"),
        (lambda: mapped(lambda x: x, P("y"), P(), axis_names={"x"})(HOST), "leaves to the compiler"),
        (lambda: mapped(lambda x: x, P("x"), P(), axis_names={"q"})(HOST), r"axis_names has \['q'\]"),
        (
            lambda: mapped(lambda x: x, (P("x"),), P())(HOST, HOST),
            "in_specs is not a prefix of the arguments",
        ),
        (lambda: mapped(lambda x: x, P("x"), (P(), P()))(HOST), "out_specs is not a prefix of the result"),
        (lambda: rb.shard_map(lambda x: x, in_specs=P(), out_specs=P())(HOST), "give a Mesh, or set one"),
        (lambda: rb.shard_map(lambda x: x, mesh=MESH, out_specs=P())(HOST), "give in_specs"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="in_specs holds PartitionSpecs"):
        mapped(lambda x: x, 3, P())(HOST)
    with pytest.raises(TypeError, match="argument leaf 0 is not an array"):
        mapped(lambda x: x, P(), P())("text")
    with pytest.raises(UnboundAxisError, match="'z'"):
        mapped(lambda x: lax.psum(x, "z"), P("x"), P("x"))(HOST)
    with pytest.raises(UnboundAxisError, match="no axis has a name here"):
        lax.psum(HOST, "x")


def test_a_mapped_dimension_may_lie_over_an_axis():
    one = mapped(lambda x: lax.psum(x, "x") * (1 + lax.axis_index("y")), P("x"), P(), check_vma=False)
    batch = np.stack([HOST, 2 * HOST, 3 * HOST, 4 * HOST])
    f = jit(vmap(one, spmd_axis_name="y"))
    out = f(batch)
    wanted = batch.reshape(4, 4, 4, 8).sum(1) * np.repeat([1, 2], 2)[:, None, None]
    close(out, wanted)
    assert out.sharding.spec == P("y")
    halves = mapped(lambda w, x: lax.psum(lax.sin(x @ w), "x").sum(), (P(), P("x")), P())
    loss = lambda w: vmap(halves, (None, 0), spmd_axis_name="y")(w, batch).sum()
    plain = lambda w: vmap(halves, (None, 0))(w, batch).sum()
    close(grad(loss)(WEIGHTS[:, 0]), grad(plain)(WEIGHTS[:, 0]), rtol=1e-4)
    with pytest.raises(ShardingError, match="'x' occurs twice"):
        vmap(one, spmd_axis_name="x")(batch)
    laid = vmap(
        lambda x: lax.with_sharding_constraint(2 * x, NamedSharding(MESH, P("x"))), spmd_axis_name="y"
    )
    assert jit(laid)(batch).sharding.spec == P("y", "x")


def test_results_have_the_specs_that_were_written():
    for spec in (P(), P(None), P("x", None), P(None, None), P("x")):
        f = rb.shard_map(lambda x: x, mesh=MESH, in_specs=spec, out_specs=spec)
        assert f(np.ones((8, 8), np.float32)).sharding == NamedSharding(MESH, spec)


def test_a_mesh_without_devices_is_enough_to_trace():
    f = rb.shard_map(
        lambda x: lax.psum(x, "y"), mesh=MESH.abstract_mesh, in_specs=P("x", "y"), out_specs=P("x")
    )
    assert rb.eval_shape(f, HOST).shape == (16, 4)
    assert "shard_map" in str(rb.make_jaxpr(f)(HOST))
    with rb.set_mesh(MESH):
        close(jit(f)(HOST), HOST[:, :4] + HOST[:, 4:])
    with pytest.raises(ShardingError, match="names no devices"):
        jit(f)(HOST)
    with pytest.raises(ShardingError, match="give a Mesh, or set one"):
        f(HOST)


def test_arrays_of_numpy_are_captured():
    f = rb.shard_map(lambda x: x @ WEIGHTS, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    close(f(HOST[:, : len(WEIGHTS)]), HOST[:, : len(WEIGHTS)] @ WEIGHTS)


def test_a_mesh_of_one_device_needs_no_partitioner():
    alone = rb.make_mesh((1, 1), ("x", "y"), devices=rb.devices()[:1])

    def f(x):
        inner = rb.shard_map(
            lambda x: x + lax.axis_index("y"), in_specs=P("y"), out_specs=P("y"), axis_names={"y"}
        )
        return lax.psum(inner(x), "x") * 2.0 + lax.all_gather(x, "x", tiled=True) + lax.axis_index("x")

    mapped = rb.shard_map(f, mesh=alone, in_specs=P(), out_specs=P(), axis_names={"x"}, check_vma=False)
    assert "sdy.manual" not in jit(mapped).lower(np.ones(4, np.float32)).as_text()
    close(mapped(np.ones(4, np.float32)), np.full(4, 3.0))
    close(grad(lambda x: mapped(x).sum())(np.ones(4, np.float32)), np.full(4, 3.0))


def test_what_is_no_array_and_has_no_spec_is_handed_on_as_it_is():
    class Scale:
        by = 3

    f = rb.shard_map(
        lambda s, x: x * s[0].by + s[1], mesh=MESH, in_specs=(None, P("x")), out_specs=P("x")
    )
    values = np.arange(8, dtype=np.float32)
    assert np.asarray(f((Scale(), 1.0), values)).tolist() == (values * 3 + 1).tolist()
    with pytest.raises(TypeError, match=r"argument leaf 0 is not an array.*None in in_specs"):
        rb.shard_map(lambda s, x: x, mesh=MESH, in_specs=(P(), P("x")), out_specs=P("x"))(Scale(), values)


def test_a_captured_array_that_is_cut_along_an_explicit_axis_is_refused():
    """It would be gathered at each call, without a word."""
    from rabbet.sharding import AxisType

    mesh = rb.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
    with rb.set_mesh(mesh):
        w, x = rb.device_put(np.ones((4, 4), "f4"), P("x")), rb.device_put(np.ones((4, 4), "f4"), P("x"))
        with pytest.raises(NotImplementedError, match="make it an argument with a spec"):
            rb.shard_map(lambda v: v.sum() + w.sum(), in_specs=P("x"), out_specs=P(), check_vma=False)(x)


def test_broadcast_like_lies_as_the_array_that_it_follows():
    from rabbet.sharding import AxisType

    mesh = rb.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
    with rb.set_mesh(mesh):
        like = rb.device_put(np.ones((8, 2), "f4"), P("x", None))
        for run in (rb.lax.broadcast_like, rb.jit(rb.lax.broadcast_like)):
            assert run(np.arange(2), like).sharding == NamedSharding(mesh, P("x", None))


def test_several_operands_without_elements():
    both = jit(rb.shard_map(lambda x, y: ((x + y).sum(1), rnp.all(x == y, axis=1)), mesh=ROW,
                            in_specs=P("i"), out_specs=P("i")))  # fmt: skip
    total, same = both(np.zeros((8, 0), "float32"), np.zeros((8, 0), "float32"))
    close(total, np.zeros(8))
    assert same.shape == (8,) and bool(same.all())
    counted = rb.shard_map(lambda x, y: lax.psum((x + y).sum(1) + 1, "i"), mesh=ROW, in_specs=P("i"),
                           out_specs=P("i"))  # fmt: skip
    close(counted(np.zeros((8, 0), "float32"), np.zeros((8, 0), "float32")), np.full(8, 8.0))
