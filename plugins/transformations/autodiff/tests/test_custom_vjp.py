"""custom_vjp: the author's backward pass is used in reverse mode, at every level; forward mode says that it
cannot.
"""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X = np.array([-1.0, 0.5, 2.0], "f4")


def total(x):
    return lax.reduce_sum(x, axes=(0,))


@rb.custom_vjp
def triple(x):
    """A function with a wrong derivative, so that its use shows."""
    return x * 3


def triple_fwd(x):
    return triple(x), {"x": x, "unused": None}


def triple_bwd(residuals, ct):
    return (ct * 100 * residuals["x"],)


triple.defvjp(triple_fwd, triple_bwd)


@rb.custom_vjp
def product(x, y):
    return {"out": x * y["inner"], "none": None}


product.defvjp(
    lambda x, y: (product(x, y), (x, y)),
    lambda res, ct: (10 * ct["out"] * res[1]["inner"], {"inner": 20 * ct["out"] * res[0]}),
)


# --------------------------------------------------------------------------------------------------- laws
def test_the_value_is_the_functions():
    assert triple(2.0) == 6
    assert triple.__name__ == "triple" and "wrong derivative" in triple.__doc__
    assert rb.vmap(triple)(X).tolist() == (3 * X).tolist()


def test_the_derivative_is_the_rules():
    assert rb.grad(triple)(2.0) == 200
    assert rb.value_and_grad(triple)(2.0) == (6, 200)
    out, pull = rb.vjp(triple, 2.0)
    assert out == 6 and pull(1.0) == (200,) and pull(2.0) == (400,)
    assert rb.jacrev(triple)(2.0) == 200
    assert rb.grad(lambda x: triple(triple(x)))(2.0) == 100 * 6 * 200


def test_higher_orders_differentiate_the_rules():
    assert rb.grad(rb.grad(triple))(2.0) == 100
    assert rb.grad(rb.grad(lambda x: triple(x) * x))(2.0) == 600
    assert rb.jacrev(rb.jacrev(triple))(2.0) == 100


def test_forward_over_reverse():
    """Where ``fwd`` does not call the function itself, whose forward derivative nobody knows."""
    f = rb.custom_vjp(lambda x: x * 3)
    f.defvjp(lambda x: (x * 3, x), lambda x, ct: (ct * 100 * x,))
    assert rb.hessian(f)(2.0) == 100
    assert rb.jvp(rb.grad(f), (2.0,), (1.0,))[1] == 100
    assert rb.linearize(rb.grad(f), 2.0)[1](1.0) == 100


