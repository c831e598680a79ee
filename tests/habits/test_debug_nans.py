"""``debug_nans``: the first operation whose result is no number is named, with its line, in programs too."""

import inspect

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


def test_the_first_operation_is_not_a_constant():
    def f(x):
        return rnp.where(x > 5, rnp.nan, rnp.log(x))

    with rb.debug_nans(True), pytest.raises(FloatingPointError, match="'log' produced a NaN"):
        rb.jit(f)(rnp.array([-1.0, 1.0]))
