"""What makes a new program: types, structure and static values, and nothing else."""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax


def counting(fun, **options):
    """``fun`` jitted, and the list of calls of its Python code."""
    calls = []

    @functools.wraps(fun)
    def counted(*args, **kwargs):
        calls.append((args, kwargs))
        return fun(*args, **kwargs)

    return rb.jit(counted, **options), calls


# --------------------------------------------------------------------------------------------- retracing
@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_one_trace_per_type():
    f, calls = counting(lambda x: x + 1)
    for x in (np.ones(3, "f4"), np.zeros(3, "f4"), rb.device_put(np.ones(3, "f4")), np.ones(3, "f8")):
        f(x)
    assert len(calls) == 1
    f(np.ones(4, "f4"))
    f(np.ones(3, "i4"))
    f(np.ones((3, 1), "f4"))
    assert len(calls) == 4


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_weak_types_count():
    f, calls = counting(lambda x: x + 1)
    f(1), f(2), f(3)
    assert len(calls) == 1
    f(np.int32(1))
    assert len(calls) == 2
    f(1.0)
    f(True)
    assert len(calls) == 4


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_structure_counts():
    f, calls = counting(lambda t: rb.tree.leaves(t)[0])
    f((1, 2)), f((3, 4))
    assert len(calls) == 1
    f([1, 2])
    f((1, (2,)))
    f((1, 2, None))
    assert len(calls) == 4


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_how_an_argument_is_passed_counts():
    f, calls = counting(lambda x, y: x + y)
    f(1, 2), f(1, 3)
    assert len(calls) == 1
    f(1, y=2), f(x=1, y=2), f(y=2, x=1)
    assert len(calls) == 3


@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_settings_that_change_traces_count():
    f, calls = counting(lambda x: x + 1)
    x = rb.device_put(np.ones(3, "f4"))
    f(x)
    with rb.enable_x64():
        f(x)
    f(x)
    with rb.enable_x64():
        f(x)
    assert len(calls) == 2


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_other_settings_do_not():
    f, calls = counting(lambda x: x + 1)
    f(1.0)
    with rb.config.override(traceback="full"):
        f(1.0)
    assert len(calls) == 1


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_a_wide_scalar_setting_changes_the_result():
    f = rb.jit(lambda x: x + 1)
    assert f(1.0).dtype == np.float32
    with rb.enable_x64():
        assert f(1.0).dtype == np.float64


@pytest.mark.forbidden("check_tracer_leaks")
def test_clearing_caches_traces_anew():
    f, calls = counting(lambda x: x + 1)
    f(1.0)
    f.clear_cache()
    f(1.0)
    assert len(calls) == 2
    rb.clear_caches()
    f(1.0)
    assert len(calls) == 3


# ----------------------------------------------------------------------------------------------- statics
@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnums": -1},
                                     {"static_argnames": "n"}, {"static_argnames": ("n",)},
                                     {"static_argnums": (1,), "static_argnames": ("n",)}])  # fmt: skip
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_static_argument_is_found_however_it_is_passed(options):
    def power(x, n):
        assert type(n) is int
        return x**n

    f, calls = counting(power, **options)
    assert f(3.0, 2) == f(3.0, n=2) == f(x=3.0, n=2) == 9
    f(4.0, 2), f(4.0, n=2)
    assert len(calls) == 3
    assert f(2.0, 3) == 8


def test_static_defaults():
    @functools.partial(rb.jit, static_argnames=("n", "flip"))
    def f(x, n=2, *, flip=False):
        return -(x**n) if flip else x**n

    assert f(3.0) == 9
    assert f(3.0, 3) == 27
    assert f(3.0, flip=True) == -9
    assert f(3.0, n=1, flip=True) == -3


def test_a_negative_position_counts_from_the_end_of_the_parameters():
    """Not from the end of the arguments of one call: with n left out, x is no static argument."""

    @functools.partial(rb.jit, static_argnums=-1)
    def f(x, n=2):
        assert type(n) is int
        return x**n

    assert f(3.0) == 9
    assert f(np.full(2, 3.0), 1).tolist() == [3, 3]
    assert f(np.full(2, 3.0)).tolist() == [9, 9]


@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_equal_values_of_different_types_are_different():
    f, calls = counting(lambda x, n: x * n, static_argnums=1)
    x = np.int32(3)
    assert [f(x, n).dtype.name for n in (1, 1.0, True, 1)] == ["int32", "float32", "int32", "int32"]
    assert len(calls) == 3


@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_equal_values_within_containers_are_different_too():
    f, _calls = counting(lambda x, n: x * n[0], static_argnums=1)
    x = np.int32(3)
    assert f(x, (1,)).dtype == np.int32
    assert f(x, (1.0,)).dtype == np.float32