def test_maps():
    np.testing.assert_allclose(rb.vmap(rb.grad(triple))(X), 100 * X)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(triple)(x)))(X), 100 * X)
    np.testing.assert_allclose(rb.vmap(rb.vmap(rb.grad(triple)))(np.stack([X, X]))[1], 100 * X)
    np.testing.assert_allclose(
        rb.grad(lambda x: total(total(rb.vmap(rb.vmap(triple))(x))))(np.stack([X, X]))[0], 100 * X
    )
    np.testing.assert_allclose(rb.vmap(rb.grad(rb.grad(triple)))(X), [100] * 3)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(rb.grad(triple))(x)))(X), [100] * 3)
    np.testing.assert_allclose(
        rb.grad(lambda x: total(rb.grad(lambda y: total(rb.vmap(triple)(y)))(x)))(X), [100] * 3
    )


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: rb.jit(rb.grad(triple))(x),
        lambda x: rb.grad(rb.jit(triple))(x),
        lambda x: rb.jit(rb.grad(rb.jit(triple)))(x),
        lambda x: rb.vjp(rb.jit(triple), x)[1](np.float32(1))[0],
        lambda x: rb.grad(rb.jit(rb.jit(triple)))(x),
        lambda x: rb.vmap(rb.grad(rb.jit(triple)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.jit(rb.vmap(rb.grad(triple)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.grad(lambda xs: total(rb.jit(rb.vmap(triple))(xs)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.grad(lambda xs: total(rb.vmap(rb.jit(triple))(xs)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.jit(rb.grad(lambda xs: total(rb.vmap(rb.jit(triple))(xs))))(lax.broadcast(x, (2,)))[0],
    ],
    ids=range(10),
)
def test_under_jit(f):
    from rabbet.extend.passes import check

    assert f(2.0) == 200
    check(rb.make_jaxpr(f)(2.0))
    assert rb.grad(f)(2.0) == 100
    check(rb.make_jaxpr(rb.grad(f))(2.0))


@pytest.mark.needs("jit")
def test_a_jitted_function_used_in_several_ways():
    """The rules that a program carries serve it under every transformation, in any order."""
    f = rb.jit(triple)
    for _ in range(2):
        assert f(2.0) == 6
        assert rb.grad(f)(2.0) == 200
        np.testing.assert_allclose(rb.vmap(rb.grad(f))(X), 100 * X)
        np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(f)(x)))(X), 100 * X)
        assert rb.grad(rb.grad(f))(2.0) == 100


@pytest.mark.needs("jit")
def test_outputs_that_a_map_does_not_touch_stay_so():
    @rb.custom_vjp
    def f(x, y):
        return x * y, y * 2

    f.defvjp(
        lambda x, y: (f(x, y), (x, y)), lambda res, ct: (ct[0] * res[1], 10 * ct[0] * res[0] + 20 * ct[1])
    )

    mapped = rb.vmap(f, (0, None), out_axes=(0, None))
    for g in (mapped, rb.jit(mapped), rb.jit(rb.vmap(rb.jit(f), (0, None), out_axes=(0, None)))):
        outs, alone = g(X, 2.0)
        np.testing.assert_allclose(outs, 2 * X)
        assert alone == 4
        assert rb.grad(lambda y, g=g: g(X, y)[1])(2.0) == 20
        np.testing.assert_allclose(
            rb.grad(lambda y, g=g: total(g(X, y)[0]) + g(X, y)[1])(2.0), 10 * X.sum() + 20
        )
    assert rb.jit(mapped)(X[:0], 2.0)[0].shape == (0,)


# --------------------------------------------------------------------------------------------- signatures
def test_several_arguments_and_trees():
    f = lambda x, y: product(x, {"inner": y})["out"]
    assert rb.grad(f, (0, 1))(2.0, 3.0) == (30, 40)
    assert rb.grad(f)(2.0, 3.0) == 30
    assert rb.grad(lambda x: f(x, x))(3.0) == 90
    assert rb.grad(product_in_tree, 1)(2.0, {"inner": 3.0}) == {"inner": 40.0}
    np.testing.assert_allclose(rb.vmap(rb.grad(f), (0, None))(X, 3.0), [30] * 3)
    np.testing.assert_allclose(rb.vmap(rb.grad(f), (None, 0))(2.0, X), 10 * X)
    np.testing.assert_allclose(rb.grad(lambda y: total(rb.vmap(f, (0, None))(X, y)))(3.0), 20 * X.sum())
    np.testing.assert_allclose(
        rb.grad(lambda x: total(rb.vmap(f, (None, 0))(x, X)))(3.0), 10 * X.sum(), rtol=1e-6
    )


def product_in_tree(x, y):
    return product(x, y)["out"]


def test_arguments_at_other_axes():
    f = rb.custom_vjp(lambda x: lax.reduce_sum(x, axes=(0,)))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * x * 5,))
    m = np.arange(6, dtype="f4").reshape(2, 3)
    np.testing.assert_allclose(rb.vmap(rb.grad(f), in_axes=1, out_axes=1)(m), 5 * m)
    np.testing.assert_allclose(rb.grad(lambda m: total(rb.vmap(f, in_axes=1)(m)))(m), 5 * m)


def test_none_stands_for_zero():
    f = rb.custom_vjp(lambda x, y, z: x * y)
    f.defvjp(lambda x, y, z: (f(x, y, z), y), lambda y, ct: (ct * y, None, None))
    g = rb.grad(f, (0, 1, 2))(2.0, 3.0, {"a": 1.0})
    assert g == (3, 0, {"a": 0.0})


def test_static_arguments():
    @functools.partial(rb.custom_vjp, nondiff_argnums=(0, 2))
    def apply(f, x, mode):
        return f(x)

    def fwd(f, x, mode):
        return apply(f, x, mode), len(mode)

    def bwd(f, mode, length, ct):
        assert callable(f)
        return (ct * length,)

    apply.defvjp(fwd, bwd)
    assert rb.grad(lambda x: apply(lax.sin, x, "four"))(1.0) == 4
    assert rb.grad(apply, 1)(lax.sin, 1.0, "fives") == 5
    np.testing.assert_array_equal(rb.vmap(rb.grad(lambda x: apply(lax.cos, x, "two")))(X), [3] * 3)
    if "jit" in dir(rb):
        assert rb.grad(rb.jit(lambda x: apply(lax.sin, x, "four")))(1.0) == 4


def test_integer_arguments_and_outputs():
    @rb.custom_vjp
    def f(x, n):
        return x * n, n + 1

    def bwd(n, cts):
        ct, ctn = cts
        assert ctn.dtype == rb.dtypes.float0
        return ct * n * 2, None

    f.defvjp(lambda x, n: (f(x, n), n), bwd)
    loss = lambda x, n: f(x, n)[0]
    assert rb.grad(loss)(2.0, 3) == 6
    g, gn = rb.grad(loss, (0, 1), allow_int=True)(2.0, 3)
    assert g == 6 and gn.dtype == rb.dtypes.float0
    ns = np.arange(3)
    np.testing.assert_array_equal(rb.vmap(rb.grad(loss))(X, ns), [0, 2, 4])
    np.testing.assert_array_equal(rb.grad(lambda x: total(rb.vmap(loss)(x, ns)))(X), [0, 2, 4])
    if "jit" in dir(rb):
        assert rb.jit(rb.grad(rb.jit(loss)))(2.0, 3) == 6
        np.testing.assert_array_equal(rb.grad(lambda x: total(rb.jit(rb.vmap(loss))(x, ns)))(X), [0, 2, 4])


def test_a_cotangent_of_another_float_dtype_is_converted():
    f = rb.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct.astype("float16"),))
    assert rb.grad(f)(1.0).dtype == np.float32


