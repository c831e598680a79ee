"""Exported programs over several devices: written, read and called on eight."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P

export = pytest.importorskip("rabbet.export")
rnp = pytest.importorskip("rabbet.numpy")

MESH = rb.make_mesh((4, 2), ("x", "y"))
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
W = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)


def on(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


def step(x, w):
    h = lax.with_sharding_constraint(x @ w, on("x", "y"))
    return rnp.tanh(h), h.sum()


def exported(**kwargs):
    jitted = rb.jit(step, in_shardings=(on("x"), on(None, "y")), **kwargs)
    return export.export(jitted)(*[rb.ShapeDtypeStruct(x.shape, "float32") for x in (X, W)])


@pytest.fixture(scope="module")
def again():
    return export.deserialize(exported().serialize(vjp_order=1))


def placed(*specs):
    return [rb.device_put(x, on(*spec)) for x, spec in zip((X, W), specs, strict=True)]


def test_what_it_says_of_devices(again):
    assert again.nr_devices == 8 and again.in_shardings_hlo == (None, None)
    assert again.in_shardings_jax(MESH) == (on("x"), on(None, "y"))
    assert again.out_shardings_jax(MESH) == (None, None)
    assert "num_partitions = 8" in again.mlir_module()
    named = exported(out_shardings=(on(("y", "x")), on()))
    assert named.out_shardings_jax(MESH) == (on(("y", "x")), on())
    turned = rb.sharding.Mesh(np.array(rb.devices())[::-1].reshape(4, 2), ("x", "y"))
    assert named.in_shardings_jax(turned)[0] == on("x", mesh=turned)


@pytest.mark.parametrize("specs", [(("x",), (None, "y")), ((), ("x",)), ((("x", "y"),), ())], ids=str)
def test_calls_however_the_arguments_lie(again, specs):
    found, total = again.call(*placed(*specs))
    np.testing.assert_allclose(found, np.tanh(X @ W), atol=1e-6)
    np.testing.assert_allclose(total, (X @ W).sum(), rtol=1e-5)
    assert found.sharding == on("x", "y")
    row = rb.make_mesh((8,), ("z",))
    found, _ = rb.jit(again.call)(rb.device_put(X, on("z", mesh=row)), W)
    np.testing.assert_allclose(found, np.tanh(X @ W), atol=1e-6)


def test_results_lie_as_asked_for():
    named = export.deserialize(exported(out_shardings=(on(("y", "x")), on())).serialize())
    found, total = named.call(*placed((), ()))
    assert found.sharding.is_equivalent_to(on(("y", "x")), 2) and total.sharding.is_fully_replicated


def test_the_derivative_is_for_as_many_devices(again):
    pulled = again.vjp()
    assert pulled.nr_devices == 8 and pulled.out_shardings_jax(MESH) == (on("x"), on(None, "y"))
    slope = rb.grad(lambda x, w: again.call(x, w)[0].sum())(*placed(("x",), ()))
    wanted = rb.grad(lambda x: rnp.tanh(x @ W).sum())(X)
    np.testing.assert_allclose(slope, wanted, atol=1e-6)


def test_shard_map_and_captured_arrays_travel():
    held = rb.device_put(W, on(None, "y"))

    @rb.jit
    def f(x):
        total = rb.shard_map(lambda x: lax.psum(x, "x"), mesh=MESH, in_specs=P("x"), out_specs=P())(x)
        return total, x @ held

    x = rb.device_put(X, on("x"))
    total, product = export.deserialize(export.export(f)(x).serialize()).call(x)
    np.testing.assert_allclose(total, X.reshape(4, 2, 4).sum(0), atol=1e-6)
    np.testing.assert_allclose(product, X @ W, atol=1e-6)


def test_types_that_say_how_arrays_lie_are_written_without_it():
    exact = rb.make_mesh((8,), ("z",), axis_types=AxisType.Explicit)
    x = rb.device_put(X, on("z", mesh=exact))
    program = export.deserialize(export.export(rb.jit(lambda x: 2 * x))(x).serialize())
    assert program.in_shardings_jax(exact) == (on("z", mesh=exact),)
    np.testing.assert_array_equal(program.call(rb.device_put(X, on("x"))), 2 * X)


def test_a_program_for_one_device_goes_anywhere():
    one = export.export(rb.jit(lambda x: x + 1))(X)
    assert one.nr_devices == 1 and one.in_shardings_jax() == (None,)
    np.testing.assert_array_equal(one.call(rb.device_put(X, on("x", "y"))), X + 1)


def test_refusals(again):
    with pytest.raises(export.ExportError, match=r"exported for 8 devices and is called on 1\n.*device_put"):
        again.call(X, W)
    few = rb.sharding.Mesh(np.array(rb.devices()[:2]), ("z",))
    with pytest.raises(export.ExportError, match="for 8 devices and is called on 2"):
        again.call(rb.device_put(X, on("z", mesh=few)), W)
    with pytest.raises(export.ExportError, match=r"a mesh of \{.*\}, and is given one of \{'z': 2\}"):
        again.in_shardings_jax(few)
    with pytest.raises(TypeError, match="give the mesh"):
        again.in_shardings_jax()
    (n,) = export.symbolic_shape("n")
    with pytest.raises(rb.errors.ShardingError, match=r"n is not divisible by 4; .*symbolic_shape\('4\*n'\)"):
        export.export(rb.jit(lambda x: x, in_shardings=on("x")))(rb.ShapeDtypeStruct((n, 4), "float32"))


def test_dimensions_that_are_symbolic():
    (rows,) = export.symbolic_shape("4*n")

    def f(x, w):
        h = lax.with_sharding_constraint(rnp.sin(x @ w), on("x", "y"))
        return lax.scan(lambda c, _: (c * 2 + h, None), h, None, length=2)[0] * x.shape[0]

    jitted = rb.jit(f, in_shardings=(on("x"), on(None, "y")), out_shardings=on("x", "y"))
    program = export.export(jitted)(rb.ShapeDtypeStruct((rows, 4), "float32"), rb.typeof(W))
    program = export.deserialize(program.serialize(vjp_order=1))
    assert program.nr_devices == 8 and "tensor<?x4xf32> {sdy.sharding" in program.mlir_module()
    for x in (X, np.tile(X, (2, 1))):
        given = rb.device_put(x, on("x")), rb.device_put(W, on(None, "y"))
        found = program.call(*given)
        assert found.sharding == on("x", "y")
        np.testing.assert_allclose(found, np.sin(x @ W) * 7 * len(x), rtol=1e-5)
        slopes = rb.grad(lambda *a: program.call(*a).sum(), argnums=(0, 1))(*given)
        wanted = np.cos(x @ W) * 7 * len(x)
        np.testing.assert_allclose(slopes[0], wanted @ W.T, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(slopes[1], x.T @ wanted, rtol=1e-4, atol=1e-3)
    with pytest.raises(export.ExportError, match=r"is no 4\*n for a whole n"):
        program.call(rb.device_put(X[:6], on()), W)
    apart = rb.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(rb.errors.NotOfferedError, match=r"'shard_map' .* no form with symbolic dimensions"):
        export.export(rb.jit(apart))(rb.ShapeDtypeStruct((rows, 4), "float32"))