@pytest.mark.parametrize(
    "value", ["text", None, (1, 2), frozenset({1}), np.dtype("f4"), int, lax.sin], ids=repr
)
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_static_values_of_any_hashable_type(value):
    f, calls = counting(lambda x, s: x if s is value or s == value else None, static_argnums=1)
    assert f(2.0, value) == f(2.0, value) == 2
    assert len(calls) == 1


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_statics_in_the_middle():
    f, calls = counting(lambda a, s, b, t: (a + b, s, t)[0] * len(s) * t, static_argnums=(1, 3))
    assert f(1.0, "abc", 2.0, 4) == 36
    assert f(2.0, "abc", 2.0, 4) == 48
    assert len(calls) == 1


def test_variadic_static_positions():
    f = rb.jit(lambda *args: args[0] * args[2], static_argnums=2)
    assert f(2.0, 3.0, 4) == 8


# ----------------------------------------------------------------------------------------------- refusals
def test_a_static_position_that_does_not_exist():
    with pytest.raises(ValueError, match=r"position 3, but .*<lambda>.* takes 2 positional"):
        rb.jit(lambda x, y: x, static_argnums=3)


def test_a_static_name_that_does_not_exist():
    def f(x, depth):
        return x

    with pytest.raises(
        ValueError, match=r"'dept', which is not an argument of .*f \(.*test_signature.py:\d+\).*depth, x"
    ):
        rb.jit(f, static_argnames="dept")


def test_static_names_of_the_wrong_type():
    with pytest.raises(TypeError, match="argnums must hold int"):
        rb.jit(lambda x: x, static_argnums="x")
    with pytest.raises(TypeError, match="argnames must hold str"):
        rb.jit(lambda x: x, static_argnames=0)


def test_an_argument_that_is_both_static_and_donated():
    with pytest.raises(ValueError, match="static and donated"):
        rb.jit(lambda x, y: x, static_argnums=0, donate_argnums=0)


@pytest.mark.forbidden("disable_jit")
def test_an_unhashable_static_argument():
    def f(x, sizes):
        return x

    for call in (lambda g: g(1.0, [1, 2]), lambda g: g(1.0, sizes=[1, 2])):
        with pytest.raises(TypeError) as caught:
            call(rb.jit(f, static_argnames="sizes"))
        message = str(caught.value)
        assert "test_signature.py" in message and "cannot be hashed" in message
        assert "list" in message and "[1, 2]" in message and "tuple" in message
        assert "'sizes'" in message or "argument 1" in message


def test_jit_of_what_is_no_function():
    with pytest.raises(TypeError, match="jit takes a function, got int: 3"):
        rb.jit(3)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("levels", [3_000, 100_000])
def test_a_static_argument_that_is_too_deep_is_named_with_its_levels(levels):
    deep = ()
    for _ in range(levels):
        deep = (deep,)
    for jitted, call in (
        (rb.jit(lambda x, s: x, static_argnums=1), lambda f, s: f(1.0, s)),
        (rb.jit(lambda x, s=(): x, static_argnames="s"), lambda f, s: f(1.0, s=s)),
    ):
        with pytest.raises(rb.errors.StaticArgumentError, match=f"{levels} levels"):
            call(jitted, deep)
        assert float(call(jitted, ((),))) == 1.0


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f(x, 3),
        lambda f, x: f(x, n=3),
        lambda f, x: f({"a": x}, 3),
        lambda f, x: f(2.0, 3),
        lambda f, x: f(np.float32(2), (1, 2.0)),
        lambda f, x: f(a=x, n=3),
    ],
)
def test_a_call_with_static_arguments_seen_before_is_not_taken_apart_again(call, monkeypatch):
    def first(a, n):
        return (a["a"] if type(a) is dict else a) * (n[1] if type(n) is tuple else n)

    f = rb.jit(first, static_argnames="n")
    x = rb.device_put(np.float32(2))
    expected = call(f, x)
    monkeypatch.setattr("rabbet_jit.api.Signature", None)
    assert float(call(f, x)) == float(expected)
    f.clear_cache()
    with pytest.raises(TypeError):
        call(f, x)


@pytest.mark.narrow
@pytest.mark.forbidden("numpy_dtype_promotion", "disable_jit")
def test_the_fast_path_tells_static_values_apart_by_type():
    f = rb.jit(lambda x, n: x + (n if type(n) is not tuple else n[0]), static_argnums=1)
    x = rb.device_put(np.int32(1))
    for _ in range(2):
        kinds = [f(x, n).dtype.name for n in (1, 1.0, True, (1,), (1.0,))]
        assert kinds == ["int32", "float32", "int32", "int32", "float32"]
    assert len(f.jitted.quick.fixed) == 5


def test_static_positions_from_the_end_belong_to_the_call_that_has_them():
    f = rb.jit(lambda *xs: xs[0] * len(xs) + (xs[-1] if isinstance(xs[-1], int) else 100), static_argnums=-1)
    for _ in range(2):
        assert int(f(np.int32(2), 3)) == 7
        assert int(f(np.int32(2), np.int32(5), 3)) == 9
