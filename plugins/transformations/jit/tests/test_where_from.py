"""A refusal to give a traced value names the argument that it comes from, and which function asked for it."""

import functools
import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ConcretizationTypeError

pytestmark = pytest.mark.needs("jit")
X = np.ones((2, 3), np.float32)


def message(function, *args):
    """What the function says when it is compiled, without the pointer to the class's text."""
    with pytest.raises((ConcretizationTypeError, IndexError)) as caught:
        rb.jit(function)(*args)
    return str(caught.value).partition("\n")[0]


@pytest.mark.forbidden("disable_jit")
def test_an_argument_itself():
    def repeat(x, n):
        for _ in range(n):
            x = x * 2
        return x

    said = message(repeat, 1.0, 3)
    assert "It is the argument 'n' of repeat." in said
    assert "make it static (static_argnames='n')" in said


@pytest.mark.forbidden("disable_jit")
def test_what_is_computed_from_arguments():
    def halve(x, n):
        if n * 2 > x:
            return x
        return n

    said = message(halve, 1.0, 2.0)
    line = halve.__code__.co_firstlineno + 1
    assert f"test_where_from.py:{line} from the arguments 'x' and 'n' of halve." in said
    assert "static_argnames=('x', 'n')" in said


@pytest.mark.forbidden("disable_jit")
def test_a_part_of_an_argument_cannot_be_static():
    said = message(lambda params: 1.0 if params["w"][1] > 0 else 0.0, {"w": [1.0, 2.0]})
    assert "from the argument 'params'['w'][1] of <lambda>." in said
    assert "static_argnames" not in said and "lax.cond" in said


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("numpy")
def test_an_array_cannot_be_static():
    assert "static_argnames" not in message(lambda x: 1.0 if x.any() else 0.0, X)


@pytest.mark.forbidden("disable_jit")
def test_many_arguments_are_counted():
    def total(*xs):
        return 1.0 if functools.reduce(lambda a, b: a + b, xs) > 0 else 0.0

    assert "0, 1, 2 and 3 others of total" in message(total, *[1.0] * 6)


@pytest.mark.forbidden("disable_jit")
def test_a_keyword():
    def choose(x, *, n):
        return [x, x][n]

    with pytest.raises(ConcretizationTypeError, match="It is the argument 'n' of choose"):
        rb.jit(choose)(1.0, n=1)


@pytest.mark.forbidden("disable_jit")
def test_no_argument():
    def constant(x):
        return x if lax.add(np.float32(1), np.float32(2)) > 1 else -x

    assert "depends on no argument" in message(constant, 1.0)


@pytest.mark.forbidden("disable_jit")
def test_the_body_of_a_loop():
    def body(carry, x):
        return (carry, x) if carry > x else (x, carry)

    with pytest.raises(ConcretizationTypeError) as caught:
        lax.scan(body, 0.0, np.arange(3.0, dtype=np.float32))
    assert "from the arguments 'carry' and 'x' of body" in str(caught.value)
    assert "static_argnames" not in str(caught.value)


@pytest.mark.forbidden("disable_jit")
def test_an_argument_of_the_function_around():
    def outer(n):
        return lax.scan(lambda carry, _: (carry * int(n), None), 1.0, None, length=2)[0]

    assert "It is the argument 'n' of outer." in message(outer, 3)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("grad")
def test_a_derivative_inside():
    def loss(w, steps):
        return w * int(steps)

    said = message(lambda w, steps: rb.grad(loss, allow_int=True)(w, steps), 1.0, 3)
    assert "It is the argument 'steps' of <lambda>." in said


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("checkpoint")
def test_a_checkpointed_function():
    def layer(x, flag):
        return x * 2 if flag else x

    said = message(rb.checkpoint(layer), 1.0, True)
    assert "It is the argument 'flag' of layer." in said and "static_argnames='flag'" in said


@pytest.mark.needs("vmap")
def test_what_is_mapped_alone_cannot_be_static():
    with pytest.raises(ConcretizationTypeError) as caught:
        rb.vmap(lambda x: x if x > 0 else -x)(np.ones(3, np.float32))
    assert "static_argnames" not in str(caught.value)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("numpy")
def test_a_method_that_asked_is_named():
    said = message(lambda x, n: x.reshape(n, -1), X, 2)
    assert said.startswith("reshape (argument 'new_shape') needs the value of an array of type i32[]")
    assert "It is the argument 'n' of <lambda>. Shapes, sizes and axes" in said


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_a_slice():
    said = message(lambda x, n: x[:n], X, 2)
    assert "x[start:stop] got an array of type i32[]" in said and "'n' of <lambda>" in said


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("numpy")
@pytest.mark.parametrize(
    ("function", "who"),
    [
        (lambda n: rb.numpy.zeros(n), "zeros (argument 'shape')"),
        (lambda n: rb.numpy.zeros((2, n)), "zeros (argument 'shape')"),
        (lambda n: rb.numpy.sum(X, axis=n), "sum (argument 'axis')"),
        (lambda n: rb.numpy.sum(X, keepdims=n), "sum (argument 'keepdims')"),
        (lambda n: rb.numpy.split(X, n), "split (argument 'indices_or_sections')"),
        (lambda n: rb.numpy.linspace(0, 1, n), "linspace (argument 'num')"),
        (lambda n: rb.numpy.arange(n), "arange: the length of the result"),
        (lambda n: rb.numpy.nonzero(X * n), "nonzero: the shape of the result"),
    ],
)  # fmt: skip
def test_a_function_that_asked_is_named(function, who):
    said = message(function, 1)
    assert said.startswith(who)
    assert "argument 'n' of <lambda>" in said


@pytest.mark.forbidden("disable_jit")
def test_the_users_own_line_is_not_blamed_on_a_function():
    assert message(lambda i: [1, 2, 3][i], 0).startswith("a Python integer needs")
    assert message(lambda x: float(x), 0.0).startswith("float() needs")


@pytest.mark.forbidden("disable_jit")
def test_a_static_argument_is_named():
    with pytest.raises(rb.errors.StaticArgumentError, match="the static argument 'opts' cannot be hashed"):
        rb.jit(lambda x, opts: x, static_argnums=1)(1.0, [1])


@pytest.mark.forbidden("disable_jit")
def test_the_words_of_jax_are_for_those_who_use_them():
    assert "Attempted" not in message(lambda x: 1 if x else 2, 1.0)


@pytest.mark.needs("numpy")
@pytest.mark.parametrize(
    ("operation", "name"),
    [(lambda x, y: x + y, "x + y"), (lambda x, y: 2 * (x - y), "x - y"),
     (lambda x, y: rb.numpy.arctan2(x, y), "arctan2"), (lambda x, y: x < y, "x < y")],
)  # fmt: skip
@pytest.mark.parametrize("compiled", [False, True])
def test_shapes_that_do_not_fit_name_the_operation(operation, name, compiled):
    y = np.ones((4, 5), np.float32)
    with pytest.raises(rb.errors.ShapeError, match=re.escape(f"(2, 3), (4, 5) in {name};")):
        (rb.jit(operation) if compiled else operation)(rb.device_put(X), rb.device_put(y))


@pytest.mark.needs("numpy")
def test_arrays_that_are_not_in_a_list():
    with pytest.raises(TypeError, match=r"put the arrays in a list, as in concatenate\(\[a, b\]\)"):
        rb.numpy.concatenate(rb.numpy.ones(3), rb.numpy.ones(3))


def test_names_are_no_part_of_what_is_computed():
    f = rb.jit(lambda n: n + 1)
    assert f(1) == 2 and f(2) == 3
