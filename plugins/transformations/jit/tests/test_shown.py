"""What notebooks show of a compiled function."""

import pickle
import re

import numpy as np
import rabbet as rb
from rabbet.testing.draws import device_array


def scaled(x, n):
    return x * n


def test_a_compiled_function_tells_its_place_and_programs():
    step = rb.jit(scaled)
    line = scaled.__code__.co_firstlineno
    assert re.fullmatch(rf"<jit of scaled \(.*test_shown.py:{line}\): not compiled yet>", repr(step.jitted))
    x = device_array(np.ones(3, np.float32))
    step(x, x)
    step(x, np.int32(2))
    first, *programs = repr(step.jitted).splitlines()
    assert first.endswith(f"test_shown.py:{line}): 2 compiled programs")
    assert [p.partition(" on ")[0].strip() for p in programs] == ["(f32[3], f32[3])", "(f32[3], i32[])"]
    assert all(re.search(r" on cpu:0: lowered in [\d.e+]+ m?s, compiled in ", p) for p in programs)
    assert str(step.jitted) == first.partition("):")[0] + ")>"


def test_notebooks_get_a_table():
    step = rb.jit(lambda x: x + 1)
    x = device_array(np.ones(3, np.float32))
    assert "<td" not in step._repr_mimebundle_()["text/html"]
    step(x)
    shown = step._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(step.jitted)
    assert "jit of &lt;lambda&gt; (" in shown["text/html"] and "<td" in shown["text/html"]
    assert shown["text/html"].count("<tr") == shown["text/html"].count("</tr>") == 1


def test_of_many_the_last_ones_are_shown():
    step = rb.jit(lambda *xs: [x + 1 for x in xs])
    for count in range(1, 11):
        step.lower(*[np.float32(1)] * count)  # says nothing: nothing was compiled
    assert repr(step.jitted).endswith("not compiled yet>")
    step(*[np.float32(1)] * 9)
    assert "f32[], f32[], and 3 more) on" in repr(step.jitted)


def test_it_is_a_plain_function():
    step = rb.jit(scaled)
    assert type(step) is type(scaled) and step.__name__ == "scaled"


tripled = rb.jit(lambda x: 3 * x)
tripled.__name__ = tripled.__qualname__ = "tripled"


def test_it_is_sent_by_its_name():
    assert pickle.loads(pickle.dumps(tripled)) is tripled
