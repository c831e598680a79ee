"""Effects under every transformation: callbacks happen as often and in the order that the program says."""

import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap")]

F = rb.ShapeDtypeStruct((), "float32")
BOOL = rb.ShapeDtypeStruct((), "bool")
XS = np.arange(3.0, dtype="f4")
eagerly = lambda f: f


def noting(seen, ordered=True):
    """``note(x)`` inside a program appends its value to ``seen``; ``note(x, label)`` a pair."""

    def note(x, *label):
        rb.io_callback(
            lambda v: seen.append((*label, v.item()) if label else v.item()), None, x, ordered=ordered
        )

    return note


# --------------------------------------------------------------------------------------------------- order
@pytest.mark.parametrize("under", [eagerly, rb.jit, lambda f: rb.jit(rb.jit(f))])
def test_the_order_is_kept_through_loops_branches_and_calls(under):
    seen = []
    note = noting(seen)

    @rb.jit
    def inner(c):
        note(c, "call")
        return c + 1

    def program(x):
        def step(c, _):
            note(c)
            lax.cond(c % 2 == 0, lambda v: note(v, "even"), lambda v: None, c)
            return inner(c), None

        c, _ = lax.scan(step, x, length=5)
        note(c, "end")
        return c

    assert under(program)(0) == 5
    expected = []
    for i in range(5):
        expected += [i, *([("even", i)] if i % 2 == 0 else []), ("call", i)]
    assert seen == [*expected, ("end", 5)]


def test_the_condition_of_a_loop_may_have_ordered_effects():
    seen = []

    def below(c):
        return rb.io_callback(lambda v: (seen.append(v.item()), np.bool_(v < 2))[1], BOOL, c, ordered=True)

    assert rb.jit(lambda x: lax.while_loop(below, lambda c: c + 1, x))(0) == 2
    assert seen == [0, 1, 2]


def test_two_kinds_of_ordered_effects_in_one_loop(capsys):
    seen = []
    note = noting(seen)

    def step(i, c):
        note(i)
        rb.debug.print("step {}", i, ordered=True)
        return c * 2.0

    assert rb.jit(lambda x: lax.fori_loop(0, 3, step, x))(1.0) == 8.0
    assert seen == [0, 1, 2]
    assert capsys.readouterr().out == "step 0\nstep 1\nstep 2\n"


def test_programs_with_an_ordered_effect_run_one_after_the_other():
    seen = []
    first = rb.jit(lambda i: noting(seen)(i))
    second = rb.jit(lambda i: noting(seen)(i))
    for i in range(6):
        (first if i % 2 else second)(i)
    rb.effects_barrier()
    assert seen == list(range(6))


def test_a_loop_without_results_is_kept_for_its_effect():
    seen = []

    @rb.jit
    def program(x):
        lax.scan(lambda c, i: (c, noting(seen)(i)), None, x)
        return x

    program(XS)
    assert seen == [0.0, 1.0, 2.0]


def test_effects_in_a_function_that_is_called_in_no_order_are_refused():
    def combine(a, b):
        rb.io_callback(lambda v: None, None, a, ordered=True)
        return a + b

    for f in (
        lambda x: lax.reduce(x, np.float32(0), combine, (0,)),
        lambda x: lax.reduce_window(x, np.float32(0), combine, (2,), (1,), "VALID"),
    ):
        with pytest.raises(TypeError, match=r"(?s)combine \(.*test_effects.*has effects \(ordered io\)"):
            f(XS)


# -------------------------------------------------------------------------------------------- exceptions
class Boom(Exception):
    pass


def waited_for(out):
    """On devices that compute while Python goes on, failures arrive where somebody waits."""
    rb.block_until_ready(out)
    rb.effects_barrier()


@pytest.mark.parametrize("under", [eagerly, rb.jit, rb.vmap, lambda f: rb.jit(rb.vmap(f))])
@pytest.mark.parametrize("kind", ["pure", "io", "debug"])
def test_an_exception_arrives_as_the_object_that_it_was(under, kind):
    cause = ValueError("the cause")
    boom = Boom("in the callback")

    def failing(x):
        raise boom from cause

    def program(x):
        if kind == "pure":
            return rb.pure_callback(failing, F, x, vmap_method="sequential")
        if kind == "io":
            return rb.io_callback(failing, F, x)
        rb.debug.callback(failing, x)
        return x

    with pytest.raises(Boom) as caught:
        waited_for(under(program)(XS if under not in (eagerly, rb.jit) else 1.0))
    assert caught.value is boom
    assert boom.__cause__ is cause
    names = [entry.name for entry in caught.traceback]
    assert names[0].startswith("test_an_exception") and names[-1] == "failing"


def test_an_interrupt_travels_too():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waited_for(rb.jit(lambda x: rb.pure_callback(interrupted, F, x))(1.0))


def test_after_an_exception_the_program_runs_again():
    fail = [True]

    def sometimes(x):
        if fail.pop() if fail else False:
            raise Boom
        return np.float32(x + 1)

    f = rb.jit(lambda x: rb.io_callback(sometimes, F, x, ordered=True))
    with pytest.raises(Boom):
        waited_for(f(1.0))
    assert f(1.0) == 2.0


