"""Programs over eight devices: eager operations, ``jit``, constraints."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
pytest.importorskip("rabbet.numpy", reason="methods of arrays are in the package rabbet-numpy")
pytest.importorskip("rabbet_callbacks", reason="the package rabbet-callbacks is not installed")

MESH = rb.make_mesh((4, 2), ("x", "y"))
ROW = rb.make_mesh((8,), ("z",))
HOST = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
WEIGHTS = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)


def on(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


def close(x, y):
    return np.allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


X = rb.device_put(HOST, on("x", "y"))


# ------------------------------------------------------------------------------------------------- eager
def test_operations_follow_their_data():
    assert (X + 1.0).sharding == on("x", "y") and close(X + 1.0, HOST + 1)
    assert X.T.sharding == on("y", "x") and close(X.T, HOST.T)
    assert lax.reduce_sum(X, (0, 1)).sharding == on() and close(lax.reduce_sum(X, (0,)), HOST.sum(0))
    assert close(X @ X.T, HOST @ HOST.T) and (X @ X.T).sharding.mesh == MESH
    assert close(X[1:13], HOST[1:13]) and close(X[3], HOST[3]) and close(X + HOST, 2 * HOST)
    assert [float(row[0]) for row in X] == HOST[:, 0].tolist()
    assert close(X.at[2].set(0.0)[1:4], HOST[1:4] * np.array([[1], [0], [1]]))


def test_meshes_over_the_same_devices_in_the_same_order_meet():
    other = rb.device_put(HOST, on("z", mesh=ROW))
    assert close(X + other, 2 * HOST) and close(jit(lax.add)(other, X), 2 * HOST)


def test_what_the_mesh_cannot_say_is_whole_on_each_device():
    # Rows in 8 parts become 2 dimensions, of which the first has 4 of the 8 parts: no axis of this mesh.
    rows = rb.device_put(HOST, on("z", mesh=ROW))
    out = lax.reshape(rows, (4, 4, 8))
    assert close(out, HOST.reshape(4, 4, 8)) and out.sharding.devices_indices_map(out.shape)


def test_other_devices_and_orders_are_refused():
    backwards = rb.make_mesh((8,), ("x",), devices=rb.devices()[::-1])
    for other, words in (
        (rb.device_put(HOST, rb.devices()[3]), "is on cpu:3"),
        (rb.device_put(HOST, on("x", mesh=backwards)), "is on cpu:7,6,5,4,3,2,1,0"),
    ):
        for add in (lax.add, jit(lambda x, y: lax.add(x, y))):
            with pytest.raises(ValueError, match=words):
                add(X, other)
    two = jit(
        lambda x: lax.with_sharding_constraint(lax.with_sharding_constraint(x, on()), on(mesh=backwards))
    )
    with pytest.raises(ShardingError, match="over different devices"):
        two(HOST)
    with pytest.raises(ShardingError, match=r"argument 'x', f32\[16,8\], is on cpu:2"):
        jit(lambda x: lax.with_sharding_constraint(x, on("x")))(rb.device_put(HOST, rb.devices()[2]))


def test_a_mesh_of_one_device_and_that_device_are_one_place():
    one = rb.device_put(HOST, on("x", mesh=rb.make_mesh((1,), ("x",))))
    assert close(one + rb.device_put(HOST, rb.devices()[0]), 2 * HOST) and close(
        jit(lambda x: x * 2)(one), 2 * HOST
    )


# --------------------------------------------------------------------------------------------------- jit
def test_jit_follows_its_arguments():
    f = jit(lambda x, w: lax.tanh(x @ w))
    out = f(X, WEIGHTS)
    assert close(out, np.tanh(HOST @ WEIGHTS)) and out.sharding.mesh == MESH
    assert f(X, WEIGHTS).sharding == f(X, rb.device_put(WEIGHTS, on())).sharding
    assert f(HOST, WEIGHTS).sharding.num_devices == 1


def test_in_shardings_and_out_shardings():
    f = jit(lambda x, w: {"out": x @ w}, in_shardings=(on("x"), on(None, "y")), out_shardings=on("x", "y"))
    for _ in range(2):
        assert f(HOST, WEIGHTS)["out"].sharding == on("x", "y") and close(
            f(HOST, WEIGHTS)["out"], HOST @ WEIGHTS
        )
    placed = rb.device_put(HOST, on("x")), rb.device_put(WEIGHTS, on(None, "y"))
    assert all(close(f(*placed)["out"], HOST @ WEIGHTS) for _ in range(3))
    with pytest.raises(
        ShardingError, match=r"in_shardings asks for .*P\('x',\), .*\) for argument 'x', which was put on"
    ):
        f(X, WEIGHTS)
    with pytest.raises(ValueError, match="in_shardings are for arguments by position, got w by name"):
        f(HOST, w=WEIGHTS)
    with pytest.raises(ShardingError, match="divisible"):
        jit(lambda x: x, in_shardings=on("x"))(HOST[:7])
    with pytest.raises(ShardingError, match="divisible"):
        jit(lambda x: x[:7], out_shardings=on("x"))(HOST)
    with pytest.raises(ShardingError, match="one program runs on one set of devices"):
        jit(lambda x: x, in_shardings=on(), out_shardings=rb.device_put(1.0).sharding)
    with pytest.raises(ValueError, match="is not a prefix"):
        jit(lambda x: x, in_shardings=(on(), on()))(HOST)


def test_specs_alone_refer_to_the_mesh_that_is_set():
    with rb.set_mesh(MESH):
        f = jit(lambda x: lax.with_sharding_constraint(x, P(None, "x")), in_shardings=P("y"))
        assert f(HOST).sharding == on(None, "x")
        assert lax.reshape(X, (8, 16), out_sharding=P("x")).sharding == on("x")


def test_constraints_decide_and_are_linear():
    f = jit(lambda x: lax.with_sharding_constraint(x * 2.0, on("y")))
    for x in (HOST, X):
        assert f(x).sharding == on("y") and close(f(x), 2 * HOST)
    assert f.lower(HOST).as_text().count("sdy.sharding_constraint") == 1
    pair = lax.with_sharding_constraint((HOST, X), (on("x"), None))
    assert pair[0].sharding == on("x") and pair[1] is X
    grad = pytest.importorskip("rabbet_autodiff").grad
    assert close(grad(lambda x: (f(x) ** 2).sum())(X), 8 * HOST)
    assert close(jit(grad(lambda x: (f(x) ** 2).sum()))(HOST), 8 * HOST)
    vmap = pytest.importorskip("rabbet_vmap").vmap
    g = jit(vmap(lambda r: lax.with_sharding_constraint(r, on("y"))))
    assert close(g(HOST), HOST) and close(
        jit(vmap(lambda r: lax.with_sharding_constraint(r, on("x")), 1, 1))(HOST), HOST
    )
    with pytest.warns(UserWarning, match=r"cuts f32\[7,8\] into parts that are not equal") as told:
        odd = jit(lambda x: lax.with_sharding_constraint(x[:7], on("x", "y")))(HOST)
    assert close(odd, HOST[:7]) and told[0].filename == __file__
    assert "P(None, 'y')" in str(told[0].message) or "P((), 'y')" in str(told[0].message)
    half = jit(lambda x: lax.with_sharding_constraint(x, on("x", P.UNCONSTRAINED)))(X)
    assert half.sharding.spec[0] == "x" and close(half, HOST)


def test_shardings_in_loops_branches_and_calls():
    def step(c, _):
        return lax.with_sharding_constraint(lax.sin(c), on("x")), c.sum()

    f = jit(lambda x: lax.scan(step, x, None, length=3))
    out, sums = f(HOST)
    assert close(out, np.sin(np.sin(np.sin(HOST)))) and out.sharding.mesh == MESH and sums.shape == (3,)
    inner = jit(lambda x: x + 1.0, in_shardings=on("x"), out_shardings=on(None, "y"))
    assert jit(lambda x: inner(x))(HOST).sharding == on(None, "y")
    branches = jit(
        lambda p, x: lax.cond(p, lambda x: lax.with_sharding_constraint(x, on("y")), lambda x: -x, x)
    )
    assert close(branches(True, X), HOST) and close(branches(False, X), -HOST)


def test_captured_arrays_bring_their_devices():
    f = jit(lambda y: X + y)
    assert close(f(HOST), 2 * HOST) and f(HOST).sharding.mesh == MESH


def test_shapes_are_told_with_the_shardings_that_were_asked_for():
    f = jit(lambda x: (x * 2, x.sum()), out_shardings=(on("x"), None))
    x = rb.ShapeDtypeStruct(HOST.shape, "float32")
    for rows, total in (rb.eval_shape(f, x), f.eval_shape(x), f.lower(x).out_info):
        assert (rows.shape, rows.sharding, total.shape, total.sharding) == ((16, 8), on("x"), (), None)


def test_stages_tell_shardings():
    f = jit(lambda x: x.T * 2.0)
    shape = rb.ShapeDtypeStruct((16, 8), "float32", sharding=on("x"))
    compiled = f.lower(shape).compile()
    assert compiled.input_shardings == ((on("x"),), {}) and compiled.output_shardings == on(None, "x")
    assert close(compiled(rb.device_put(HOST, on("x"))), 2 * HOST.T) and close(compiled(HOST), 2 * HOST.T)
    with pytest.raises(ShardingError, match=r"was put on .*, and the program was compiled for"):
        compiled(X)
    assert "all-gather" not in compiled.as_text()
    assert jit(lax.neg).lower(HOST).compile().output_shardings == rb.device_put(1.0).sharding


def test_a_spec_given_before_a_mesh_is_set_means_the_one_that_is_set_at_the_call():
    f, g = jit(lax.neg, in_shardings=P("x"), out_shardings=P("x")), jit(lax.neg, out_shardings=P(None, "x"))
    other = rb.make_mesh((2, 4), ("x", "y"))
    for mesh in (MESH, other, MESH, MESH):
        with rb.set_mesh(mesh):
            assert f(HOST).sharding == on("x", mesh=mesh) and close(f(HOST), -HOST)
            assert g(HOST).sharding == on(None, "x", mesh=mesh) and close(g(HOST), -HOST)
            lowered = f.lower(HOST)
        assert lowered.compile().output_shardings == on("x", mesh=mesh)
    for function in (f, g):
        with pytest.raises(ShardingError, match=r"_shardings is .*, and no mesh is set"):
            function(HOST)


def test_a_function_is_traced_again_under_another_mesh():
    """It was not, and laid its results out on the mesh of the first call."""
    f = jit(lambda x: lax.with_sharding_constraint(x + 1.0, P("x")))
    other = rb.make_mesh((2, 4), ("x", "y"))
    for mesh in (MESH, other, MESH):
        with rb.set_mesh(mesh):
            assert f(HOST).sharding == on("x", mesh=mesh)
    with pytest.raises(ShardingError, match="no mesh is set"):
        f(HOST)


def test_typed_keys_are_laid_out_within_programs():
    """A constraint on them could not be lowered."""
    random = pytest.importorskip("rabbet.random", reason="the package rabbet-random is not installed")
    keys = random.split(random.key(0), 8)
    laid = jit(lambda k: lax.with_sharding_constraint(k, on("x")))(keys)
    assert laid.sharding == on("x") and np.array_equal(random.key_data(laid), random.key_data(keys))
    whole = jit(lambda k: lax.with_sharding_constraint(k, on()))(random.key(1))
    assert np.array_equal(random.key_data(whole), random.key_data(random.key(1)))


def test_what_stands_for_the_sharding_of_a_shape_counts():
    """A PartitionSpec, on the mesh that is set, and a Format; both were passed over."""
    layout = pytest.importorskip("rabbet.experimental.layout")
    f, spec = jit(lambda x: x * 2.0), rb.ShapeDtypeStruct((16, 8), "float32", sharding=P("x"))
    with rb.set_mesh(MESH):
        assert f.lower(spec).compile().input_shardings == ((on("x"),), {})
    with pytest.raises(ShardingError, match=r"ShapeDtypeStruct: sharding is .*, and no mesh is set"):
        f.lower(spec)
    asked = layout.Format(None, on("x"))
    compiled = f.lower(rb.ShapeDtypeStruct((16, 8), "float32", sharding=asked)).compile()
    assert compiled.input_formats[0][0] == layout.Format(layout.Layout((0, 1)), on("x"))


def test_donation_gives_the_memory_to_a_result_with_the_same_sharding():
    f = jit(lambda x: x + 1.0, donate_argnums=0, out_shardings=on("x", "y"))
    text = f.lower(rb.ShapeDtypeStruct((16, 8), "float32", sharding=on("x", "y"))).as_text()
    assert "tf.aliasing_output" in text
    x = rb.device_put(HOST, on("x", "y"))
    assert close(f(x), HOST + 1) and x.is_deleted()
    # Other parts: nothing is handed over, and nothing goes wrong.
    y = rb.device_put(HOST, on(None, "x"))
    assert close(f(y), HOST + 1) and y.is_deleted()


def test_the_cache_on_disk_serves_other_devices(tmp_path):
    rb.config.update("compilation_cache_dir", str(tmp_path))
    try:
        rb.clear_caches()
        f = jit(lambda x: lax.cos(x) * 3.25)
        here, there = [
            NamedSharding(rb.make_mesh((4,), ("x",), devices=d), P("x"))
            for d in (rb.devices()[:4], rb.devices()[4:])
        ]
        first = f.lower(rb.ShapeDtypeStruct((16, 8), "float32", sharding=here)).compile()
        second = f.lower(rb.ShapeDtypeStruct((16, 8), "float32", sharding=there)).compile()
        assert (first.executable.origin, second.executable.origin) == ("compiler", "disk")
        for compiled, place in ((first, here), (second, there)):
            out = compiled(rb.device_put(HOST, place))
            assert out.sharding == place and close(out, np.cos(HOST) * 3.25)
    finally:
        rb.config.update("compilation_cache_dir", None)


# ------------------------------------------------------------------------------------------------ traps
def test_python_functions_are_called_once_with_whole_arrays_and_their_errors_arrive():
    shapes = []

    def double(x):
        shapes.append(x.shape)
        return 2 * np.asarray(x)

    wanted = rb.ShapeDtypeStruct((16, 8), "float32")
    f = jit(lambda x: rb.pure_callback(double, wanted, x) + 1.0)
    assert close(f(X), 2 * HOST + 1) and shapes == [(16, 8)]

    def fails(x):
        raise ValueError("as a user would")

    with pytest.raises(ValueError, match="as a user would"):
        jit(lambda x: rb.pure_callback(fails, wanted, x) + 1.0)(X)
    assert close(f(X), 2 * HOST + 1)


def test_many_programs_that_communicate_may_be_under_way():
    x, total = X, jit(lambda x: x - x.sum() * 1e-6)
    for _ in range(100):
        x = total(x)
    assert np.isfinite(np.asarray(x)).all()


def test_checks_of_results_and_deleted_arguments():
    with rb.debug_nans(), pytest.raises(FloatingPointError, match="NaN"):
        jit(lambda x: lax.log(x - 1000.0))(X)
    x = rb.device_put(HOST, on("x"))
    x.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        jit(lax.neg)(x)
    with pytest.raises(RuntimeError, match="has been deleted"):
        np.asarray(x)
    assert any(a.devices() == set(rb.devices()) for a in rb.live_arrays())


def test_results_have_the_spec_of_the_argument_that_lies_so():
    for spec in ((None,), (None, None), ("x",), ("x", None), (("x", "y"), None), ("x", "y")):
        x = rb.device_put(HOST, on(*spec))
        for y in (x * 2, jit(lambda x: x)(x), x + rb.device_put(HOST, on(*spec[:1])), jit(lambda x: -x)(x)):
            assert y.sharding == x.sharding, (spec, y.sharding)
    whole = rb.device_put(HOST, on(None, None))
    assert lax.reduce_sum(whole, axes=(0,)).sharding == on()  # nothing of one dimension lies so
    assert (rb.device_put(HOST, on("x")) + rb.device_put(HOST, on("x", None))).sharding == on("x")


def test_live_arrays_lie_as_they_do():
    """One taken for whole on each device ended the process with jaxlib 0.10."""
    for sharding in (on("x"), on("x", "y"), on()):
        x = rb.device_put(HOST, sharding)
        for y in (x, jit(lambda x: x * 2, out_shardings=sharding)(x)):
            (found,) = [each for each in rb.live_arrays() if each.raw is y.raw]
            assert found.sharding == sharding
            np.testing.assert_array_equal(found + 1, y + 1)


def test_programs_are_compiled_before_they_are_called():
    f = jit(lambda x: x * 5.0)
    rb.precompile([(f, (X,))])
    with rb.no_tracing():
        assert close(f(X), 5 * HOST)


def test_nan_is_an_extreme_over_devices_too():
    host = np.arange(32, dtype=np.float32).reshape(8, 4)
    host[3, 1] = np.nan
    x = rb.device_put(host, on("x"))
    for reduce, wanted in ((lax.reduce_max, host.max(0)), (lax.reduce_min, host.min(0))):
        np.testing.assert_array_equal(reduce(x, (0,)), wanted)
        small = reduce(x.astype("bfloat16"), (0,))
        np.testing.assert_array_equal(lax.convert_element_type(small, "float32"), wanted)
    parts = host.reshape(4, 2, 4)
    for collective, wanted in ((lax.pmax, parts.max(0)), (lax.pmin, parts.min(0))):
        f = rb.shard_map(lambda v, c=collective: c(v, "x"), mesh=MESH, in_specs=P("x"), out_specs=P())
        np.testing.assert_array_equal(jit(f)(x), wanted)


def test_a_constraint_on_an_abstract_mesh_is_one_on_the_mesh_that_is_set():
    mesh = rb.make_mesh((4, 2), ("x", "y"))
    rows = NamedSharding(mesh.abstract_mesh, P("x"))
    with rb.set_mesh(mesh):
        found = lax.with_sharding_constraint(np.ones((8, 2), np.float32), rows)
    assert found.sharding == NamedSharding(mesh, P("x"))
    with pytest.raises(ShardingError, match="names no devices, and no mesh of these axes is set"):
        lax.with_sharding_constraint(np.ones((8, 2), np.float32), rows)


def test_a_mesh_that_is_only_entered_is_for_constraints_and_pjit():
    from rabbet.errors import NoMeshError
    from rabbet.experimental.pjit import pjit

    with MESH:
        for f in (
            lambda: jit(lax.neg, in_shardings=P("x"))(HOST),
            lambda: jit(lax.neg, out_shardings=P("x"))(HOST),
            lambda: rb.device_put(HOST, P("x")),
        ):
            with pytest.raises(NoMeshError, match=r"`with mesh:` is for with_sharding_constraint and pjit"):
                f()
        assert pjit(lax.neg, out_shardings=P("x"))(HOST).sharding == on("x")
        assert jit(lambda x: lax.with_sharding_constraint(x, P("x")))(HOST).sharding == on("x")
    assert issubclass(NoMeshError, RuntimeError) and issubclass(NoMeshError, ValueError)
