"""jit changes when a function runs, not what it returns."""

import collections
import dataclasses
import functools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X = np.arange(6, dtype="f4").reshape(2, 3)
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Model:
    weight: object
    bias: object


rb.tree.register_dataclass_node(Model, ["weight", "bias"], [])


def arithmetic(x):
    return x * 2 + x / 3 - 1


def same(a, b):
    """Equal structures, dtypes, weakness and values."""
    assert rb.tree.structure(a) == rb.tree.structure(b)
    for p, q in zip(rb.tree.leaves(a), rb.tree.leaves(b)):
        assert rb.typeof(p) is rb.typeof(q)
        np.testing.assert_allclose(p, q, rtol=1e-6)


# ------------------------------------------------------------------------------------------------ laws
@pytest.mark.parametrize("value", [1, 1.5, True, np.float32(2), np.int32(3), X, X.astype("f8")], ids=repr)
def test_it_returns_what_the_function_returns(value):
    same(rb.jit(arithmetic)(value), arithmetic(rb.device_put(value)))


def test_the_second_call_returns_the_same():
    f = rb.jit(arithmetic)
    first, second, third = f(X), f(X), f(rb.device_put(X))
    same(first, second)
    same(first, third)


@pytest.mark.parametrize(
    "tree",
    [
        None, (), [], {}, (None, 1.0), [1, (2.0, None)], {"b": X, "a": (1, X)}, Point(1.0, X), Model(X, 2),
        collections.OrderedDict(b=1, a=2), collections.defaultdict(list, k=[X, 1]),
    ],
    ids=lambda tree: type(tree).__name__,
)  # fmt: skip
def test_pytrees_go_in_and_come_out(tree):
    out = rb.jit(lambda t: t)(tree)
    assert type(out) is type(tree)
    same(out, rb.tree.map(rb.device_put, tree))


def test_keyword_arguments_and_defaults():
    f = rb.jit(lambda x, y=2.0, *, z=3.0: x + 10 * y + 100 * z)
    assert f(1.0) == 321.0
    assert f(1.0, 3.0) == f(1.0, y=3.0) == f(y=3.0, x=1.0) == 331.0
    assert f(1.0, z=4.0) == 421.0


def test_variadic_functions():
    f = rb.jit(lambda *args, **kwargs: sum(args) + sum(kwargs.values()))
    assert f(1, 2, 3, a=4, b=5) == 15
    assert f(1) == 1


def test_a_function_without_arguments():
    f = rb.jit(lambda: lax.full((2,), 7.0))
    assert f().tolist() == f().tolist() == [7.0, 7.0]


def test_a_function_without_results():
    assert rb.jit(lambda x: None)(X) is None
    assert rb.jit(lambda: ())() == ()


def test_outputs_that_are_inputs():
    x = rb.device_put(X)
    a, b, c = rb.jit(lambda x: (x, x + 1, x))(x)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, X + 1)
    np.testing.assert_array_equal(c, X)
    assert not x.is_deleted()


def test_outputs_that_are_constants():
    host = np.ones((2, 2), "f4")
    held = rb.device_put(host)
    outs = rb.jit(lambda x: (1, 2.5, True, host, held, np.int32(4)))(X)
    same(outs, (1, 2.5, True, held, held, rb.device_put(np.int32(4))))


def test_zero_size_arrays():
    empty = np.zeros((0, 3), "f4")
    out = rb.jit(lambda x: (x + 1, lax.reduce_sum(x, axes=(0,))))(empty)
    assert out[0].shape == (0, 3)
    assert out[1].tolist() == [0, 0, 0]


@pytest.mark.forbidden("disable_jit")
def test_weak_types_survive():
    f = rb.jit(lambda x: x + 1)
    assert f(1.0).weak_type and not f(np.float32(1)).weak_type
    assert (f(1.0) + np.ones(2, "f2")).dtype == np.float16


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_an_explicit_double_stays_one():
    x = lax.full((3,), 1, "float64")
    assert rb.jit(lambda x: x * 2)(x).dtype == np.float64


