"""The settings that check programs: where they can be said, by whom they are seen, and what they take."""

import enum
import os
import subprocess
import sys
import threading

import pytest
import rabbet as rb
from rabbet.errors import ConfigError

# What is not its default, and how an environment variable says it.
VALUES = {
    "numpy_rank_promotion": ("raise", "raise"),
    "numpy_dtype_promotion": ("strict", "strict"),
    "enable_x64": (True, "1"),
    "debug_nans": (True, "on"),
    "debug_infs": (True, "true"),
    "check_tracer_leaks": (True, "yes"),
    "explicit_x64_dtypes": ("error", "ERROR"),
    "transfer_guard_host_to_device": ("disallow", "disallow"),
    "transfer_guard_device_to_device": ("log_explicit", "log_explicit"),
    "transfer_guard_device_to_host": ("disallow_explicit", "disallow_explicit"),
    "disable_jit": (True, "1"),
}
WORDS = {
    "numpy_rank_promotion": ["allow", "warn", "raise"],
    "numpy_dtype_promotion": ["standard", "strict"],
    "explicit_x64_dtypes": ["allow", "warn", "error"],
    "transfer_guard_host_to_device": ["allow", "log", "disallow", "log_explicit", "disallow_explicit"],
}
WRONG = {"a word": "bogus", "an int": 3, "a float": 1.5, "an object": object(), "a list": ["raise"]}


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("name", VALUES)
def test_by_a_block_for_its_thread_and_by_update_for_all(name):
    value, before = VALUES[name][0], getattr(rb.config, name)
    if value == before:
        pytest.skip("it is on in this environment")
    read = lambda: getattr(rb.config, name)
    with rb.config.override(**{name: value}):
        assert (read(), in_a_thread(read)) == (value, before)
        with rb.config.override(**{name: before}):
            assert read() == before
        assert read() == value
    if hasattr(rb, name):
        with getattr(rb, name)(value):
            assert (read(), in_a_thread(read)) == (value, before)
    rb.config.update(name, value)
    try:
        assert (read(), in_a_thread(read)) == (value, value)
    finally:
        rb.config.update(name, before)
    assert (read(), in_a_thread(read)) == (before, before)


def test_by_variables_of_the_environment():
    variables = {f"RABBET_{name.upper()}": text for name, (_, text) in VALUES.items()}
    code = f"import rabbet as rb\nfor name in {list(VALUES)}: print(repr(getattr(rb.config, name)))"
    run = [sys.executable, "-c", code]
    out = subprocess.run(run, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    assert out.stdout.split() == [repr(value) for value, _ in VALUES.values()]


@pytest.mark.parametrize("which", WRONG)
@pytest.mark.parametrize("name", WORDS)
def test_a_wrong_value_is_an_error_with_the_right_ones(name, which):
    before, wrong = getattr(rb.config, name), WRONG[which]
    override = lambda: rb.config.override(**{name: wrong}).__enter__()
    for say in (lambda: rb.config.update(name, wrong), override):
        with pytest.raises(ConfigError, match=name) as caught:
            say()
        assert all(word in str(caught.value) for word in WORDS[name])
    assert getattr(rb.config, name) == before


@pytest.mark.parametrize("name", [name for name, (value, _) in VALUES.items() if value is True])
def test_a_wrong_value_of_a_switch(name):
    with pytest.raises(ConfigError, match=rf"{name} cannot be 'bogus': it is on or off: True, False"):
        rb.config.update(name, "bogus")


class Mode(enum.IntEnum):
    WARN = 1
    ERROR = 2
    ELSE = 3


def test_explicit_x64_dtypes_takes_members_of_enumerations():
    own = type(rb.config.explicit_x64_dtypes)
    for member in (own.ERROR, Mode.ERROR):
        with rb.config.override(explicit_x64_dtypes=member):
            assert rb.config.explicit_x64_dtypes == "error" == own.ERROR
            with pytest.raises(ValueError, match="float64"):
                rb.lax.full((2,), 1.0, "float64")
    with pytest.raises(ConfigError, match="one of allow, warn, error"):
        rb.config.update("explicit_x64_dtypes", Mode.ELSE)