# -------------------------------------------------------------------------------------- many at a time
def test_many_threads():
    seen = []
    f = rb.jit(lambda x: rb.io_callback(lambda v: (seen.append(v.item()), np.asarray(v) * 2)[1], F, x))
    g = rb.jit(lambda x: rb.io_callback(lambda v: seen.append(v.item()), None, x, ordered=True))
    results = {}

    def work(k):
        out = []
        for i in range(25):
            out.append(float(f(float(100 * k + i))))
            g(float(-(100 * k + i)))
        results[k] = out

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    rb.effects_barrier()
    for k, out in results.items():
        numbers = [100 * k + i for i in range(25)]
        assert out == [2.0 * n for n in numbers]
        mine = [s for s in seen if 100 * k <= abs(s) < 100 * k + 100]
        assert mine == [s for n in numbers for s in (float(n), float(-n))]


def test_a_callback_may_call_compiled_functions_and_transformations():
    square = rb.jit(lambda x: x * x)

    def host(x):
        return np.asarray(rb.vmap(rb.grad(square))(x)) + square(x)

    f = lambda x: rb.pure_callback(host, rb.ShapeDtypeStruct(x.shape, x.dtype), x)
    np.testing.assert_allclose(rb.jit(f)(XS), 2 * XS + XS**2)
    seen = []
    nested = rb.jit(lambda x: rb.io_callback(lambda v: noting(seen)(v + 10), None, x, ordered=True))
    outer = rb.jit(lambda x: rb.io_callback(lambda v: nested(v), None, x, ordered=True))
    outer(1)
    assert seen == [11]


