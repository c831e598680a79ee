"""Compiled functions over several devices as bytes."""

import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet.sharding import Mesh, NamedSharding
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

jit = pytest.importorskip("rabbet_jit").jit
packing = pytest.importorskip("rabbet.experimental.serialize_executable")

A = np.linspace(-1, 1, 8 * 4, dtype=np.float32).reshape(8, 4)
W = np.linspace(0, 1, 4, dtype=np.float32)


def mesh_of(devices):
    return Mesh(np.array(devices), ("x",))


def compiled_for(devices, *spec, **options):
    x = rb.device_put(A, NamedSharding(mesh_of(devices), P("x")))
    out = NamedSharding(mesh_of(devices), P(*spec)) if spec else None
    f = jit(lambda x: {"y": x @ W, "z": x * 2}, out_shardings=out, **options)
    return x, f.lower(x).compile()


def test_a_program_over_devices_runs_again():
    x, compiled = compiled_for(rb.devices()[:4])
    again = packing.deserialize_and_load(*pickle.loads(pickle.dumps(packing.serialize(compiled))))
    for value, found in zip(rb.tree.leaves(compiled(x)), rb.tree.leaves(again(x)), strict=True):
        np.testing.assert_array_equal(value, found)
        assert value.sharding == found.sharding
    assert again.input_shardings == compiled.input_shardings
    assert again.output_shardings == compiled.output_shardings


def test_on_other_devices():
    _, compiled = compiled_for(rb.devices()[:4], "x")
    others = rb.devices()[4:]
    again = packing.deserialize_and_load(*packing.serialize(compiled), execution_devices=others)
    out = again(rb.device_put(A, NamedSharding(mesh_of(others), P("x"))))
    np.testing.assert_allclose(out["y"], A @ W, rtol=1e-6)
    assert out["z"].sharding == NamedSharding(mesh_of(others), P("x"))


def test_what_is_refused():
    _, compiled = compiled_for(rb.devices()[:4])
    stored = packing.serialize(compiled)
    with pytest.raises(ValueError, match="runs on 4 devices, and execution_devices has 1"):
        packing.deserialize_and_load(*stored, execution_devices=rb.devices()[:1])
    asking = rb.experimental.custom_partitioning.custom_partitioning(lambda x: x * 2)
    asking.def_partition(
        lambda mesh, args, result: (mesh, lambda x: x * 2, result.sharding, (args[0].sharding,)),
        sharding_rule="i j -> i j",
    )
    x = rb.device_put(A, NamedSharding(mesh_of(rb.devices()[:4]), P("x")))
    with pytest.raises(ValueError, match="asks Python how it is cut up"):
        packing.serialize(jit(asking).lower(x).compile())
