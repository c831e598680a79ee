"""The settings of JAX: each under its name, in every spelling, with the effect that it has here."""

import json
import os
import subprocess
import sys
import warnings

import pytest
import rabbet as rb
from rabbet.errors import ConfigError
from rabbet_jax_names import contexts
from rabbet_jax_names.settings import NO_LIMIT, SETTINGS


@pytest.fixture
def config():
    """A configuration of its own, with core's settings and ours."""
    own = type(rb.config).__mro__[1]([s for s in rb.config.settings.values() if not s.inert])
    for one in SETTINGS:
        own.define(one)
    return own


# Names ---------------------------------------------------------------------------------------------------


def test_every_spelling_means_the_same_setting(config):
    config.update("jax_enable_x64", True)
    assert (config.enable_x64, config.jax_enable_x64, config.read("jax_enable_x64"), config.x64_enabled) == (
        True, True, True, True,
    )  # fmt: skip
    with config.override(jax_enable_x64="off"):
        assert config.enable_x64 is False


def test_what_is_called_otherwise_here_translates_both_ways(config):
    for name, value, here, there in (
        ("jax_traceback_filtering", "off", ("traceback", "full"), "off"),
        ("traceback_filtering", "tracebackhide", ("traceback", "mark"), "tracebackhide"),
        ("traceback_filtering", "remove_frames", ("traceback", "cause"), "remove_frames"),
        ("traceback_filtering", "quiet_remove_frames", ("traceback", "fold"), "auto"),
        ("jax_compilation_cache_max_size", -1, ("cache_max_bytes", NO_LIMIT), -1),
        ("jax_enable_compilation_cache", False, ("cache", False), False),
        ("jax_platform_name", "cpu", ("platforms", ("cpu",)), "cpu"),
        ("jax_explain_cache_misses", True, ("explain", True), True),
        ("jax_persistent_cache_min_entry_size_bytes", -1, ("cache_min_bytes", 0), 0),
    ):
        config.update(name, value)
        assert getattr(config, here[0]) == here[1]
        assert getattr(config, name) == there
    with pytest.raises(
        ConfigError, match="jax_traceback_filtering cannot be 'none': it is one of off, trace"
    ):
        config.update("jax_traceback_filtering", "none")


def test_a_group_sets_all_of_its_members_and_the_last_word_counts(config):
    with config.override(jax_transfer_guard_host_to_device="allow"), config.override(transfer_guard="log"):
        assert config.transfer_guard_host_to_device == config.transfer_guard == "log"
        with config.override(transfer_guard_host_to_device="allow"):
            assert (config.transfer_guard_host_to_device, config.transfer_guard_device_to_host) == (
                "allow",
                "log",
            )


def test_an_unknown_name_suggests_one_in_the_spelling_that_was_used(config):
    for ask in (lambda: config.update("jax_enable_x46", True), lambda: config.jax_enable_x46):
        with pytest.raises(AttributeError, match=r"called 'jax_enable_x46'\. Did you mean 'jax_enable_x64'"):
            ask()


def test_inert_settings_are_accepted_and_say_so(config):
    inert = [setting for setting in config.settings.values() if setting.inert]
    assert len(inert) > 60 and all(setting.doc.startswith("Accepted") for setting in inert)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.update("jax_use_shardy_partitioner", False)
    assert config.jax_use_shardy_partitioner is False
    with pytest.warns(UserWarning, match="thread_guard=True has no effect in Rabbet: computations on sev"):
        config.update("jax_thread_guard", True)


def test_every_context_manager_is_there():
    for name in contexts.__all__:
        assert getattr(rb, name).__name__ == name


# The environment -----------------------------------------------------------------------------------------


def settings_under(**variables):
    """Values, and warnings, in a process with these environment variables."""
    code = (
        "import json, warnings\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    import rabbet as rb\n"
        "    c = rb.config\n"
        "    values = [c.enable_x64, c.num_cpu_devices, c.traceback, c.debug_nans]\n"
        "print(json.dumps([values, [str(w.message) for w in found]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.forbidden("debug_nans")
def test_variables_of_jax_are_read_where_ours_are_not_set():
    values, found = settings_under(
        JAX_ENABLE_X64="1", JAX_NUM_CPU_DEVICES="2", JAX_TRACEBACK_FILTERING="off", JAX_DEBUG_NANS="perhaps",
        RABBET_ENABLE_X64="0", RABBET_LOGGING_LEVEL="loud",
    )  # fmt: skip
    assert values == [False, 2, "full", False]
    assert any("ignores JAX_DEBUG_NANS" in text and "cannot be 'perhaps'" in text for text in found)
    assert any("RABBET_LOGGING_LEVEL cannot be 'loud'" in text for text in found)


def test_no_variable_stops_the_import():
    garbage = {setting.variable: "\x01 ?" for setting in rb.config.settings.values()}
    code = "import rabbet as rb; print(rb.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **garbage}, capture_output=True, text=True
    )
    assert done.stdout.strip() == rb.__version__, done.stderr


def test_what_sets_several_is_read_from_the_environment_too():
    code = "import rabbet as rb; print(rb.config.transfer_guard_device_to_host, rb.config.cache)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "JAX_TRANSFER_GUARD": "log", "JAX_ENABLE_COMPILATION_CACHE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["log", "False"]


@pytest.mark.filterwarnings("ignore:.*has no effect in Rabbet")
@pytest.mark.parametrize("name", contexts.__all__)
def test_a_context_manager_changes_its_setting_and_takes_that_back(name):
    before = getattr(rb.config, name)
    value = "log" if name == "transfer_guard" else not before
    with getattr(rb, name)(value):
        assert getattr(rb.config, name) == value
    assert getattr(rb.config, name) == before
