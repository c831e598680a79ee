"""Devices of hardware that need not be here."""

import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ConfigError, PluginError
from rabbet.extend.backend import compile_ahead, lower_program
from rabbet.extend.passes import stage
from rabbet.extend.sharding import (
    EverywhereSharding,
    Spread,
    device_group,
    is_described,
    topology_devices,
)
from rabbet.runtime.platforms import backends

pytestmark = pytest.mark.needs("cpu")


def test_what_they_are():
    there = topology_devices("cpu", "3")
    assert [d.id for d in there] == [0, 1, 2] and {d.platform for d in there} == {"cpu"}
    assert all(is_described(d) and not d.is_local for d in there)
    assert not is_described(rb.devices("cpu")[0]) and there[0] not in rb.devices("cpu")
    assert there[0].memory_stats() is None and there[0].live_buffers() == []
    assert str(there[1]) == "3/1" and "topology='3'" in repr(there[1])
    assert topology_devices("cpu", "3")[0] is not there[0]
    with pytest.raises(TypeError, match="belongs to this process: it is not pickled"):
        pickle.dumps(there[0])


def test_a_program_is_compiled_for_them():
    group = device_group(tuple(topology_devices("cpu", "2")))
    program = stage(lambda x: [rb.lax.neg(x)], [rb.typeof(np.zeros(8, np.float32))]).jaxpr
    lowering = lower_program(program, "cpu", spread=Spread(group, (EverywhereSharding(group),)))
    made = compile_ahead(lowering)
    assert made.topology == "2" and made.memory_analysis()["argument_size_in_bytes"] == 32
    assert "num_partitions=2" in made.hlo_text() and made.module_proto()
    assert isinstance(made.buffer_assignment(), bytes)


def test_arrays_do_not_go_there():
    (device, *_) = topology_devices("cpu", "2")
    with pytest.raises(rb.errors.ShardingError, match="2/0 is a device of a topology"):
        rb.device_put(np.zeros(3), device)
    with pytest.raises(rb.errors.ShardingError, match="is a device of a topology"):
        rb.device_put(np.zeros(3), EverywhereSharding(device_group((device,))))


def test_names_and_platforms_that_do_not_exist(monkeypatch):
    with pytest.raises(ConfigError, match="no CPU topology 'many': a number of devices"):
        topology_devices("cpu", "many")
    cpu = backends.default_registry().get("cpu")
    bare = backends.Backend("cpu", 0, cpu.make_client)
    monkeypatch.setitem(backends.default_registry()._loaded, "cpu", bare)
    with pytest.raises(PluginError, match="does not compile for hardware that is not here"):
        topology_devices("cpu", "2")
