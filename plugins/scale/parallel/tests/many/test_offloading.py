"""Values in the memory of the host within programs: what the compilers of accelerators are told, what types
say, and that values and derivatives stay what they are.
"""

import re

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.ad_checkpoint import checkpoint_name
from rabbet.sharding import NamedSharding, SingleDeviceSharding
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((8,), ("d",))
HOST = NamedSharding(MESH, P("d"), memory_kind="pinned_host")
DEVICE = NamedSharding(MESH, P("d"))
ALONE = SingleDeviceSharding(rb.devices()[0], memory_kind="pinned_host")
X = np.arange(32, dtype=np.float32).reshape(8, 4)
HERE, THERE = rb.memory.Space.Device, rb.memory.Space.Host
POLICIES = rb.checkpoint_policies
BOTH = ("tpu", "cuda")


def text(f, *args, platform="tpu", **options):
    return rb.jit(f, **options).trace(*args).lower(platform=platform).as_text()


def placements(found):
    """Where each annotation moves its operand, in order."""
    return re.findall(r'@annotate_device_placement\(.*_xla_buffer_placement = "(\w+)"', found)


def result_memory(found):
    head = found[found.index("@main") : found.index("{\n", found.index("@main"))]
    return re.findall(r'mhlo.memory_kind = "(\w+)"', head.partition("->")[2])


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("host", [HOST, THERE, ALONE])
def test_device_put_within_a_program(platform, host):
    found = text(lambda x: rb.device_put(x, host), X, platform=platform)
    assert placements(found) == ["pinned_host"] == result_memory(found)
    there_and_back = text(lambda x: rb.device_put(rb.device_put(x, host), HERE) * 2, X, platform=platform)
    assert placements(there_and_back) == ["pinned_host", "device"] and not result_memory(there_and_back)


def test_nothing_is_written_that_moves_nothing():
    assert placements(text(lambda x: rb.device_put(x, HERE) + rb.device_put(x, DEVICE), X)) == []


def test_a_constraint_and_out_shardings_move_too():
    found = text(lambda x: lax.with_sharding_constraint(x, HOST), X)
    assert placements(found) == ["pinned_host"] == result_memory(found)
    found = text(lambda x: x * 2, X, out_shardings=HOST)
    assert placements(found) == ["pinned_host"] == result_memory(found)
    kept = text(lambda x: lax.with_sharding_constraint(rb.device_put(x, THERE), DEVICE), X)
    assert placements(kept) == ["pinned_host"]  # a constraint without a memory says nothing of it


def test_types_say_where_values_lie():
    aval = rb.ShapeDtypeStruct((8, 4), "float32", sharding=HOST)
    program = rb.jit(lambda x: (x, rb.device_put(x, HERE))).trace(aval).jaxpr
    assert [a.str_short() for a in program.out_avals] == ["f32<host>[8,4]", "f32[8,4]"]
    assert str(program.out_avals[0]) == "float32<host>[8,4]" and program.out_avals[0].memory == "pinned_host"
    found = text(lambda x: rb.device_put(x, HERE) * 2, aval)
    assert 'mhlo.memory_kind = "pinned_host"' in found.partition("->")[0]
    assert placements(text(lambda x: rb.device_put(x, HERE), X, in_shardings=HOST)) == ["device"]


def test_operands_in_different_memories_are_refused():
    with pytest.raises(ValueError, match="lie in different memories") as raised:
        rb.jit(lambda x: rb.device_put(x, THERE) + x).trace(X)
    assert "Space.Device" in str(raised.value) and "f32<host>[8,4]" in str(raised.value)
    found = text(lambda x: 2.0 * rb.device_put(x, THERE), X)
    assert result_memory(found) == ["pinned_host"]
    carried = rb.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: rb.device_put(c, THERE), x)).trace(X)
    assert carried.jaxpr.out_avals[0].memory == "pinned_host"


def test_transposes_move_back():
    f = lambda x: (rb.device_put(rb.device_put(rnp.sin(x), THERE), HERE) ** 2).sum()
    found = text(rb.grad(f), X)
    assert placements(found) == ["pinned_host", "device", "pinned_host", "device"]
    np.testing.assert_allclose(rb.jit(rb.grad(f))(X), 2 * np.sin(X) * np.cos(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rb.grad(f)(X), 2 * np.sin(X) * np.cos(X), rtol=1e-5, atol=1e-6)
    one = rb.jvp(f, (X,), (X,))[1]
    np.testing.assert_allclose(one, (2 * np.sin(X) * np.cos(X) * X).sum(), rtol=1e-4)
    many = rb.vmap(rb.grad(f))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(many[1], 2 * np.sin(2 * X) * np.cos(2 * X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("put", [HOST, THERE])
def test_results_lie_where_programs_put_them(put):
    out = rb.jit(lambda x: rb.device_put(x + 1, put))(rb.device_put(X, DEVICE))
    assert out.sharding.memory_kind == "pinned_host" and out.aval.memory == "pinned_host"
    np.testing.assert_array_equal(out, X + 1)
    back = rb.jit(lambda x: rb.device_put(x, HERE) * 2)(out)
    assert back.sharding.memory_kind != "pinned_host"
    np.testing.assert_array_equal(back, 2 * (X + 1))
    alone = rb.jit(lambda x: rb.device_put(x, THERE))(X)
    assert alone.sharding.memory_kind == "pinned_host" and alone.sharding.num_devices == 1


# ------------------------------------------------------------------------------------- what policies offload
def layer(h, w):
    return rnp.tanh(checkpoint_name(h, "h") @ w), None


def layers(policy):
    return lambda w, x: lax.scan(rb.checkpoint(layer, policy=policy), x, w)[0].sum()


W = np.random.RandomState(0).randn(4, 16, 16).astype(np.float32) / 4
H = np.ones((8, 16), np.float32)
NAMED = POLICIES.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device",
    offload_dst="pinned_host",
)  # fmt: skip
DOTS = POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host")
EITHER = POLICIES.save_from_both_policies(POLICIES.save_only_these_names("other"), NAMED)


@pytest.mark.parametrize("policy", [NAMED, DOTS, EITHER], ids=["named", "dots", "either"])
@pytest.mark.parametrize("platform", BOTH)
def test_what_a_policy_offloads_leaves_the_device(policy, platform):
    found = text(rb.grad(layers(policy)), W, H, platform=platform)
    assert placements(found) == ["pinned_host", "device"]
    whole = rb.checkpoint(lambda w, x: lax.scan(layer, x, w)[0].sum(), policy=policy)  # the loop within
    assert placements(text(rb.grad(whole), W, H, platform=platform))[:2] == ["pinned_host", "device"]


@pytest.mark.parametrize("policy", [NAMED, DOTS])
def test_offloading_changes_no_gradient(policy):
    want = rb.jit(rb.grad(layers(POLICIES.everything_saveable)))(W, H)
    np.testing.assert_allclose(rb.jit(rb.grad(layers(policy)))(W, H), want, rtol=1e-6)
    np.testing.assert_allclose(rb.grad(layers(policy))(W, H), want, rtol=1e-6)


def test_a_policy_of_ones_own():
    def policy(primitive, *avals, **params):
        return primitive.name == "tanh" and POLICIES.Offloadable("device", "pinned_host")

    assert placements(text(rb.grad(layers(policy)), W, H)) == ["pinned_host", "device"]
    with pytest.raises(ValueError, match="offload_dst='device'"):
        POLICIES.offload_dot_with_no_batch_dims("device", "device")


def test_on_the_processor_nothing_moves():
    assert placements(text(rb.grad(layers(NAMED)), W, H, platform="cpu")) == []
