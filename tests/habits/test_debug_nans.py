"""``debug_nans``: the first operation whose result is no number is named, with its line, in programs too."""

import inspect

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def logarithm(x):
    y = x * 2
    return rnp.log(y) + 1  # here


def loop(x):
    return lax.fori_loop(0, 3, lambda i, c: rnp.log(c - 1.0), x)  # here


def scanned(x):
    return lax.scan(lambda c, a: (rnp.log(c + a), a), x, rnp.arange(3.0), reverse=True)[0]  # here


def branch(x):
    return lax.cond(x < 0, lambda x: rnp.log(x), lambda x: x, x)  # here


def endless(x):
    return lax.while_loop(lambda c: c > -3, lambda c: rnp.log(c) - 1, x)  # here


@rb.custom_jvp
def ruled(x):
    return rnp.log(x)  # here


ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0] / primals[0]))


def line_of(function):
    lines, first = inspect.getsourcelines(getattr(function, "fun", function))
    return first + next(i for i, line in enumerate(lines) if "# here" in line)


PROGRAMS = {
    "jit": (logarithm, rb.jit(logarithm), -1.0),
    "jit within jit": (logarithm, rb.jit(lambda x: rb.jit(logarithm)(x) * 3), -1.0),
    "vmap": (logarithm, rb.jit(rb.vmap(logarithm)), rnp.array([1.0, -1.0])),
    "checkpoint": (logarithm, rb.jit(rb.checkpoint(logarithm)), -1.0),
    "fori_loop": (loop, rb.jit(loop), 1.5),
    "scan": (scanned, rb.jit(scanned), -1.5),
    "cond": (branch, rb.jit(branch), -1.0),
    "cond at once": (branch, branch, -1.0),
    "while_loop": (endless, rb.jit(endless), 2.0),
    "custom_jvp": (ruled, rb.jit(lambda x: ruled(x)), -1.0),
}


@pytest.mark.parametrize("which", PROGRAMS)
def test_the_first_operation_and_its_line(which):
    source, run, x = PROGRAMS[which]
    with rb.debug_nans(True):
        with pytest.raises(FloatingPointError, match=r"'log' produced a NaN") as caught:
            run(x)
        assert f"test_debug_nans.py:{line_of(source)}" in str(caught.value)


def test_infinities():
    with rb.debug_infs(True), pytest.raises(FloatingPointError, match=r"'div' produced an infinity.*py:\d+"):
        rb.jit(lambda x: 1 / x + 1)(0.0)


def test_what_cannot_run_again_names_the_program():
    with rb.debug_nans(True):
        with pytest.raises(FloatingPointError, match="'gone' produced a NaN"):
            named_gone(rnp.array([-1.0]))
        seen = []

        def telling(x):
            rb.debug.callback(seen.append, x)
            return rnp.log(x)

        with pytest.raises(FloatingPointError, match="'telling' produced a NaN"):
            rb.jit(telling)(-1.0)
        rb.effects_barrier()
        assert len(seen) == 1


def gone(x):
    return rnp.log(x) * 2


named_gone = rb.jit(gone, donate_argnums=0)


def test_numbers_pass():
    with rb.debug_nans(True):
        assert float(rb.jit(logarithm)(0.5)) == 1.0


def test_constants_that_are_not_chosen_are_no_alarm():
    """Distributions have a NaN for what is not a parameter; without jit it is an array of its own."""
    from rabbet.scipy import stats

    with rb.debug_nans(True), rb.disable_jit():
        assert float(stats.norm.logpdf(0.5)) == pytest.approx(-1.0439385)
        assert float(stats.gamma.pdf(0.5, 2.0)) == pytest.approx(0.3032653)
        for name, shapes in (("gamma", (2.0,)), ("beta", (1.0, 2.0)), ("t", (3.0,)), ("binomial", (5, 0.5))):
            getattr(rb.random, name)(rb.random.key(0), *shapes)
        with pytest.raises(FloatingPointError, match="'select_n' produced a NaN"):
            stats.norm.logpdf(0.5, 0.0, -1.0)


def test_what_passes_unchanged_is_no_alarm():
    """A bound that is none, and a number that stands for one that is missing, are the user's own."""
    with rb.debug_nans(True), rb.debug_infs(True):
        bounds = rb.lax.stop_gradient(rb.device_put(np.array([0.0, np.inf, np.nan], "float32")))
        assert float(bounds[0]) == 0.0
        assert rb.jit(rb.lax.stop_gradient)(bounds) is not None
        with pytest.raises(FloatingPointError, match="'mul' produced"):
            rb.lax.stop_gradient(bounds) * 2


