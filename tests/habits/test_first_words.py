"""What beginners are told: the words say what to do, and doing it works."""

import functools

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "numpy", "random")


def told(kind, mistake):
    with pytest.raises(kind) as caught:
        mistake()
    return str(caught.value)


def test_a_position_in_a_numpy_array():
    table = np.arange(10)
    assert "rabbet.numpy.asarray(table)[i]" in told(
        rb.errors.TracerArrayConversionError, lambda: rb.jit(lambda i: table[i])(1)
    )
    assert rb.jit(lambda i: rnp.asarray(table)[i])(1) == 1


@pytest.mark.parametrize("mistake", [lambda n: list(range(n)), lambda n: [1, 2][n]])
def test_a_traced_value_for_an_integer(mistake):
    said = told(rb.errors.TracerIntegerConversionError, lambda: rb.jit(mistake)(1))
    assert "a Python integer" in said and "lax.fori_loop" in said and "static_argnames" in said


def test_a_traced_value_for_a_shape():
    said = told(rb.errors.TracerIntegerConversionError, lambda: rb.jit(lambda n: rnp.zeros(n))(1))
    assert "zeros (argument 'shape')" in said and "static_argnames='n'" in said


def test_a_traced_condition_names_both_ways_out():
    said = told(rb.errors.TracerBoolConversionError, lambda: rb.jit(lambda x: 1 if x > 0 else 2)(1.0))
    assert "lax.cond" in said and "lax.while_loop" in said


def test_keys_are_no_numbers():
    key = rb.random.key(0)
    said = told(rb.errors.TypePromotionError, lambda: key + 1)
    assert "rabbet.random.fold_in(key, number)" in said and "astype" not in said
    assert rb.random.fold_in(key, 1).dtype == key.dtype


@pytest.mark.parametrize(
    "mistake", [lambda: rnp.zeros(3, 4), lambda: rb.random.uniform(rb.random.key(0), 3, 4)]
)
def test_the_sizes_of_a_shape_go_together(mistake):
    assert "one tuple, as (3, 4)" in told(TypeError, mistake)


def test_names_of_numpys_random_module():
    assert "here it is normal, whose first argument is a key" in told(AttributeError, lambda: rb.random.randn)


def test_a_misspelt_name_of_numpy():
    assert told(AttributeError, lambda: rnp.arrray).endswith("Did you mean 'array'?")


def test_a_static_array_is_an_ordinary_argument():
    f = lambda x, n: x * n
    said = told(rb.errors.StaticArgumentError, lambda: rb.jit(f, static_argnums=1)(1.0, rnp.ones(2)))
    assert "leave this one out of static_argnums" in said and "tuple" not in said


def test_a_keyword_argument_that_vmap_cannot_map():
    f = lambda x, s: x * s
    said = told(ValueError, lambda: rb.vmap(f)(rnp.ones(3), s=2.0))
    assert "keyword argument 's' is mapped over axis 0, as all keyword arguments are" in said
    assert "in_axes={'s': None}" in said and "in_axes asks" not in said
    assert rb.vmap(functools.partial(f, s=2.0))(rnp.ones(3)).shape == (3,)
    assert rb.vmap(f, in_axes=(0, None))(rnp.ones(3), 2.0).shape == (3,)


def test_a_body_of_scan_without_a_pair():
    said = told(TypeError, lambda: lax.scan(lambda c, x: c + x, 0.0, rnp.arange(3.0)))
    assert "return (carry, None)" in said


def test_shapes_of_lax_are_a_shape_error():
    with pytest.raises(rb.errors.ShapeError, match="broadcast them first") as caught:
        lax.add(rnp.ones(3), rnp.ones(4))
    assert type(caught.value) is rb.errors.ShapeError


def test_a_function_of_rabbets_has_no_place_of_the_users():
    assert "dispatch.py" not in told(ValueError, lambda: rb.jvp(rnp.sin, (1.0,), (rnp.ones(3),)))


def test_a_nan_names_the_operation_and_the_line():
    with rb.debug_nans(True):
        said = told(FloatingPointError, lambda: rb.jit(lambda x: rnp.log(x))(-1.0))
    assert "'log' produced a NaN" in said and "test_first_words.py:" in said


def notes(kind, mistake):
    with pytest.raises(kind) as caught:
        mistake()
    return "\n".join(getattr(caught.value, "__notes__", []))


def loss(w, x):
    return w * x


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: rb.grad(loss)(3.0),
        lambda: rb.jit(loss)(3.0),
        lambda: rb.vmap(loss)(rnp.ones(3)),
        lambda: rb.jacrev(loss)(3.0),
        lambda: lax.cond(True, loss, loss, 3.0),
        lambda: lax.map(loss, rnp.ones(3)),
    ],
)
def test_a_function_that_takes_other_arguments(mistake):
    said = notes(TypeError, mistake)
    assert "loss (tests/habits/test_first_words.py:" in said and ") takes (w, x)" in said
    assert "record(" not in said and "object at" not in said and "in vjp(" not in said


def test_where_structures_part():
    said = told(TypeError, lambda: lax.cond(True, lambda x: {"a": (x, x)}, lambda x: {"a": x}, 1.0))
    assert "at the output['a'], " in said
    assert "returns tuple of length 2" in said and "returns an array" in said
    said = told(TypeError, lambda: lax.scan(lambda c, x: ({**c, "b": x}, x), {"a": 0.0}, rnp.arange(3.0)))
    assert "at carry it takes dict with the keys ['a'] and returns" in said and "only here: ['b']" in said
    said = told(TypeError, lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0], [c[1]]), (0, 1.0)))
    assert "at carry[1] it takes an array and returns list of length 1" in said


@pytest.mark.parametrize("mistake", [lambda n: rnp.zeros(n), rnp.arange, lambda n: rnp.linspace(0, 1, n)])
def test_a_traced_size_has_a_mask_as_a_way_out(mistake):
    said = told(rb.errors.ConcretizationTypeError, lambda: rb.jit(mistake)(3))
    assert "static_argnames" in said and "rabbet.numpy.where(rabbet.numpy.arange(most) < n, x, 0)" in said


def test_traced_repeats_need_the_size():
    said = told(
        rb.errors.ConcretizationTypeError, lambda: rb.jit(rnp.repeat)(rnp.arange(2), rnp.ones(2, int))
    )
    assert said.startswith("repeat: ") and "total_repeat_length" in said


def test_recursion_that_waits_for_a_traced_value():
    def fib(n):
        return rnp.where(n < 2, n, fib(n - 1) + fib(n - 2))

    said = notes(RecursionError, lambda: rb.jit(fib)(5))
    assert "fib (tests/habits/test_first_words.py:" in said and said.count("fib") == 1
    assert "calls itself without end while it is traced" in said


def test_an_axis_names_the_function_and_counts():
    said = told(rb.errors.AxisError, lambda: rb.nn.softmax(rnp.ones(3), axis=1))
    assert said == "softmax: axis 1 is out of range for an array of 1 dimension"
    assert "f32[3] has 1 dimension, 2" in told(IndexError, lambda: rnp.ones(3)[0, 1])


@pytest.mark.parametrize("name, instead", [("numpy", "numpy.asarray(x)"), ("unsqueeze", "expand_dims")])
def test_methods_of_other_libraries_arrays(name, instead):
    use = lambda x: getattr(x, name)()
    for mistake in (use, rb.jit(use), rb.grad(use)):
        assert instead in told(AttributeError, functools.partial(mistake, rnp.ones(3)))
    assert not hasattr(rnp.ones(3), name) and name not in dir(rnp.ones(3))