def test_a_complex_cotangent_of_a_real_argument_is_refused():
    double = rb.custom_vjp(lambda x: 2.0 * x)
    double.defvjp(lambda x: (2.0 * x, None), lambda _, ct: (2j * ct,))
    with pytest.raises(TypeError, match="imaginary part would be lost"):
        rb.grad(double)(1.0)
    assert complex(rb.grad(double, holomorphic=True)(1.0 + 0j)) == 2j


def test_gradient_clipping():
    @rb.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (lax.clamp(-1.0, ct, 1.0),))
    assert rb.grad(lambda x: clipped(x) * 5)(1.0) == 1
    assert rb.grad(lambda x: clipped(x) * 0.5)(1.0) == 0.5


def test_unused_outputs_have_zero_cotangents():
    f = rb.custom_vjp(lambda x: (x, x * 2))
    f.defvjp(lambda x: (f(x), None), lambda _, cts: (cts[0] + 10 * cts[1],))
    assert rb.grad(lambda x: f(x)[0])(1.0) == 1
    assert rb.grad(lambda x: f(x)[1])(1.0) == 10


def test_arguments_that_are_not_differentiated():
    assert rb.grad(lambda x: triple(2.0) * x)(1.0) == 6
    assert rb.grad(lambda x: product(x, {"inner": 3.0})["out"])(2.0) == 30


