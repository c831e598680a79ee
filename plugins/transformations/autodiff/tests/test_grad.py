"""grad and value_and_grad: the derivative of a scalar function, in the structure of its arguments."""

import collections
import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X = np.linspace(-1.0, 1.5, 6, dtype="f4").reshape(2, 3)
Pair = collections.namedtuple("Pair", "a b")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(len(np.shape(x)))))


def loss(w, x, y):
    return total((w["a"] * x + w["b"] - y) ** 2)


# -------------------------------------------------------------------------------------------------- laws
def test_the_gradient_of_a_polynomial():
    assert rb.grad(lambda x: 3 * x**2 + 2 * x + 1)(2.0) == 14.0


@pytest.mark.parametrize(
    "wrap", [lambda f: f, pytest.param(lambda f: rb.jit(f), marks=pytest.mark.needs("jit"))]
)
def test_against_the_formula(wrap):
    got = wrap(rb.grad(lambda x: total(lax.sin(x) * x)))(X)
    np.testing.assert_allclose(got, np.cos(X) * X + np.sin(X), rtol=1e-6)


def test_value_and_gradient():
    value, gradient = rb.value_and_grad(lambda x: total(x**3))(X)
    np.testing.assert_allclose(value, (X**3).sum(), rtol=1e-6)
    np.testing.assert_allclose(gradient, 3 * X**2, rtol=1e-6)


def test_the_value_is_a_plain_array():
    value, gradient = rb.value_and_grad(lambda x: x * 2)(1.0)
    assert type(value) is type(gradient) is rb.Array
    value, _ = rb.value_and_grad(lambda x: 5.0)(1.0)
    assert type(value) is rb.Array and value == 5


# ----------------------------------------------------------------------------------------------- argnums
def test_argnums():
    f = lambda x, y, z: x * y**2 * z**3
    args = (2.0, 3.0, 5.0)
    gx, gy, gz = 9 * 125.0, 2 * 6 * 125.0, 18 * 75.0
    assert rb.grad(f)(*args) == gx
    assert rb.grad(f, 1)(*args) == gy
    assert rb.grad(f, -1)(*args) == gz
    assert rb.grad(f, argnums=(0,))(*args) == (gx,)
    assert rb.grad(f, argnums=(2, 0))(*args) == (gz, gx)
    assert rb.grad(f, argnums=[-2, 0])(*args) == (gy, gx)
    assert rb.grad(f, argnums=())(*args) == ()
    value, (a, b) = rb.value_and_grad(f, (0, 1))(*args)
    assert (value, a, b) == (2250, gx, gy)


def test_keyword_arguments_are_constants():
    f = lambda x, *, scale, bias=1.0: x * scale["by"] + bias
    assert rb.grad(f)(2.0, scale={"by": 3.0}) == 3
    assert rb.grad(f)(2.0, scale={"by": 3}, bias=np.float32(4)) == 3


def test_pytrees():
    w = {"a": np.float32(2), "b": [np.ones(3, "f4"), None, Pair(1.0, (X,))]}
    f = lambda w: w["a"] * total(w["b"][0]) + total(w["b"][2].a * w["b"][2].b[0])
    g = rb.grad(f)(w)
    assert rb.tree.structure(g) == rb.tree.structure(w)
    assert g["a"] == 3 and g["b"][0].tolist() == [2, 2, 2]
    np.testing.assert_allclose(g["b"][2].a, X.sum(), rtol=1e-6)
    np.testing.assert_allclose(g["b"][2].b[0], np.ones_like(X))


def test_pytrees_with_argnums():
    g, gx = rb.grad(loss, argnums=(0, 1))({"a": 2.0, "b": 1.0}, 3.0, 4.0)
    assert g == {"a": 18.0, "b": 6.0} and gx == 12.0


def test_an_empty_pytree():
    assert rb.grad(lambda x, y: y, argnums=0)({}, 1.0) == {}


