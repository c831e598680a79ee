"""Meshes: which one is current, how they change, orders of devices; and the modules by older names."""

import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.experimental import mesh_utils, topologies
from rabbet.experimental.pjit import pjit
from rabbet.experimental.shard_map import shard_map
from rabbet.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    auto_axes,
    get_abstract_mesh,
    get_mesh,
    reshard,
    use_abstract_mesh,
    use_mesh,
)  # fmt: skip
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

MESH = rb.make_mesh((4, 2), ("x", "y"))
HOST = np.arange(32, dtype=np.float32).reshape(8, 4)


def test_the_current_mesh():
    assert get_mesh().empty and get_abstract_mesh().empty and get_mesh().size == 0
    with use_mesh(MESH) as mesh:
        assert mesh is MESH and get_mesh() is MESH and get_abstract_mesh() == MESH.abstract_mesh
        with use_abstract_mesh(AbstractMesh((2,), ("z",))):
            assert get_abstract_mesh().axis_names == ("z",) and get_mesh() is MESH
    held = use_mesh(MESH)
    assert get_mesh().empty  # nothing happens before `with`
    with held:
        assert rb.get_mesh() is MESH
    with pytest.raises(TypeError, match="use_mesh takes a Mesh or None, got AbstractMesh"):
        use_mesh(MESH.abstract_mesh)


def test_with_mesh_says_only_what_a_spec_refers_to():
    other = rb.make_mesh((8,), ("z",))
    with MESH:
        assert get_mesh().empty and get_abstract_mesh().empty
        assert rb.jit(lambda x: rb.lax.with_sharding_constraint(x, P("y")))(HOST).sharding.mesh == MESH
        with rb.set_mesh(other):
            assert get_mesh() is other and rb.device_put(HOST, P("z")).sharding.mesh == other
            with MESH:
                assert get_mesh() is other and rb.device_put(HOST, P("z")).sharding.mesh == other
        assert get_mesh().empty
    seen = []
    look = lambda x: (seen.append(get_abstract_mesh().manual_axes), x)[1]
    inside = rb.shard_map(look, in_specs=P("x"), out_specs=P("x"))
    with MESH, pytest.raises(ShardingError, match="give a Mesh, or set one"):
        inside(HOST)
    with rb.set_mesh(MESH):
        inside(HOST)
    assert seen == [("x", "y")] and get_abstract_mesh().empty


def test_axes_by_their_types():
    assert (MESH.auto_axes, MESH.explicit_axes, MESH.manual_axes) == (("x", "y"), (), ())
    assert MESH.are_all_axes_auto and not MESH.are_all_axes_manual
    inside = MESH.abstract_mesh.update_axis_types({"x": AxisType.Manual})
    assert inside.axis_types == (AxisType.Manual, AxisType.Auto) and inside.manual_axes == ("x",)
    assert MESH.update(axis_names=("a", "b")).shape_tuple == (("a", 4), ("b", 2))
    assert MESH.abstract_mesh.update(axis_sizes=(2, 4)).shape_tuple == (("x", 2), ("y", 4))


def test_meshes_and_shardings_pickle():
    for thing in (MESH, MESH.abstract_mesh, NamedSharding(MESH, P("x", None)), P(("x", "y")), AxisType.Auto):
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_orders_of_devices():
    grid = mesh_utils.create_device_mesh((4, 2))
    assert Mesh(grid, ("x", "y")) == MESH
    with pytest.raises(ShardingError, match=r"\(3, 2\) has 6 places, and there are 8 devices"):
        mesh_utils.create_device_mesh((3, 2))
    one = mesh_utils.create_hybrid_device_mesh((4, 2), (1, 1), process_is_granule=True)
    assert (one == grid).all()
    with pytest.raises(ShardingError, match="has 2 places, and there are 1 processes"):
        mesh_utils.create_hybrid_device_mesh((4, 1), (1, 2), process_is_granule=True)
    with pytest.raises(ShardingError, match="knows no slice; give process_is_granule=True"):
        mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1))


class Slices:
    """A device that knows its slice."""

    def __init__(self, number):
        self.process_index, self.raw = 0, type("Raw", (), {"slice_index": number})


def test_the_slower_network_is_outermost():
    first, second = [Slices(0) for _ in range(4)], [Slices(1) for _ in range(4)]
    grid = mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1), [*second, *first])
    assert grid.shape == (4, 2)
    assert list(grid[:2].flat) == first and list(grid[2:].flat) == second