# ------------------------------------------------------------------------------------------ python values
def test_the_rules_may_branch_on_values():
    @rb.custom_vjp
    def f(x):
        return x if x > 0 else -x

    f.defvjp(lambda x: (f(x), bool(x > 0)), lambda positive, ct: (ct * (10 if positive else 20),))
    assert rb.grad(f)(2.0) == 10 and rb.grad(f)(-2.0) == 20


def test_nested_custom_functions():
    @rb.custom_vjp
    def outer(x):
        return triple(x)

    outer.defvjp(lambda x: (outer(x), x), lambda x, ct: (ct * triple(x),))
    assert rb.grad(outer)(2.0) == 6
    assert rb.grad(rb.grad(outer))(2.0) == 200
    assert rb.grad(rb.grad(rb.grad(outer)))(2.0) == 100

    @rb.custom_jvp
    def mixed(x):
        return x

    mixed.defjvp(lambda primals, tangents: (mixed(*primals), triple(primals[0]) * tangents[0]))
    assert rb.grad(mixed)(2.0) == 6 and rb.grad(rb.grad(mixed))(2.0) == 200


def test_residuals_that_are_values_of_an_outer_level():
    def g(w):
        @rb.custom_vjp
        def f(x):
            return x

        f.defvjp(lambda x: (x, w), lambda w, ct: (ct * w,))
        return rb.grad(f)(1.0)

    assert g(5.0) == 5
    np.testing.assert_array_equal(rb.vmap(g)(X), X)


# ----------------------------------------------------------------------------------------------- forward
# mode
@pytest.mark.parametrize(
    "call",
    [
        lambda: rb.jvp(triple, (1.0,), (1.0,)),
        lambda: rb.jacfwd(triple)(1.0),
        lambda: rb.linearize(triple, 1.0)[1](1.0),
        lambda: rb.grad(lambda x: rb.jvp(triple, (x,), (1.0,))[1])(1.0),
    ],
    ids=range(4),
)
def test_forward_mode_says_that_it_cannot(call):
    with pytest.raises(rb.errors.MissingRule) as caught:
        call()
    text = str(caught.value)
    assert "'triple'" in text and "reverse mode only" in text and "custom_jvp" in text
    assert rb.grad(triple)(2.0) == 200


@pytest.mark.needs("jit")
def test_forward_mode_says_so_under_jit():
    with pytest.raises(rb.errors.MissingRule, match="reverse mode only"):
        rb.jit(lambda x: rb.jvp(triple, (x,), (x,)))(1.0)
    with pytest.raises(rb.errors.MissingRule, match="reverse mode only"):
        rb.jvp(rb.jit(triple), (1.0,), (1.0,))


# ----------------------------------------------------------------------------------------------- messages
def custom(fwd=lambda x: (x * 2, None), bwd=lambda _, ct: (ct,)):
    f = rb.custom_vjp(lambda x: x * 2)
    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize(
    ("rules", "parts"),
    [
        ({"fwd": lambda x: x}, ["forward rule", "pair (output, residuals)"]),
        ({"bwd": lambda _, ct: ct}, ["backward rule", "tuple with 1 cotangents"]),
        ({"bwd": lambda _, ct: (ct, ct)}, ["backward rule", "2 entries"]),
        ({"bwd": lambda _, ct: ({"a": ct},)}, ["backward rule", "structure"]),
        ({"bwd": lambda _, ct: (lax.broadcast(ct, (2,)),)}, ["backward rule", "f32[2]", "f32[]", "'x'"]),
        ({"bwd": lambda _, ct: ("text",)}, ["backward rule", "text"]),
        ({"fwd": lambda x: (x, "text")}, ["forward rule", "residual", "text"]),
    ],
    ids=range(7),
)
def test_rules_of_the_wrong_form(rules, parts):
    with pytest.raises(TypeError) as caught:
        rb.grad(custom(**rules))(1.0)
    for part in ["test_custom_vjp.py", *parts]:
        assert part in str(caught.value)


