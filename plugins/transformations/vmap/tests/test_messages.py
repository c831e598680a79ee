"""What vmap says to those who made a mistake: which argument, what of it, what next."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.transform import context

X = np.ones((4, 3), "f4")


def model(weights, batch):
    return batch * weights["scale"]


def message(call, error=ValueError):
    with pytest.raises(error) as caught:
        call()
    assert context.interpreter is not None and lax.add(1, 2) == 3
    return str(caught.value)


def test_sizes_that_differ_are_listed_by_argument():
    text = message(lambda: rb.vmap(model)({"scale": X[:3]}, X))
    assert text.startswith("vmap got inconsistent sizes for array axes to be mapped")  # libraries match it
    assert "model (" in text and "test_messages.py" in text
    assert "size 3" in text and "size 4" in text
    assert "'weights'['scale']" in text and "'batch'" in text
    assert "f32[3,3]" in text and "f32[4,3]" in text
    assert "in_axes" in text


def test_keyword_arguments_are_listed_too():
    text = message(lambda: rb.vmap(lambda x, *, y: x)(X, y=X[:2]))
    assert "'y'" in text and "keyword" in text and "size 2" in text


def test_axis_size_takes_part():
    text = message(lambda: rb.vmap(lambda x: x, axis_size=5)(X))
    assert "size 4" in text and "size 5: axis_size" in text


@pytest.mark.narrow
def test_an_axis_that_an_argument_does_not_have():
    text = message(lambda: rb.vmap(model, in_axes=(0, 2))({"scale": X}, X))
    assert "axis 2" in text and "'batch'" in text and "f32[4,3]" in text
    text = message(lambda: rb.vmap(model)({"scale": 1.0}, X))
    assert "axis 0" in text and "'weights'['scale']" in text and "f32[]" in text and "None" in text
    assert "axis -3" in message(lambda: rb.vmap(lambda x: x, in_axes=-3)(X))


def test_a_wrong_number_of_axes():
    text = message(lambda: rb.vmap(model, in_axes=(0, 0, 0))({"scale": X}, X))
    assert "is of length 3" in text and "2 positional" in text and "model (" in text


def test_a_tree_of_axes_that_does_not_fit():
    text = message(lambda: rb.vmap(model, in_axes=({"factor": 0}, 0))({"scale": X}, X))
    assert "in_axes" in text and "factor" in text and "scale" in text and "model (" in text
    text = message(lambda: rb.vmap(model, in_axes=((0, 0), 0))({"scale": X}, X))
    assert "in_axes" in text and "structure" in text


@pytest.mark.parametrize("axes", ["0", 1.0, {0: 1}])
def test_axes_of_the_wrong_type(axes):
    text = message(lambda: rb.vmap(lambda x: x, in_axes=axes)(X), TypeError)
    assert "in_axes" in text and repr(axes) in text


def test_axes_of_the_wrong_type_within():
    text = message(lambda: rb.vmap(lambda x: x, in_axes=("first",))(X), TypeError)
    assert "'first'" in text
    text = message(lambda: rb.vmap(lambda x: x, out_axes="last")(X), TypeError)
    assert "out_axes" in text and "'last'" in text


def test_nothing_is_mapped():
    text = message(lambda: rb.vmap(lambda x: x, in_axes=None)(X))
    assert "at least one mapped argument" in text and "axis_size" in text
    assert "axis_size" in message(lambda: rb.vmap(lambda: 1.0)())


def test_out_axes_none_of_a_mapped_output():
    text = message(lambda: rb.vmap(lambda x: {"y": x * 2}, out_axes=None)(X))
    assert "got axis spec None but output was batched on axis 0" in text and "out_axes" in text
    assert "f32[3]" in text and "['y']" in text


def test_out_axes_out_of_range():
    text = message(lambda: rb.vmap(lambda x: x, out_axes=2)(X))
    assert "axis 2" in text and "2 dimensions" in text


def test_a_tree_of_out_axes_that_does_not_fit():
    text = message(lambda: rb.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(X))
    assert "out_axes" in text and "outputs" in text


def test_an_argument_that_is_no_array():
    text = message(lambda: rb.vmap(model)({"scale": "big"}, X), TypeError)
    assert "'weights'['scale']" in text and "str" in text and "model (" in text


def test_a_result_that_is_no_array():
    text = message(lambda: rb.vmap(lambda x: {"name": "text"})(X), TypeError)
    assert "['name']" in text and "str" in text


def test_vmap_of_what_is_no_function():
    assert "vmap takes a function, got int" in message(lambda: rb.vmap(3), TypeError)


def test_python_control_flow():
    def f(x):
        y = x * 2
        return y if y > 0 else x

    with pytest.raises(rb.errors.TracerBoolConversionError) as caught:
        rb.vmap(f)(np.ones(3))
    text = str(caught.value)
    assert "vmap of" in text and f"test_messages.py:{f.__code__.co_firstlineno + 2}" in text


@pytest.mark.forbidden("check_tracer_leaks")
def test_a_leaked_value():
    kept = []

    def f(x):
        kept.append(x + 1)
        return x

    rb.vmap(f)(X)
    with pytest.raises(rb.errors.UnexpectedTracerError) as caught:
        kept[0] * 2
    assert "vmap of" in str(caught.value) and f"test_messages.py:{f.__code__.co_firstlineno + 1}" in str(
        caught.value
    )


def test_an_exception_leaves_the_thread_clean():
    with pytest.raises(ZeroDivisionError):
        rb.vmap(lambda x: 1 // 0)(X)
    assert lax.add(1, 2) == 3
    assert rb.vmap(lambda x: x)(X).shape == X.shape


def test_keywords_are_not_counted_by_in_axes():
    text = message(lambda: rb.vmap(lambda x, y: x, in_axes=(0, None))(X, y=1.0))
    assert "in_axes is of length 2, the function was called with 1 positional argument; keyword" in text
    assert "not counted" not in message(lambda: rb.vmap(lambda x: x, in_axes=(0, None))(X))