# ------------------------------------------------------------------------------------------------- vmap
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_vmap_methods(method, compiled):
    shapes = []

    def host(x, y):
        shapes.append((x.shape, y.shape))
        return np.asarray(x) * np.asarray(y) + np.float32(1)

    def f(x, y):
        return rb.pure_callback(host, F, x, y, vmap_method=method)

    mapped = rb.vmap(f, in_axes=(0, None))
    out = (rb.jit(mapped) if compiled else mapped)(XS, np.float32(2))
    np.testing.assert_array_equal(out, XS * 2 + 1)
    expected = {
        "expand_dims": [((3,), (1,))], "broadcast_all": [((3,), (3,))], "legacy_vectorized": [((3,), ())],
    }  # fmt: skip
    assert shapes == expected.get(method, [((), ())] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_vmap_methods_nested_and_along_other_axes(method):
    def host(x, y):
        return np.sum(np.asarray(x), axis=-1) + np.asarray(y)

    def f(x, y):
        return rb.pure_callback(host, F, x, y, vmap_method=method)

    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    y = np.arange(6, dtype="f4").reshape(2, 3)
    # The vectors to sum lie along the first axis, after the batches of both vmaps.
    out = rb.vmap(rb.vmap(f, in_axes=(1, 0)), in_axes=(1, 0))(np.moveaxis(x, 2, 0), y)
    np.testing.assert_allclose(out, x.sum(-1) + y)


def test_vmap_of_nobody():
    f = lambda x: rb.pure_callback(lambda v: v, F, x, vmap_method="sequential")
    assert rb.vmap(f)(np.zeros(0, "f4")).shape == (0,)


def test_vmap_calls_once_per_example_and_once_for_what_is_not_mapped():
    seen = []
    note, note_in_order = noting(seen, ordered=False), noting(seen)
    for under in (eagerly, rb.jit):
        under(rb.vmap(lambda x: note(x)))(XS)
        assert sorted(seen) == [0.0, 1.0, 2.0]
        seen.clear()
        under(rb.vmap(lambda x, y: (note_in_order(y), x)[1], in_axes=(0, None)))(XS, 7.0)
        assert seen == [7.0]
        seen.clear()


def test_what_vmap_refuses():
    with pytest.raises(MissingRule, match=r"(?s)host.*vmap_method: 'sequential'"):
        rb.vmap(lambda x: rb.pure_callback(host, F, x))(XS)
    with pytest.raises(MissingRule, match=r"(?s)ordered, and the examples.*no order.*lax.map"):
        rb.vmap(lambda x: rb.io_callback(host, F, x, ordered=True))(XS)
    with pytest.raises(TypeError, match=r"(?s)cond at .*test_effects.*effects \(io\).*lax.map"):
        rb.vmap(lambda x: lax.cond(x > 0, lambda: rb.io_callback(host, F, x), lambda: x))(XS)
    with pytest.raises(TypeError, match=r"while .*effects \(io\)"):
        rb.vmap(lambda x: lax.while_loop(lambda c: c < 2, lambda c: rb.io_callback(host, F, c), x))(XS)
    with pytest.raises(ValueError, match=r"vmap_method is one of 'sequential'.*got 'parallel'"):
        rb.pure_callback(host, F, 1.0, vmap_method="parallel")


def host(x):
    return np.asarray(x) + np.float32(1)


def test_looking_on_in_a_branch_that_became_a_selection_is_allowed(capsys):
    rb.vmap(lambda x: lax.cond(x > 0, lambda v: rb.debug.print("{}", v), lambda v: None, x))(XS)
    assert capsys.readouterr().out == "0.0\n1.0\n2.0\n"


# ------------------------------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("under", [eagerly, rb.jit])
def test_reverse_mode_keeps_what_happens_in_calls_branches_and_loops(under):
    seen, shown = [], []
    note = noting(seen)

    def f(x):
        rb.jit(lambda y: note(y, "call"))(lax.stop_gradient(x))
        rb.debug.callback(lambda v: shown.append(v.item()), x, ordered=True)
        lax.cond(x > 0, lambda v: note(lax.stop_gradient(v), "branch"), lambda v: None, x)
        lax.scan(lambda c, i: (c, note(i, "step")), None, np.arange(2))

        def step(c, i):
            rb.debug.callback(lambda v: shown.append(v.item()), c, ordered=True)
            return c * x, None

        return lax.scan(step, x, np.arange(2))[0]

    assert under(rb.grad(f))(2.0) == 12.0
    assert seen == [("call", 2.0), ("branch", 2.0), ("step", 0), ("step", 1)]
    assert shown == [2.0, 2.0, 4.0]


def test_a_callback_with_a_derivative_of_its_own():
    @rb.custom_jvp
    def sine(x):
        return rb.pure_callback(lambda v: np.sin(np.asarray(v)), F, x, vmap_method="sequential")

    sine.defjvp(lambda primals, tangents: (sine(*primals), lax.cos(primals[0]) * tangents[0]))
    assert float(rb.jit(rb.grad(sine))(1.0)) == pytest.approx(np.cos(1.0), rel=1e-6)
    np.testing.assert_allclose(rb.vmap(rb.grad(sine))(XS), np.cos(XS), rtol=1e-6)


@pytest.mark.parametrize("call", [rb.pure_callback, rb.io_callback])
def test_a_derivative_that_nobody_knows(call):
    for transformation in (rb.grad, lambda f: lambda x: rb.jvp(f, (x,), (x,))):
        with pytest.raises(MissingRule, match=r"(?s)test_effects.*rb.custom_jvp.*stop_gradient"):
            transformation(lambda x: call(host, F, x))(1.0)


def test_effects_on_tangents_that_reverse_mode_never_has():
    with pytest.raises(TypeError, match=r"(?s)debug_callback, at .*on a tangent.*forwards"):
        rb.linear_transpose(lambda x: (rb.debug.print("{}", x), x)[1], 1.0)(1.0)

    @rb.custom_jvp
    def f(x):
        return x

    def tell(primals, tangents):
        rb.debug.callback(lambda t: seen.append(t.item()), tangents[0])
        return primals[0], tangents[0]

    f.defjvp(tell)
    seen = []
    rb.jvp(f, (1.0,), (3.0,))
    assert seen == [3.0]
    with pytest.raises(TypeError, match="on a tangent"):
        rb.grad(lambda x: rb.jit(f)(x))(1.0)


def test_what_is_computed_again_does_not_happen_again():
    if not hasattr(rb, "checkpoint"):
        pytest.skip("no checkpoint")
    seen = []

    def f(x):
        y = rb.io_callback(lambda v: (seen.append(v.item()), host(v))[1], F, lax.stop_gradient(x))
        return y * lax.sin(x)

    value = rb.jit(rb.grad(rb.checkpoint(f)))(2.0)
    assert float(value) == pytest.approx(3 * np.cos(2.0), rel=1e-6)
    assert seen == [2.0]


# -------------------------------------------------------------------------------------------- strangers
def test_a_strangers_transformation_lets_effects_on_plain_values_happen_and_shows_its_payloads(capsys):
    from rabbet.extend.transform import Interpreter, RuleTable, run

    rules = RuleTable("bounds_of_test_effects")

    class Bounds(Interpreter):
        table = rules
        lift = staticmethod(lambda value: (value, value))
        type_of = staticmethod(lambda pair: rb.typeof(pair[0]))

    def f(x):
        rb.debug.print("plain {}", 1.5)
        rb.debug.print("{} and {y:.1f}", x, y=2.0)
        rb.jit(lambda v: rb.debug.print("inside {}", v))(x)
        return x

    run(Bounds(), f, [(1.0, 2.0)])
    assert capsys.readouterr().out.splitlines() == [
        "plain 1.5",
        "(Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)) and 2.0",
        "inside (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))",
    ]
    with pytest.raises(MissingRule, match=r"(?s)'bounds_of_test_effects' rule for primitive 'io_callback'"):
        run(Bounds(), lambda x: rb.io_callback(host, F, x), [(1.0, 2.0)])

    class Middle(Bounds):
        observed = staticmethod(lambda pair: (pair[0] + pair[1]) / 2)

    run(Middle(), lambda x: rb.debug.print("{:.1f}", x), [(1.0, 2.0)])
    assert capsys.readouterr().out == "1.5\n"