# ---------------------------------------------------------------------------------------------- has_aux
def test_auxiliary_results():
    f = lambda x: (x**2, {"twice": 2 * x, "name": "kept", "none": None, "shape": (3,)})
    g, aux = rb.grad(f, has_aux=True)(3.0)
    assert g == 6 and aux == {"twice": 6.0, "name": "kept", "none": None, "shape": (3,)}
    assert type(aux["twice"]) is rb.Array
    (value, aux), g = rb.value_and_grad(f, has_aux=True)(3.0)
    assert (value, g, aux["twice"]) == (9, 6, 6)
    assert rb.grad(lambda x: [x**2, "kept"], has_aux=True)(3.0) == (6, "kept")  # a list is a pair, too


def test_auxiliary_results_of_nested_gradients():
    f = lambda x: (x**3, x * 2)
    (second, inner), _outer = (
        rb.grad(lambda x: (lambda g, a: (g, (a, a * x)))(*rb.grad(f, has_aux=True)(x)), has_aux=True)(2.0),
        None,
    )
    assert second == 12 and inner == (4.0, 8.0)


@pytest.mark.needs("jit")
def test_auxiliary_results_under_jit():
    f = rb.jit(lambda x: (x**2, {"twice": 2 * x}))
    g, aux = rb.jit(rb.grad(f, has_aux=True))(3.0)
    assert g == 6 and aux == {"twice": 6.0}


def test_auxiliary_results_that_are_not_touched():
    _g, aux = rb.grad(lambda x: (x, X), has_aux=True)(1.0)
    assert aux is X


# ------------------------------------------------------------------------------------------------ dtypes
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_has_the_arguments_dtype(dtype):
    x = lax.full((3,), 2, dtype)
    g = rb.grad(lambda x: total(x * x))(x)
    assert g.dtype == np.dtype(dtype) and g.tolist() == [4, 4, 4]


def test_mixed_dtypes():
    x, y = lax.full((2,), 2, "float16"), lax.full((2,), 3, "float32")
    gx, gy = rb.grad(lambda x, y: total(x.astype("float32") * y), (0, 1))(x, y)
    assert (gx.dtype, gy.dtype) == (np.float16, np.float32)
    assert gx.tolist() == [3, 3] and gy.tolist() == [2, 2]


def test_integers_among_the_arguments():
    f = lambda x, n: total(x * n)
    assert rb.grad(f)(np.ones(2, "f4"), 3).tolist() == [3, 3]
    g, gn = rb.grad(f, (0, 1), allow_int=True)(np.ones(2, "f4"), np.arange(2))
    assert g.tolist() == [0, 1]
    assert gn.dtype == rb.dtypes.float0 and gn.shape == (2,)


@pytest.mark.needs("jit")
def test_gradients_of_integers_leave_programs():
    """A float0 array is stored as booleans, so that it can pass everything that an array passes."""
    gradient = rb.grad(lambda n: total(n * 1.5), allow_int=True)
    for f, shape in (
        (rb.jit(gradient), (3,)),
        (rb.vmap(gradient), (3,)),
        (rb.jit(rb.vmap(lambda n: rb.jit(gradient)(n))), (3,)),
        (rb.jit(lambda xs: lax.scan(lambda c, x: (c, gradient(x)), 0.0, xs)[1]), (3,)),
        (lambda xs: rb.jit(gradient)(xs[0]), ()),
    ):
        g = f(np.arange(3))
        assert (g.dtype, g.shape) == (rb.dtypes.float0, shape)
        assert np.asarray(g).dtype == rb.dtypes.float0
    moved = rb.jit(lambda n, t: rb.jvp(lambda n, x: n * x, (n, 2.0), (t, 1.0))[1])
    assert moved(np.arange(3), g := np.zeros(3, rb.dtypes.float0)).tolist() == [0, 1, 2]
    assert rb.device_put(g).dtype == rb.dtypes.float0


def test_a_gradient_through_integers_is_zero():
    assert rb.grad(lambda x: x.astype("int32").astype("float32") + lax.floor(x))(1.5) == 0


def test_weak_arguments_stay_harmless():
    g = rb.grad(lambda x: x * 2.0)(1.0)
    assert g.dtype == np.float32


def test_holomorphic():
    g = rb.grad(lambda z: z**3, holomorphic=True)(np.complex64(1 + 2j))
    np.testing.assert_allclose(g, 3 * (1 + 2j) ** 2, rtol=1e-6)


# ---------------------------------------------------------------------------------------------- corners
def test_unused_arguments_have_zeros():
    g, h = rb.grad(lambda x, y: x * 2, (0, 1))(1.0, X)
    assert g == 2 and h.tolist() == np.zeros_like(X).tolist() and h.dtype == np.float32