def test_arrays_laid_out_anew():
    pytest.importorskip("rabbet_jit")
    moved = reshard(HOST, NamedSharding(MESH, P("y", "x")))
    assert moved.sharding.spec == P("y", "x") and (np.asarray(moved) == HOST).all()
    with use_mesh(MESH):
        again = rb.jit(lambda x: rb.reshard(x * 2, P(None, "x")))(moved)
        assert again.sharding.spec == P(None, "x") and (np.asarray(again) == 2 * HOST).all()
        f = auto_axes(lambda x: lax.reshape(x, (32,)), out_sharding=P("x"))
        assert f(moved).sharding.spec == P("x") and f(moved, out_sharding=P("y")).sharding.spec == P("y")
    with pytest.raises(TypeError, match="give out_sharding"):
        auto_axes(lax.neg)(HOST)


def test_older_names():
    pytest.importorskip("rabbet_jit")
    rows = NamedSharding(MESH, P("x"))
    assert pjit(lax.neg, in_shardings=rows, out_shardings=rows)(HOST).sharding == rows
    f = shard_map(lambda x: lax.psum(x, "x"), MESH, in_specs=P("x"), out_specs=P(), auto=frozenset({"y"}))
    np.testing.assert_allclose(rb.jit(f)(HOST), HOST.reshape(4, 2, 4).sum(0))
    with pytest.raises(ShardingError, match="may differ"):
        shard_map(lambda x: x, MESH, P("x"), P())(HOST)
    shard_map(lambda x: x, MESH, P("x"), P(), check_rep=False)(HOST)


def test_topologies():
    here = topologies.get_attached_topology()
    assert here.devices == rb.devices() and topologies.get_topology_desc().devices == rb.devices()
    assert topologies.make_mesh(here, (4, 2), ("x", "y")) == MESH
    there = topologies.get_topology_desc("16", "cpu")
    mesh = topologies.make_mesh(there, (2, 8), ("x", "y"))
    assert len(there.devices) == 16 and mesh.shape == {"x": 2, "y": 8} and "16" in repr(there)
    with pytest.raises(ShardingError, match="has 4 places, and there are 16 devices"):
        topologies.make_mesh(there, (4,), ("x",))
    with pytest.raises(rb.errors.ConfigError, match="chip without a topology_name"):
        topologies.get_topology_desc(chip="v9")
    with pytest.raises(rb.errors.ConfigError, match="there is no CPU topology 'few'"):
        topologies.get_topology_desc("few", "cpu")
    with pytest.raises(rb.errors.MissingPluginError, match="no installed package offers platform 'mars'"):
        topologies.get_topology_desc("8", "mars")


def test_shardings_without_devices_mean_the_mesh_that_is_set():
    jit = pytest.importorskip("rabbet_jit").jit
    rows, wanted = NamedSharding(MESH.abstract_mesh, P("x")), NamedSharding(MESH, P("x"))
    lay = lambda x: lax.with_sharding_constraint(x * 2, rows)
    with use_mesh(MESH):
        for out in (
            jit(lay)(HOST),
            lay(HOST),
            jit(lambda: lay(lax.full((8, 4), 1.0)))(),
            rb.device_put(HOST, rows),
        ):
            assert out.sharding.is_equivalent_to(wanted, 2), out.sharding
    assert rb.eval_shape(lay, HOST).shape == (8, 4)
    with pytest.raises(ShardingError, match="names no devices, and no mesh of these axes was set"):
        jit(lambda x: lay(x))(HOST)


def test_a_format_stands_for_its_sharding():
    jit = pytest.importorskip("rabbet_jit").jit
    layout = pytest.importorskip("rabbet.experimental.layout")
    rows = NamedSharding(MESH, P("x"))
    lay = lambda x: lax.with_sharding_constraint(x, layout.Format(layout.Layout((0, 1)), rows))
    assert lay(HOST).sharding == rows and jit(lay)(HOST).sharding.is_equivalent_to(rows, 2)
    by_columns = layout.Format(layout.Layout((1, 0)), rows)
    assert lax.with_sharding_constraint(HOST, by_columns).format == by_columns
    assert jit(lambda x: lax.with_sharding_constraint(x, by_columns))(HOST).sharding.is_equivalent_to(rows, 2)


def test_what_is_no_type_of_an_axis_and_no_spec():
    with pytest.raises(TypeError, match=r"axis_types holds values of .*AxisType, got 'explicit'"):
        rb.make_mesh((2,), ("x",), axis_types=("explicit",))
    with pytest.raises(TypeError, match="takes a PartitionSpec, got 'x'"):
        NamedSharding(rb.make_mesh((2,), ("x",)), "x")
    with pytest.raises(ValueError, match="set_mesh takes a Mesh or None, got int"):
        rb.set_mesh(3)
    with pytest.raises(ValueError, match="unreduced holds names of axes"):
        P(unreduced={None})