# ----------------------------------------------------------------------------------- decorators, methods
def test_as_a_decorator_with_options():
    @functools.partial(rb.jit, static_argnums=1)
    def power(x, n):
        return x**n

    @rb.jit(static_argnames="n")
    def again(x, n):
        return x**n

    assert power(3, 2) == again(3, n=2) == 9


def test_it_keeps_the_name_and_docstring():
    @rb.jit
    def documented(x):
        """What it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "What it does."
    assert documented.__wrapped__(3) == 3
    assert "documented" in repr(documented)


class Scaled:
    def __init__(self, factor):
        self.factor = factor
        self.traced = 0

    @functools.partial(rb.jit, static_argnums=0)
    def static_self(self, x):
        self.traced += 1
        return x * self.factor

    @staticmethod
    @rb.jit
    def static_method(x):
        return x + 1

    @classmethod
    @functools.partial(rb.jit, static_argnums=0)
    def class_method(cls, x):
        return x + len(cls.__name__)


@pytest.mark.forbidden("disable_jit")
def test_a_method_with_a_static_self():
    two, three = Scaled(2), Scaled(3)
    assert two.static_self(5.0) == 10 and three.static_self(5.0) == 15 and two.static_self(6.0) == 12
    assert two.traced == three.traced == 1


def test_static_and_class_methods():
    assert Scaled.static_method(1) == Scaled(2).static_method(1) == 2
    assert Scaled.class_method(1) == 7


def test_a_bound_method_given_to_jit():
    two = Scaled(2)
    two.plain = lambda x: x * two.factor
    assert rb.jit(two.plain)(4.0) == 8


def test_a_method_whose_self_is_a_pytree():
    @dataclasses.dataclass
    class Layer:
        weight: object

        @rb.jit
        def __call__(self, x):
            return x * self.weight

    rb.tree.register_dataclass_node(Layer, ["weight"], [])
    assert Layer(2.0)(3.0) == 6
    assert Layer(rb.device_put(4.0))(3.0) == 12


def test_callables_of_all_sorts():
    class Adder:
        def __call__(self, x):
            return x + 1

    assert rb.jit(Adder())(1) == 2
    assert rb.jit(functools.partial(lambda a, b: a - b, 10))(3) == 7
    assert rb.jit(functools.partial(lambda a, b: a - b, b=10))(3) == -7
    assert rb.jit(lax.neg)(2.0) == -2


# --------------------------------------------------------------------------------------------- nesting
def test_jit_of_jit():
    inner = rb.jit(lambda x, y: (x + y, x * y))
    f = rb.jit(lambda x: inner(x, 2.0)[1] + inner(x, 3.0)[0])
    assert f(4.0) == 8 + 7


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_shared_inner_function_is_traced_once():
    traced = []

    @rb.jit
    def inner(x):
        traced.append(x)
        return x * 2

    rb.jit(lambda x: inner(x) + inner(x + 1))(1.0)
    assert len(traced) == 1


def test_recursion():
    @functools.partial(rb.jit, static_argnums=1)
    def factorial(x, n):
        return x if n == 0 else n * factorial(x, n - 1)

    assert factorial(1, 5) == 120


def test_a_closure_over_an_array_is_a_hidden_argument():
    big = rb.device_put(np.arange(1000, dtype="f4"))
    f = rb.jit(lambda x: x + big)
    text = f.lower(1.0).as_text()
    assert "tensor<1000xf32>" in text
    assert "dense" not in text
    np.testing.assert_array_equal(f(1.0), np.arange(1000) + 1)
    np.testing.assert_array_equal(f(1.0), np.arange(1000) + 1)


@pytest.mark.forbidden("disable_jit")
def test_a_captured_numpy_array_is_what_it_was_when_traced():
    held = np.ones(3, "f4")
    f = rb.jit(lambda x: x + held)
    assert f(1.0).tolist() == [2, 2, 2]
    held[:] = 5
    assert f(1.0).tolist() == [2, 2, 2]
    assert rb.jit(lambda x: f(x))(1.0).tolist() == [2, 2, 2]


def test_a_closure_over_a_tracer_of_an_outer_jit():
    @rb.jit
    def outer(x, y):
        inner = rb.jit(lambda z: z * x + y)
        return inner(2.0) + rb.jit(lambda: x)()

    assert outer(3.0, 4.0) == 6 + 4 + 3
    assert outer(5.0, 4.0) == 10 + 4 + 5


@pytest.mark.forbidden("check_tracer_leaks")
def test_one_jitted_closure_used_at_two_levels_does_not_leak():
    held = {}

    @rb.jit
    def inner(z):
        return z + held["x"]

    @rb.jit
    def outer(x):
        held["x"] = x
        return inner(1.0)

    assert outer(1.0) == 2
    held["x"] = 10.0
    assert inner(1.0) == 11


@pytest.mark.forbidden("disable_jit")
def test_inline_leaves_no_call():
    inner = rb.jit(lambda x: x * 2, inline=True)
    kept = rb.jit(lambda x: x * 2)
    names = [e.primitive.name for e in rb.make_jaxpr(lambda x: inner(x) + kept(x))(1.0).eqns]
    assert names == ["mul", "jit", "add"]


# -------------------------------------------------------------------------------------------- settings
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_disable_jit_runs_python_each_time():
    seen = []

    @rb.jit
    def f(x):
        seen.append(x)
        return x + 1 if x > 0 else x

    with rb.disable_jit():
        assert f(1.0) == 2.0
        assert f(1.0) == 2.0
    assert seen == [1.0, 1.0]
    g = rb.jit(lambda x: seen.append(x) or x)
    x = rb.device_put(1.0)
    g(x), g(x)
    assert len(seen) == 3
    with rb.disable_jit():
        g(x), g(x)
    assert len(seen) == 5


@pytest.mark.forbidden("disable_jit")
def test_a_device_on_which_to_run():
    (device, *_) = rb.devices("cpu")
    out = rb.jit(lambda x: x + 1, device=device)(X)
    assert out.devices() == {device}
    assert out.committed


@pytest.mark.forbidden("debug_nans", "disable_jit")
def test_looking_for_nans_takes_effect_on_programs_compiled_before():
    f = rb.jit(lambda x: lax.log(x))
    x = rb.device_put(np.float32(-1))
    assert np.isnan(f(x))
    with rb.debug_nans(), pytest.raises(FloatingPointError, match=r"'log' produced a NaN.*in '<lambda>'"):
        f(x)
    with rb.debug_infs(), pytest.raises(FloatingPointError, match="infinity"):
        f(np.float32(0))
    assert np.isnan(f(x))


# --------------------------------------------------------------------------------------------- threads
def test_threads_share_one_jitted_function():
    f = rb.jit(lambda x: lax.reduce_sum(x * x, axes=(0,)))
    failures = []

    def work(seed):
        for n in range(1, 12):
            x = np.full(n, seed, "f4")
            if f(x) != seed * seed * n:
                failures.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_threads_trace_apart():
    """A thread that is in the middle of tracing does not turn another thread's values into its own."""
    inside, done = threading.Event(), threading.Event()

    def f(x):
        inside.set()
        assert done.wait(10)
        return x + 1

    result = []
    thread = threading.Thread(target=lambda: result.append(rb.jit(f)(1.0)))
    thread.start()
    assert inside.wait(10)
    assert float(lax.add(2.0, 3.0)) == 5.0
    done.set()
    thread.join()
    assert result[0] == 2.0