def test_constant_functions_have_zeros():
    g = rb.grad(lambda x: 3.0)(X)
    assert g.shape == X.shape and not np.asarray(g).any()
    assert rb.grad(lambda x: rb.stop_gradient(x) * 2)(1.0) == 0


def test_an_argument_returned_as_it_is():
    assert rb.grad(lambda x: x)(3.0) == 1
    assert rb.value_and_grad(lambda x: x)(3.0) == (3, 1)


def test_one_value_used_many_times():
    assert rb.grad(lambda x: x * x * x + x / x + (x - x))(2.0) == 12


def test_zero_size():
    g = rb.grad(lambda x: total(x * 2))(np.zeros((0, 3), "f4"))
    assert g.shape == (0, 3)


def test_stop_gradient_of_a_tree():
    def f(x):
        held = rb.stop_gradient({"x": x, "n": 3})
        return held["x"] * x * held["n"]

    assert rb.grad(f)(2.0) == 6


def test_the_function_runs_once():
    runs = []
    rb.value_and_grad(lambda x: runs.append(1) or x * x)(2.0)
    assert len(runs) == 1


def test_it_keeps_the_name():
    def documented(x):
        """What it does."""
        return x

    assert rb.grad(documented).__name__ == "documented"
    assert rb.grad(functools.partial(documented))(1.0) == 1


def test_methods():
    class Model:
        scale = 3.0

        def loss(self, x):
            return x * self.scale

    assert rb.grad(Model().loss)(1.0) == 3


# ----------------------------------------------------------------------------------- python control flow
def test_branches_on_values():
    def f(x):
        if x > 0:
            return x**2
        return -x

    assert rb.grad(f)(3.0) == 6 and rb.grad(f)(-3.0) == -1
    assert rb.grad(rb.grad(f))(3.0) == 2
    assert rb.jvp(f, (-3.0,), (1.0,))[1] == -1


def test_loops_on_values():
    def f(x):
        while x < 100:
            x = x * x
        return x

    assert rb.grad(f)(3.0) == 8 * 3.0**7


def test_conversions_of_values():
    def f(x):
        return x * int(x) + float(x) * x + x.item() + [1, 2, 3][int(x)]

    assert rb.grad(f)(2.0) == 4
    assert rb.grad(lambda x: x * np.asarray(x))(3.0) == 3


def test_values_can_be_shown():
    shown = []
    rb.grad(lambda x: shown.append(f"{x:.2f}") or x)(1.25)
    assert shown == ["1.25"]


def test_python_recursion():
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert rb.grad(power)(2.0, 5) == 80


def test_an_integer_output_takes_its_own_type_for_a_cotangent():
    _, pull = rb.vjp(lambda x: (2.0 * x, np.arange(3, dtype="int32")), 1.0)
    for given in (np.arange(3, dtype="int32"), np.zeros(3, rb.dtypes.float0)):
        assert pull((1.0, given)) == (2.0,)
    for given in (np.ones(3, "float32"), np.arange(4, dtype="int32")):
        with pytest.raises(TypeError, match="must have the type float0"):
            pull((1.0, given))
    count, pull = rb.vjp(lambda x: 3, 1.0)
    assert pull(count) == (0.0,)


WRAPPED = {
    "dict": (lambda x: {"loss": x * x}, "a dict with the key 'loss'"),
    "pair": (lambda x: (x * x, {}), "a tuple of length 2 with 1 array"),
    "list": (lambda x: [x * x], "a list of length 1 with 1 array"),
    "two": (lambda x: (x, x), "a tuple of length 2 with 2 arrays"),
    "none": (lambda x: None, "None"),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("what", ["grad", "value_and_grad"])
def test_a_structure_is_no_scalar(what, name):
    f, found = WRAPPED[name]
    with pytest.raises(TypeError, match=f"must return one scalar, it returned {found}; use has_aux=True"):
        getattr(rb, what)(f)(1.0)
    with pytest.raises(TypeError, match=f"the first of the pair must be one scalar, it is {found}"):
        getattr(rb, what)(lambda x: (f(x), 0), has_aux=True)(1.0)
