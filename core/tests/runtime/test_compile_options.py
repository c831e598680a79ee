"""Compiler options: checked by name and value, part of the cache key, never XLA_FLAGS."""

import numpy as np
import pytest
from rabbet.errors import ConfigError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.compile_options import EMPTY, build_options, merge

from .conftest import clients_of, fake_backend


def same(first, second):
    return adapter.option_bytes(first) == adapter.option_bytes(second)


def test_equal_options_have_equal_bytes(device):
    assert same(build_options(device), build_options(device))
    ab = {"xla_cpu_enable_fast_math": True, "xla_llvm_disable_expensive_passes": True}
    assert same(build_options(device, extra=ab), build_options(device, extra=dict(reversed(ab.items()))))
    assert not same(build_options(device), build_options(device, extra=ab))


def test_unknown_names_are_refused_with_a_suggestion(device):
    with pytest.raises(ConfigError) as caught:
        build_options(device, extra={"xla_cpu_enable_fastmath": True})
    assert "knows no compiler option 'xla_cpu_enable_fastmath'" in str(caught.value)
    assert "did you mean 'xla_cpu_enable_fast_math'?" in str(caught.value)


def test_a_name_that_is_close_to_nothing_is_answered_with_the_platforms_own(device):
    with pytest.raises(ConfigError, match="knows no compiler option 'nonsense'") as caught:
        build_options(device, extra={"nonsense": True})
    assert "for cpu: " in str(caught.value) and "xla_cpu_enable_fast_math" in str(caught.value)


@pytest.mark.parametrize("value", ["perhaps", 7, 1.5])
def test_values_of_the_wrong_type_are_refused(device, value):
    with pytest.raises(ConfigError, match="'xla_cpu_enable_fast_math' cannot be"):
        build_options(device, extra={"xla_cpu_enable_fast_math": value})


def test_values_that_are_no_option_values_are_refused(device):
    with pytest.raises(ConfigError, match="it is a bool, int, float or str"):
        build_options(device, extra={"xla_dump_to": ["folder"]})
    with pytest.raises(ConfigError, match="named by a str"):
        build_options(device, extra={3: True})


@pytest.mark.parametrize("spelling", [True, np.True_, "true", "True"])
def test_spellings_of_true(device, spelling):
    name = "xla_cpu_enable_fast_math"
    assert same(build_options(device, extra={name: spelling}), build_options(device, extra={name: True}))


def test_true_and_one_are_different_values(device):
    build_options(device, extra={"xla_cpu_prefer_vector_width": 1})
    with pytest.raises(ConfigError):
        build_options(device, extra={"xla_cpu_prefer_vector_width": True})


def test_the_backends_own_options_are_included():
    passes = {"xla_disable_hlo_passes": "cse_barrier_expander"}
    plain = clients_of(cpu=fake_backend()).default().devices[0]
    tuned = clients_of(cpu=fake_backend(compile_options=passes)).default().devices[0]
    assert same(build_options(tuned), build_options(plain, extra=passes))


def test_lists_are_joined_and_others_replaced():
    base = {"xla_disable_hlo_passes": "a", "xla_x": 1}
    merged = merge(base, {"xla_disable_hlo_passes": "b,a", "xla_x": 2})
    assert merged == {"xla_disable_hlo_passes": "a,b", "xla_x": 2}
    assert base == {"xla_disable_hlo_passes": "a", "xla_x": 1}


def test_several_partitions():
    devices = clients_of(cpu=fake_backend(devices=4)).default().devices
    options = build_options(devices[0], num_partitions=4, devices=devices)
    assert options.num_partitions == 4 and options.executable_build_options.use_spmd_partitioning
    client = devices[0].client.raw
    adapter.compile_text(client, EMPTY, adapter.device_list([d.raw for d in devices]), options)
    with pytest.raises(ValueError, match="2 replicas of 3 partitions need 6 devices, got 4"):
        build_options(devices[0], num_replicas=2, num_partitions=3, devices=devices)
    with pytest.raises(ValueError, match="2 replicas of 2 partitions"):
        build_options(devices[0], num_replicas=2, num_partitions=2, devices=devices)