@pytest.mark.forbidden("disable_jit")
def test_a_platform_on_which_to_run():
    assert rb.jit(lambda x: x + 1, backend="cpu")(X).devices() == {rb.devices("cpu")[0]}
    with pytest.raises(Exception, match="abacus"):
        rb.jit(lambda x: x + 1, backend="abacus")


def test_options_that_nothing_stands_behind_are_refused():
    with pytest.raises(TypeError, match=r"jit: in_shardings must be a Device .* or a Sharding"):
        rb.jit(lambda x: x, in_shardings=("rows",))


@pytest.mark.forbidden("disable_jit")
def test_shardings_name_the_device():
    sharding = rb.device_put(1.0).sharding
    twice = rb.jit(lambda x, y: lax.add(x, y), in_shardings=(sharding, None), out_shardings=sharding)
    assert np.asarray(twice(X, X)).tolist() == (X + X).tolist() and twice(X, X).committed
    lowered = rb.jit(lax.neg).trace(X).lower(lowering_platforms=(rb.default_backend(),))
    assert lowered.compile(device_assignment=(rb.devices()[0],))(X).tolist() == (-X).tolist()
    with pytest.raises(NotImplementedError, match="compile: a program runs on one device"):
        lowered.compile(device_assignment=())
    assert lowered.compile(device=sharding, device_assignment=rb.devices()[0])(X).tolist() == (-X).tolist()
    with pytest.raises(TypeError, match="device_assignment must be a Device"):
        lowered.compile(device_assignment=(3,))
    assert rb.jit(lax.neg, device=sharding, in_shardings=sharding)(X).committed
    with pytest.raises(TypeError, match="device must be a Device"):
        rb.jit(lax.neg, device=3)
    with pytest.raises(TypeError, match="platforms or lowering_platforms, which mean the same, not both"):
        rb.jit(lax.neg).trace(X).lower(platforms=("cpu",), lowering_platforms=("cpu",))
    with pytest.raises(TypeError, match=r"jit: out_shardings must be a Device .* or a Sharding"):
        rb.jit(lax.neg, out_shardings="everywhere")
    with pytest.raises(NotImplementedError, match="ShapeDtypeStruct: is_ref is not supported"):
        rb.ShapeDtypeStruct((), "float32", is_ref=True)


