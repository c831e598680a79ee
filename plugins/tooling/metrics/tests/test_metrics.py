"""What is counted, and how it is written."""

import subprocess
import sys

import pytest
from rabbet.extend.hooks import example_facts
from rabbet.metrics import prometheus, reset, snapshot, to_opentelemetry
from rabbet_metrics import counters, hooks


@pytest.fixture(autouse=True)
def anew():
    reset()
    yield
    reset()


def tell(hook, **only):
    function = getattr(hooks, hook)
    facts = {**example_facts()[hook], **only}
    code = function.__code__
    function(**{name: facts[name] for name in code.co_varnames[: code.co_argcount]})


def test_every_hook_counts_and_every_number_has_a_line_of_help():
    for hook in [name for name, value in vars(hooks).items() if hasattr(value, "rabbet_impl")]:
        tell(hook)
    names = {name for name, _ in snapshot()}
    assert names == set(counters.METRICS) - {"rabbet_collectives_total"}
    text = prometheus()
    assert 'rabbet_programs_total{function="step",origin="compiler"} 1' in text
    assert "# TYPE rabbet_program_temporary_bytes gauge" in text and text.endswith("\n")
    assert 'rabbet_transferred_bytes_total{direction="host-to-device"} 4096' in text


def test_counters_add_up_and_labels_are_escaped():
    for _ in range(3):
        tell("trace_started", name='a "b"\\c\nd')
    assert 'function="a \\"b\\"\\\\c\\nd"} 3' in prometheus()


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("cpu", "jit")
def test_a_program_is_counted_where_the_package_is_installed():
    code = """
import numpy as np, rabbet as rb
f = rb.jit(lambda x: x * 2.0 + x)
x = np.ones(1024, np.float32)
f(x)
f(np.ones(2048, np.float32))
moved = lambda: sum(v for k, v in rb.metrics.snapshot().items() if 'transferred' in k[0])
before = moved()
f(x)
rb.device_put(x)
print('moved', moved() - before)
print(rb.metrics.prometheus())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'rabbet_traces_total{function="<lambda>"} 2' in ran.stdout
    assert "moved 8192.0" in ran.stdout
    assert "rabbet_pass_seconds_total" in ran.stdout and "rabbet_programs_total" in ran.stdout


def test_instruments_of_opentelemetry_observe_the_numbers():
    pytest.importorskip("opentelemetry.metrics")
    made = {}

    class Meter:
        def create_observable_counter(self, name, callbacks, unit, description):
            made[name] = callbacks[0], unit
            return name

        create_observable_gauge = create_observable_counter

    tell("transferred")
    assert len(to_opentelemetry(Meter())) == len(counters.METRICS)
    callback, unit = made["rabbet_transferred_bytes"]
    (observed,) = callback(None)
    assert (observed.value, observed.attributes, unit) == (4096, {"direction": "host-to-device"}, "By")