def test_the_first_operation_is_not_a_constant():
    def f(x):
        return rnp.where(x > 5, rnp.nan, rnp.log(x))

    with rb.debug_nans(True), pytest.raises(FloatingPointError, match="'log' produced a NaN"):
        rb.jit(f)(rnp.array([-1.0, 1.0]))


# What stands in between in the library's own work is no alarm ----------------------------------------


@rb.custom_jvp
def with_a_careless_rule(x):
    return x * 2


@with_a_careless_rule.defjvp
def careless(primals, tangents):
    (x,), (t,) = primals, tangents
    return with_a_careless_rule(x), rnp.where(x > 5, rnp.log(x - 1), 2.0) * t


def top_projector(a):
    v = rnp.linalg.eigh(a)[1]
    return (v[:, -1:] @ v[:, -1:].T)[0, 1]


def of_eigenvector(a):
    return rnp.linalg.eigh(a)[1][:, 0].sum()


EQUAL = rnp.diag(rnp.array([4.0, 1.0, 1.0]))
SIDE_BY_SIDE = rnp.array([0.0, 2.0])
FINITE = {
    "projector": (rb.grad(top_projector), EQUAL),
    "projector, forward": (lambda a: rb.jvp(top_projector, (a,), (a + 1,))[1], EQUAL),
    "projector, mapped": (rb.vmap(rb.grad(top_projector)), EQUAL[None]),
    "logaddexp": (rb.grad(lambda x: rnp.logaddexp(x, -rnp.inf)), 0.0),
    "norm": (rb.hessian(lambda x: rnp.linalg.norm(x) ** 2), rnp.zeros(2)),
    "sinc": (rb.vmap(rb.grad(rnp.sinc)), SIDE_BY_SIDE),
}
NOT_FINITE = {
    "sqrt, forward": (lambda x: rb.jvp(rnp.sqrt, (x,), (x,)), 0.0),
    "sqrt, both": (lambda x: rb.jacfwd(rb.grad(lambda x: rnp.sqrt(x) * x))(x), 0.0),
    "sqrt, pushed": (lambda x: rb.linearize(rnp.sqrt, x)[1](x), 0.0),
    "where": (rb.grad(lambda x: rnp.where(x > 0, rnp.sqrt(x), 0.0)), 0.0),
    "eigenvector": (rb.grad(of_eigenvector), EQUAL),
    "operator": (rb.grad(lambda x: x / x), 0.0),
    "mapped": (rb.vmap(lambda x: x / x), SIDE_BY_SIDE),
    "a rule of the user's": (rb.grad(with_a_careless_rule), 0.0),
}
WAYS = {"eager": {}, "disable_jit": {"disable_jit": True}, "x64": {"enable_x64": True}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("which", FINITE)
def test_values_within_rules_and_library_functions_are_no_alarm(which, way):
    run, x = FINITE[which]
    with rb.config.override(**WAYS[way]):
        expected = rb.tree.leaves(run(x))
        with rb.debug_nans(True), rb.debug_infs(True):
            for got, value in zip(rb.tree.leaves(run(x)), expected, strict=True):
                assert rnp.array_equal(got, value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("which", NOT_FINITE)
def test_what_the_user_gets_or_computes_is_an_alarm(which, way):
    run, x = NOT_FINITE[which]
    alarm = pytest.raises(FloatingPointError, match="produced a NaN")
    with rb.config.override(**WAYS[way]), rb.debug_nans(True), alarm:
        run(x)


def test_a_tangent_that_is_not_finite_is_named_with_its_line():
    run, x = NOT_FINITE["sqrt, forward"]
    said = r"rule for 'sqrt', at .*test_debug_nans"
    with rb.debug_nans(True), pytest.raises(FloatingPointError, match=said):
        run(x)


def test_a_function_of_the_user_is_checked_also_where_the_library_runs_again():
    calls = []

    def body(c, x):
        calls.append(1)
        return c, rnp.log(x)

    with rb.debug_nans(True), rb.disable_jit(), pytest.raises(FloatingPointError, match="'log' produced"):
        lax.scan(body, 0.0, rnp.array([1.0, -1.0]))
    assert len(calls) == 2
