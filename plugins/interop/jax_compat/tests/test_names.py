"""Names that libraries read: they do what they say, in this process and without serving ``jax``."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import random
from rabbet.errors import JaxprTypeError
from rabbet_jax import single_process
from rabbet_jax.checkpoint_levels import another_level
from rabbet_jax.overlay import lax as overlay_lax
from rabbet_jax.overlay import monitoring
from rabbet_jax.overlay._src import dtypes as private_dtypes
from rabbet_jax.overlay._src.public_test_util import check_close
from rabbet_jax.overlay._src.tree_util import _registry, prefix_errors
from rabbet_jax.overlay.ad_checkpoint import checkpoint
from rabbet_jax.overlay.core import ensure_compile_time_eval, get_opaque_trace_state, jaxpr_as_fun
from rabbet_jax.overlay.extend import core
from rabbet_jax.overlay.extend.backend import get_backend, get_default_device
from rabbet_jax.overlay.extend.random import define_prng_impl
from rabbet_jax.overlay.lax import linalg as overlay_linalg


def around():
    return (
        core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
        core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
        core.unsafe_get_axis_names_DO_NOT_USE(),
    )


def test_what_is_around():
    seen = []
    look = lambda x: (seen.append(around()), x)[1]
    rb.vmap(look, axis_name="i")(np.ones(2))
    rb.jit(look)(1.0)
    rb.jit(rb.vmap(look))(np.ones(2))
    rb.grad(look)(1.0)
    assert seen == [(False, True, ["i"]), (True, False, []), (True, True, []), (False, False, [])]
    assert around() == (False, False, [])


def test_programs_within_programs_and_equations():
    closed = rb.make_jaxpr(lambda x: rb.lax.cond(x > 0, rnp.sin, rnp.cos, x))(1.0)
    assert len(list(core.subjaxprs(closed.jaxpr))) == 2
    core.check_jaxpr(closed.jaxpr)
    simple = rb.make_jaxpr(lambda x: rnp.sin(x) * 2)(1.0)
    first, *rest = simple.jaxpr.eqns
    again = core.new_jaxpr_eqn(first.invars, first.outvars, rb.extend.primitive.cos, {})
    changed = core.Jaxpr((), simple.jaxpr.invars, simple.jaxpr.outvars, [again, *rest])
    (out,) = jaxpr_as_fun(core.ClosedJaxpr(changed, []))(0.5)
    np.testing.assert_allclose(out, 2 * np.cos(0.5), rtol=1e-6)
    with pytest.raises(JaxprTypeError):
        core.check_jaxpr(core.Jaxpr((), simple.jaxpr.invars, simple.jaxpr.outvars, rest))
    assert changed.replace(eqns=[first, *rest]).eqns[0] is first and isinstance(changed, core.ClosedJaxpr)
    assert isinstance(simple, core.Jaxpr) and simple.replace(outvars=simple.invars).outvars == simple.invars
    assert not isinstance(first.outvars[0], core.DropVar)
    params = {"x64": 1}
    assert first.primitive.get_bind_params(params) == params and float(first.primitive.bind(0.0)) == 0.0


def test_types():
    assert core.primal_dtype_to_tangent_dtype("int32") == rb.dtypes.float0
    assert core.primal_dtype_to_tangent_dtype("float16") == rb.dtypes.canonicalize("float16")
    assert core.valid_jaxtype(1.0) and not core.valid_jaxtype("a")
    assert core.concrete_or_error(int, 3.0) == 3
    with pytest.raises(rb.errors.ConcretizationTypeError):
        rb.jit(lambda x: core.concrete_or_error(int, x))(1)


def test_a_function_under_checkpoint_has_a_trace_of_its_own():
    outside, seen = get_opaque_trace_state(), []
    f = checkpoint(lambda x: (seen.append(get_opaque_trace_state()), rnp.sin(x))[1])
    with rb.check_tracer_leaks():  # what was seen of the traces keeps none of them
        np.testing.assert_allclose(rb.grad(f)(0.5), np.cos(0.5), rtol=1e-6)
    f(0.5)
    assert all(state != outside for state in seen) and len(seen) >= 2
    with another_level():
        inner = get_opaque_trace_state()
        assert inner == get_opaque_trace_state() != outside and hash(inner) == hash(get_opaque_trace_state())
    assert get_opaque_trace_state() == outside


def test_events_reach_their_listeners():
    seen = []
    listener = lambda *args, **kwargs: seen.append((args, kwargs))
    ways = [
        (monitoring.register_event_listener, monitoring.record_event, ("a",)),
        (monitoring.register_event_duration_secs_listener, monitoring.record_event_duration_secs, ("b", 1.0)),
        (monitoring.register_event_time_span_listener, monitoring.record_event_time_span, ("c", 1.0, 2.0)),
        (monitoring.register_scalar_listener, monitoring.record_scalar, ("d", 3)),
    ]
    for register, record, args in ways:
        register(listener)
        record(*args, more=1)
    assert seen == [(args, {"more": 1}) for _, _, args in ways]
    monitoring.unregister_event_listener(listener)
    monitoring.record_event("e")
    monitoring.clear_event_listeners()
    monitoring.record_scalar("f", 1)
    assert len(seen) == 4


def test_one_process_agrees_with_itself():
    tree = {"a": rnp.arange(2), "b": 3}
    np.testing.assert_array_equal(single_process.process_allgather(tree)["a"], [[0, 1]])
    np.testing.assert_array_equal(single_process.process_allgather(tree, tiled=True)["a"], [0, 1])
    assert single_process.broadcast_one_to_all(tree)["b"] == 3
    single_process.sync_global_devices("here")
    single_process.assert_equal(tree)


def test_several_processes_need_their_package(monkeypatch):
    monkeypatch.setattr(rb, "process_count", lambda: 2)
    for name in ("broadcast_one_to_all", "process_allgather", "sync_global_devices", "assert_equal"):
        with pytest.raises(NotImplementedError, match=f"{name}: .*\n.*pip install rabbet-distributed"):
            getattr(single_process, name)("x")


def test_types_answer_for_their_sharding():
    sharding = rb.typeof(np.ones((2, 3))).sharding
    assert sharding.is_fully_replicated and sharding.mesh.empty and not sharding.mesh.are_all_axes_explicit
    assert sharding.spec == (None, None) and sharding.update(spec=(None,)).ndim == 1
    with pytest.raises(ValueError, match="no mesh is part of this type"):
        sharding.update(spec=("x", None))
    assert core.ShapedArray((2,), "float32", sharding=sharding) is core.ShapedArray((2,), "float32")
    assert rb.jit(lambda x: rnp.zeros_like(x, out_sharding=x.aval.sharding))(np.ones(2)).shape == (2,)


@pytest.mark.parametrize("x", [np.int32(1), np.dtype("int32"), np.int32, "int32", 1, rnp.arange(2)])
def test_the_dtype_of_values_and_of_dtypes(x):
    assert overlay_lax.dtype(x) == np.int32


def test_a_generator_of_ones_own():
    counter = {
        "key_shape": (3,),
        "seed": lambda number: rnp.full((3,), number, np.uint32),
        "split": lambda data, shape: data + rnp.arange(int(np.prod(shape)), dtype=np.uint32)[:, None],
        "random_bits": lambda data, width, shape: rnp.full(shape, data[0]).astype(f"uint{width}"),
        "fold_in": lambda data, number: data + number,
    }
    impl = define_prng_impl(**counter, tag="cnt")
    key = random.key(5, impl=impl)
    assert str(key.dtype) == "key<cnt>" and random.key_data(key).tolist() == [5, 5, 5]
    assert random.key_data(random.split(key, 3))[:, 0].tolist() == [5, 6, 7]
    assert random.bits(key, (2,), "uint8").tolist() == [5, 5]
    assert random.key_data(random.fold_in(key, 4)).tolist() == [9, 9, 9]
    assert rb.vmap(lambda k: random.bits(k, (2,)))(random.split(key)).tolist() == [[5, 5], [6, 6]]
    assert impl != define_prng_impl(**counter, tag="cnt")  # without a name: another one


def test_where_trees_stop_being_alike():
    words = lambda *trees: [str(error("in_axes")) for error in prefix_errors(*trees)]
    assert words((1, {"a": 0}), (1, {"a": (2, 3)})) == words(1, (2, 3)) == words(None, None) == []
    lengths, types = words((0, [1, 2], {"a": (1,)}), (0, [1], {"a": [1]}))
    assert lengths.startswith("in_axes[1] is a list of length 2") and types.startswith(
        "in_axes[2]['a'] is a tuple"
    )
    (keys,) = words({"a": 1}, {"b": 1})
    assert "'a'" in keys and "'b'" in keys
    (leaf,) = words([1], 2)
    assert leaf == "in_axes is a list, where the other tree has another type, int"


def test_devices_of_this_process_in_order():
    assert rnp.ones(2).sharding._addressable_device_assignment == (rb.devices()[0],)


def test_the_registry_of_trees_takes_nodes_apart():
    registry = _registry
    assert tuple in registry and int not in registry
    for node in ((1, (2, 3)), [4, None], {"b": 5, "a": (6,)}):
        children, rest = registry[type(node)].to_iter(node)
        assert registry[type(node)].from_iter(rest, list(children)) == node and len(children) <= 2
        assert len({rest, registry[type(node)].to_iter(node)[1]}) == 1
    assert registry[tuple].to_iter((1, (2, 3)))[0] == [1, (2, 3)]
    with pytest.raises(KeyError):
        registry[int]


@pytest.mark.needs("bfloat16")
def test_dtypes_of_the_parts_of_numbers():
    names = "bool", "int32", "uint64", "float16", "bfloat16", "float64", "complex64", "complex128"
    dtypes = [rnp.dtype(name) for name in names]
    assert [private_dtypes.to_complex_dtype(d).name for d in dtypes] == (
        ["complex64"] * 2 + ["complex128"] + ["complex64"] * 2 + ["complex128", "complex64", "complex128"]
    )
    assert [private_dtypes.to_inexact_dtype(d).name for d in dtypes] == (
        ["float32"] * 2 + ["float64", "float16", "bfloat16", "float64", "complex64", "complex128"]
    )
    assert private_dtypes.issubdtype(dtypes[4], np.floating)


def test_computing_at_once_has_its_name_in_core_too():
    assert ensure_compile_time_eval is rb.ensure_compile_time_eval


@pytest.mark.needs("bfloat16")
def test_arrays_are_compared_by_what_their_dtypes_can_hold():
    ones = np.ones(3, "float32")
    check_close({"a": ones, "b": (ones, 1.0)}, {"a": rnp.ones(3) * (1 + 5e-7), "b": (ones, 1.0)})
    check_close(ones, (ones * 1.02).astype("float16"), rtol=0.01)
    check_close(rnp.ones(3, "bfloat16"), rnp.ones(3, "bfloat16") * 1.03)
    check_close(ones, ones + 2, atol={np.dtype("float32"): 1.0})
    for x, y in ((ones, ones + 1e-4), (ones, np.ones((3, 1))), (np.ones(3, int), np.zeros(3, int))):
        with pytest.raises(AssertionError):
            check_close(x, y)


def test_primitives_of_packages_have_jaxs_names():
    """Also before anything has loaded the module that has them."""
    closed = rb.make_jaxpr(lambda x: rnp.cumsum(rb.lax.sort(x)) * 2)(np.ones(3, "f4"))
    found = []

    def walk(program):
        for eqn in program.eqns:
            found.append(eqn.primitive)
            for inner in core.jaxprs_in_params(eqn.params):
                walk(inner)

    walk(closed.jaxpr)
    assert overlay_lax.sort_p in found and overlay_lax.cumsum_p in found
    assert overlay_lax.and_p.name == "and" and overlay_linalg.cholesky_p.name == "cholesky"
    with pytest.raises(AttributeError):
        overlay_lax.nothing_p  # noqa: B018


def test_equations_and_programs_are_made_again_with_other_parts():
    closed = rb.make_jaxpr(lambda x: rb.lax.sin(x))(1.0)
    (eqn,) = closed.eqns
    other = eqn.replace(primitive=overlay_lax.cos_p, effects=frozenset())
    assert other.primitive is overlay_lax.cos_p and other.invars == eqn.invars and other.params == eqn.params
    program = closed.jaxpr.replace(eqns=[other], debug_info=closed.jaxpr.debug_info)
    assert program.name == closed.jaxpr.name == closed.debug_info.func_name
    np.testing.assert_allclose(jaxpr_as_fun(closed.replace(jaxpr=program))(1.0)[0], np.cos(1.0), rtol=1e-6)
    assert "cos a" in program.pretty_print() and "cos a" in closed.replace(jaxpr=program).pretty_print()


def test_the_client_answers_as_jaxs():
    backend = get_backend("cpu")
    assert backend.platform == "cpu" and backend.platform_version and backend == get_backend()
    assert backend.device_count() == len(backend.devices()) == len(rb.devices("cpu"))
    assert backend.local_device_count() == len(backend.local_devices()) and backend.process_index() == 0
    x = rb.device_put(np.arange(3.0))
    there = [one.unsafe_buffer_pointer() for one in backend.live_arrays()]
    assert x.unsafe_buffer_pointer() in there and get_default_device() == rb.device_put(0).device