def test_programs_of_ever_new_types_are_not_all_kept(monkeypatch):
    monkeypatch.setattr("rabbet_jit.api.MOST_TRACED", 4)
    f = rb.jit(lax.neg)
    for size in range(20):
        assert rb.eval_shape(f, rb.ShapeDtypeStruct((size,), "float32")).shape == (size,)
    assert 0 < len(f.jitted.programs) <= 4


@pytest.mark.forbidden("disable_jit")
def test_compiler_options_of_a_function_within_another_one_are_refused():
    inner = rb.jit(lambda x: x * 2, compiler_options={"xla_embed_ir_in_executable": True})
    assert inner(1.0) == 2
    with pytest.raises(ValueError, match=r"compiler_options.*within another compiled function"):
        rb.jit(lambda x: inner(x + 1))(1.0)


@pytest.mark.forbidden("disable_jit")
def test_shardings_that_all_name_one_device_are_part_of_what_a_function_says():
    here = rb.device_put(1.0).sharding
    assert rb.jit(lambda x: x * 2, out_shardings=here).eval_shape(1.0).sharding == here
    f = rb.jit(lambda x: x, out_shardings={"a": [None, None], "b": (None, None)})
    with pytest.raises(ValueError, match="out_shardings"):
        f({"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="in_shardings"):
        rb.jit(lambda x: x, in_shardings=({"a": here},))({"b": 1.0})


@pytest.mark.forbidden("disable_jit")
def test_arguments_that_go_to_the_device_of_a_function_are_transfers():
    """They are copied since an operation needs them there; nobody asked for a copy."""
    code = (
        "import rabbet as rb, numpy as np\n"
        "x, there = rb.device_put(np.float32(1)), rb.device_put(1.0, rb.devices()[1]).sharding\n"
        "f = rb.jit(lambda a: a * 2, in_shardings=there)\n"
        "assert f(x) == 2\n"
        "with rb.config.override(transfer_guard_device_to_device='disallow'):\n"
        "    try:\n        f(x)\n"
        "    except rb.errors.TransferError:\n        pass\n"
        "    else:\n        raise AssertionError('copied')\n"
    )
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": "2", "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
