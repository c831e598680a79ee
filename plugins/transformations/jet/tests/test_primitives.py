"""Every primitive of the conformance table along a random curve, against nested forward mode."""

import pytest
from rabbet import lax
from rabbet.experimental.jet import jet
from rabbet.testing import checks, laws, rows
from rabbet.testing.draws import device_array
from rabbet.testing.driver import CORE
from rabbet.testing.suite import each

ROWS = [row for family in rows.families().values() for row in family if row.orders]
# One row for each primitive tries its rule; other parameters seldom matter to it.
FIRST = list({row.primitive: row for row in reversed(ROWS)}.values())[::-1]
OTHERS = [row for row in ROWS if row not in FIRST]


def nested(fn, xs, series):
    """All derivatives of ``fn`` along the curve through ``xs`` with the derivatives ``series``: by orders,
    each of all results.
    """

    def at(t):
        return fn(*[along(x, terms, t) for x, terms in zip(xs, series, strict=True)])

    results = len(fn(*xs))
    for _ in series[0]:
        at = with_derivative(at, results)
    return at(lax.full((), 0, xs[0].dtype))


def along(x, terms, t):
    """``x + terms[0] t + terms[1] t^2 / 2 + ...`` by Horner's scheme."""
    t = lax.convert_element_type(t, x.dtype)
    total = lax.full_like(x, 0)
    for k in range(len(terms), 0, -1):
        total = lax.mul(lax.add(total, terms[k - 1]), lax.mul(t, 1 / k))
    return lax.add(x, total)


def with_derivative(at, results):
    """The function that returns one order more: the derivatives of the last ``results`` values."""

    def more(t):
        outs, tangents = CORE.jvp(at, (t,), (lax.full_like(t, 1),))
        return (*outs, *tangents[-results:])

    return more


def check_along_a_curve(row, dtype, order):
    order = order if row.orders > 1 else 1
    fn, xs = laws.smooth_part(row.function(dtype), [device_array(a) for a in row.draw(dtype)])
    series = list(zip(*[laws.directions(xs, seed) for seed in range(1, order + 1)], strict=True))

    def both_sides(*xs):
        out, terms = jet(fn, xs, series)
        mine = [*out, *[t for column in zip(*terms, strict=True) for t in column]]
        return [*mine, *nested(fn, xs, series)]

    values = checks.evaluated(both_sides, xs, f"jet of {row.name}")
    half = len(values) // 2
    for i, (got, wanted) in enumerate(zip(values[:half], values[half:], strict=True)):
        checks.compare(f"jet of {row.name} in {dtype}: value {i}", got, wanted, 1e-9 * row.loose)


@pytest.mark.forbidden("explicit_x64_dtypes")
@each(FIRST)
def test_along_a_curve(row):
    check_along_a_curve(row, row.smooth_dtypes()[0], 3)


@pytest.mark.exhaustive
@each(OTHERS)
def test_with_other_parameters(row):
    check_along_a_curve(row, row.smooth_dtypes()[0], 2)


@pytest.mark.exhaustive
@each([row for row in FIRST if len(row.smooth_dtypes()) > 1])
def test_of_complex_numbers(row):
    check_along_a_curve(row, row.smooth_dtypes()[1], 2)