@pytest.mark.needs("jit")
def test_a_forward_rule_whose_output_is_not_the_functions():
    with pytest.raises(TypeError, match="structure"):
        rb.grad(rb.jit(custom(fwd=lambda x: ((x, x), None))))(1.0)
    with pytest.raises(TypeError, match=r"f32\[2\] for output number 0"):
        rb.vjp(rb.jit(custom(fwd=lambda x: (lax.broadcast(x, (2,)), None))), 1.0)


def test_a_function_without_rules():
    with pytest.raises(AttributeError, match=r"test_custom_vjp.py.* defvjp"):
        rb.custom_vjp(lambda x: x)(1.0)


def test_custom_vjp_of_what_is_no_function():
    with pytest.raises(TypeError, match="custom_vjp takes a function, got int"):
        rb.custom_vjp(3)


def test_a_closure_over_a_value_being_differentiated_is_refused():
    def g(x):
        f = rb.custom_vjp(lambda y: x * y)
        f.defvjp(lambda y: (x * y, None), lambda _, ct: (ct,))
        return f(2.0 * x)

    with pytest.raises(TypeError, match="closes over"):
        rb.grad(g)(1.0)


def test_the_backward_rule_is_given_arrays_also_where_the_cotangent_is_the_number_one():
    seen = []

    @rb.custom_vjp
    def f(x, y):
        return lax.sin(x) * y, x

    def backward(residuals, ct):
        seen.extend(ct)
        return ct[0] * residuals[1], ct[0].at[()].set(2.0)

    f.defvjp(lambda x, y: (f(x, y), (x, y)), backward)
    g = rb.grad(lambda x, y: f(x, y)[0], (0, 1))
    assert [float(x) for x in g(1.0, 3.0)] == [3.0, 2.0]
    assert all(type(ct) is rb.Array for ct in seen)
    pytest.importorskip("rabbet_jit")
    assert [float(x) for x in rb.jit(g)(1.0, 3.0)] == [3.0, 2.0]


@pytest.mark.needs("jit")
def test_residuals_that_are_pythons_numbers_stay_so():
    seen = []

    @rb.custom_vjp
    def f(x):
        return x * 2

    def backward(saved, g):
        _, count, scale, flag, nothing = saved
        seen.append([type(v) for v in (count, scale, flag)])
        return (g * scale * sum([1.0] * count) if flag and nothing is None else g,)  # as Python uses them

    f.defvjp(lambda x: (f(x), (x, 3, 0.5, True, None)), backward)
    loss = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    for gradient in (rb.grad(f), rb.jit(rb.grad(f))):
        assert float(gradient(1.0)) == 1.5
    assert rb.vmap(rb.grad(f))(np.ones(2, np.float32)).tolist() == [1.5, 1.5]
    assert float(rb.grad(loss)(1.0)) == 2.25
    assert set(map(tuple, seen)) == {(int, float, bool)}


@functools.partial(rb.custom_vjp, nondiff_argnums=(1,))
def weighed(x, by):
    return x * by


weighed.defvjp(lambda x, by: (weighed(x, by), x), lambda by, x, ct: (ct * by * 10 + 0 * x,))


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "way",
    [
        lambda f: rb.grad(rb.jit(f)),
        lambda f: rb.jit(rb.grad(f)),
        lambda f: rb.grad(lambda x, by: lax.cond(x > 0, f, lambda x, by: x, x, by)),
        lambda f: rb.grad(lambda x, by: rb.vmap(f)(x[None], by[None])[0]),
        lambda f: rb.grad(rb.checkpoint(f)),
    ],
)
def test_static_arguments_that_are_traced_reach_both_rules(way):
    assert way(weighed)(lax.full((), 2.0), lax.full((), 3.0)) == 30


@pytest.mark.needs("jit")
def test_a_static_argument_that_is_differentiated_is_refused():
    with pytest.raises(TypeError, match=r"weighed \(.*differentiated by 'by'"):
        rb.grad(rb.jit(weighed), 1)(2.0, 3.0)
