"""What a compiled function prints, in notebooks too, and how far it is like a plain function."""

import copy
import functools
import inspect
import pickle
import pydoc
import re
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet.testing.draws import device_array


def scaled(x, n):
    return x * n


@pytest.mark.forbidden("numpy_dtype_promotion", "disable_jit")
def test_a_compiled_function_tells_its_place_and_programs():
    step = rb.jit(scaled)
    line = scaled.__code__.co_firstlineno
    assert re.fullmatch(rf"<jit of scaled \(.*test_shown.py:{line}\): not compiled yet>", repr(step))
    x = device_array(np.ones(3, np.float32))
    step(x, x)
    step(x, np.int32(2))
    first, *programs = str(step).splitlines()
    assert first.endswith(f"test_shown.py:{line}): 2 compiled programs")
    assert [p.partition(" on ")[0].strip() for p in programs] == ["(f32[3], f32[3])", "(f32[3], i32[])"]
    assert all(re.search(r" on cpu:0: lowered in [\d.e+]+ m?s, compiled in ", p) for p in programs)
    assert str(step.jitted) == first.partition("):")[0] + ")>"


@pytest.mark.forbidden("disable_jit")
def test_notebooks_get_a_table():
    step = rb.jit(lambda x: x + 1)
    x = device_array(np.ones(3, np.float32))
    assert "<td" not in step._repr_mimebundle_()["text/html"]
    step(x)
    shown = step._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(step)
    assert "jit of &lt;lambda&gt; (" in shown["text/html"] and "<td" in shown["text/html"]
    assert shown["text/html"].count("<tr") == shown["text/html"].count("</tr>") == 1


@pytest.mark.forbidden("disable_jit")
def test_of_many_the_last_ones_are_shown():
    step = rb.jit(lambda *xs: [x + 1 for x in xs])
    for count in range(1, 11):
        step.lower(*[np.float32(1)] * count)  # says nothing: nothing was compiled
    assert repr(step).endswith("not compiled yet>")
    step(*[np.float32(1)] * 9)
    assert "f32[], f32[], and 3 more) on" in repr(step)


tripled = rb.jit(lambda x: 3 * x)
tripled.__name__ = tripled.__qualname__ = "tripled"


def test_it_is_sent_by_its_name():
    assert pickle.loads(pickle.dumps(tripled)) is tripled
    assert copy.copy(tripled) is copy.deepcopy(tripled) is tripled


def test_it_is_sent_by_value_where_the_pickler_does_that():
    cloudpickle = pytest.importorskip("cloudpickle")
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps((tripled, Layer.doubled, rb.jit(lambda x: x - tripled(x))))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    for again, wanted in zip(pickle.loads(data), (6.0, 4.0, -4.0), strict=True):
        assert type(again) is type(tripled) and again is not tripled and again(2.0) == wanted
    assert cloudpickle.loads(cloudpickle.dumps(tripled)) is tripled


class Layer:
    scale = 3

    @functools.partial(rb.jit, static_argnums=0)
    def scaled(self, x):
        """Scale it."""
        return self.scale * x

    @staticmethod
    @rb.jit
    def doubled(x):
        return 2 * x


def test_it_is_bound_as_a_method():
    layer = Layer()
    assert layer.scaled(2.0) == 6 == Layer.scaled(layer, 2.0) and layer.doubled(2.0) == 4
    assert list(inspect.signature(layer.scaled).parameters) == ["x"] and inspect.ismethod(layer.scaled)


def test_tools_see_the_function():
    assert inspect.signature(Layer.scaled) == inspect.signature(Layer.scaled.__wrapped__)
    assert list(inspect.signature(Layer.scaled).parameters) == ["self", "x"]
    assert "Scale it." in pydoc.render_doc(Layer.scaled)
    # From Python 3.13 on, inspect says of no partial that it is a routine.
    assert inspect.isroutine(Layer.scaled) or sys.version_info >= (3, 13)
    assert inspect.getsource(Layer.doubled).strip().startswith("@staticmethod")

    @functools.wraps(Layer.scaled)
    def wrapped(*args):
        return Layer.scaled(*args)

    assert (wrapped.__name__, wrapped.__doc__) == ("scaled", "Scale it.")
    assert wrapped.__wrapped__ is Layer.scaled
    shifted = functools.partial(tripled, 2.0)
    assert shifted() == 6 and shifted.func is tripled
    assert {tripled: 1}[tripled] == 1 and tripled == tripled


def test_attributes_can_be_set_and_it_is_dropped_with_its_last_name():
    import weakref

    step = rb.jit(lambda x: x * 5)
    step.__signature__ = inspect.signature(scaled)
    assert list(inspect.signature(step).parameters) == ["x", "n"]
    step(2.0)
    held = weakref.ref(step)
    del step
    assert held() is None  # at once: it is in no cycle