def test_the_type_that_axes_have_by_default_is_a_setting():
    assert rb.make_mesh((2,), ("x",)).axis_types == (AxisType.Auto,)
    with rb.config.override(mesh_axis_types="explicit"):
        made = rb.make_mesh((2,), ("x",)), AbstractMesh((2,), ("x",))
        assert Mesh(rb.devices()[:2], ("x",)).axis_types == (AxisType.Auto,)
    assert [m.axis_types for m in made] == [(AxisType.Explicit,)] * 2


def test_results_over_explicit_axes_name_every_dimension():
    mesh = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
    with rb.set_mesh(mesh):
        x = rb.device_put(np.ones((8, 2), np.float32), P("x", "y"))
        assert rb.reshard(x, P("x")).sharding.spec == P("x", None)
        assert rb.sharding.auto_axes(lambda x: x * 2, out_sharding=P("y"))(x).sharding.spec == P("y", None)


def test_parts_of_another_dtype_than_asked_for():
    rows = NamedSharding(rb.make_mesh((2,), ("x",)), P("x"))
    with pytest.raises(ValueError, match=r"the dtypes \['float32'\], and int32 was asked for"):
        rb.make_array_from_callback((2,), rows, lambda i: np.ones(2, np.float32)[i], dtype=np.int32)


def test_a_mesh_that_is_set_may_say_where_everything_is_computed():
    mesh = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
    outside, key = rb.device_put(np.ones(4, np.float32)), rb.random.key(0, impl="rbg")
    assert (outside + 1).sharding.device_set == {rb.devices()[0]}
    with rb.config.override(mesh_rules="everywhere"), rb.set_mesh(mesh):
        whole = NamedSharding(mesh, P(None))
        made = [
            rb.jit(lambda: rb.random.uniform(key, (4,)))(), rb.jit(lambda x: x + 1)(np.ones(4)),
            rb.jit(lambda x: x)(outside), rb.numpy.ones(4), rb.numpy.linspace(0, 1, 4) * 2, outside * 3,
            outside + 1,  # which ran on one device before
        ]  # fmt: skip
        assert [x.sharding for x in made] == [whole] * len(made) and all(x.committed for x in made)
        cut = rb.device_put(np.ones((8, 4), np.float32), P("x"))
        assert rb.jit(lambda x, y: x + y)(cut, outside).sharding.spec == P("x", None)
        told = []
        rb.jit(lambda x: told.append(rb.typeof(x).sharding) or x)(outside)
        assert told == [NamedSharding(mesh.abstract_mesh, P(None))]
        other = NamedSharding(rb.make_mesh((8,), ("z",), axis_types=AxisType.Explicit), P())
        elsewhere = rb.device_put(np.ones(4, np.float32), other)
        for f in (lambda x: x - 1, rb.jit(lambda x: x - 1)):
            with pytest.raises(ShardingError, match=r"lies on .*'z': 8.*mesh that is set is .*'x': 4"):
                f(elsewhere)
        assert rb.device_put(elsewhere, P()).sharding.mesh == mesh
        with rb.set_mesh(None):
            assert rb.jit(lambda x: x - 1)(np.ones(4)).sharding.device_set == {rb.devices()[0]}
    with rb.set_mesh(mesh):
        assert rb.jit(lambda: rb.numpy.ones(4))().sharding.device_set == {rb.devices()[0]}
    assert rb.typeof(outside).sharding.mesh.empty


def test_what_a_mesh_is_made_of():
    for word in ("unreduced", "reduced"):
        for wrong in ("x", ("x",), {"x": 1}):
            with pytest.raises(TypeError, match=f"PartitionSpec: {word} must be a set or frozenset of names"):
                P("y", **{word: wrong})
    with pytest.raises(TypeError, match=r"create_device_mesh: devices must hold devices, .* got 7"):
        mesh_utils.create_device_mesh((2,), devices=(7, 9))
    with pytest.raises(TypeError, match=r"an element of mesh_shape must be an integer, got float 2\.5"):
        mesh_utils.create_device_mesh((2.5,), devices=rb.devices()[:2])


def test_names_of_an_abstract_mesh_have_an_order():
    for unordered in ({"x": 2}, {"x"}):
        with pytest.raises(TypeError, match="AbstractMesh: axis_names must be a tuple of names, got"):
            rb.sharding.AbstractMesh((2,), unordered)
