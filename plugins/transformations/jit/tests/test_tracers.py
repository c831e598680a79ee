"""Traced values as Python objects: what one may do with them besides arithmetic."""

import copy

import numpy as np
import pytest
import rabbet as rb

X = np.arange(6, dtype="f4").reshape(2, 3)


@pytest.mark.forbidden("disable_jit")
def test_traced_values_are_arrays():
    seen = []
    rb.jit(lambda x: seen.append((isinstance(x, rb.Array), isinstance(1.0, rb.Array))) or x)(1.0)
    assert seen == [(True, False)]
    assert isinstance(rb.device_put(1.0), rb.Array)
    assert not isinstance(X, rb.Array)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_traced_values_can_be_copied_and_shown():
    shown = []

    @rb.jit
    def f(x):
        shown.append(f"{x}")
        return copy.copy(x) + copy.deepcopy({"x": x})["x"]

    assert f(2.0) == 4
    assert "f32[]" in shown[0]
    with pytest.raises(rb.errors.ConcretizationTypeError, match=r"the format '.2f' needs the value"):
        rb.jit(lambda x: f"{x:.2f}" and x)(1.0)


@pytest.mark.forbidden("disable_jit")
def test_len_and_iteration():
    assert rb.jit(lambda x: len(x) * sum(row[0] for row in x))(X) == 2 * (0 + 3)
    with pytest.raises(TypeError, match="without dimensions"):
        rb.jit(lambda x: [y for y in x])(1.0)  # noqa: C416


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("sharding", r"rb\.typeof\(x\)"),
        ("block_until_ready", "leave it out, and wait for the results"),
        ("addressable_shards", "ask the results of the whole program"),
    ],
)
def test_attributes_of_memory_say_why_a_traced_array_has_none(name, advice):
    said = f"(?s)f32.2.*has no '{name}': it gets memory.*to fix: .*{advice}"
    with pytest.raises(AttributeError, match=said):
        rb.jit(lambda x: getattr(x, name))(np.ones(2, "float32"))
    assert rb.jit(lambda x: x if hasattr(x, name) else 2 * x)(1.0) == 2


@pytest.mark.forbidden("disable_jit")
def test_methods_of_memory_need_the_value():
    for name, args in (("devices", ()), ("is_deleted", ()), ("delete", ()), ("addressable_data", (0,))):
        with pytest.raises(rb.errors.ConcretizationTypeError, match=rf"{name}\(\) needs the value.*outside"):
            rb.jit(lambda x: getattr(x, name)(*args))(1.0)  # noqa: B023


@pytest.mark.forbidden("disable_jit")
def test_python_suggests_an_attribute_that_is_near():
    with pytest.raises(AttributeError) as caught:
        rb.jit(lambda x: x.reshpae(1))(1.0)
    assert caught.value.name == "reshpae" and "reshape" in dir(caught.value.obj)
