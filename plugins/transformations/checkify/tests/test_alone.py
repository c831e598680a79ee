"""What works with core alone."""

import pytest
from rabbet import lax
from rabbet.experimental import checkify


def positive(x):
    checkify.check(lax.gt(x, 0.0), "not positive: {x}", x=x)
    return lax.mul(x, 2.0)


def test_straight_lines_branches_and_loops():
    for fn in (
        positive,
        lambda x: lax.cond(lax.lt(x, 5.0), positive, lax.log, x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.sub(positive(c), c), x),
    ):
        checked = checkify.checkify(fn, errors=checkify.all_checks)
        assert checked(1.0)[0].get() is None
        assert checked(-1.0)[0].get().startswith("not positive: -1.0 (`check` failed at ")


@pytest.mark.forbidden("disable_jit")
def test_raised_at_once():
    with pytest.raises(checkify.FailedCheckError, match="not positive: -1"):
        positive(-1.0)
    with pytest.raises(ValueError, match="checkify"):
        lax.cond(True, positive, positive, 1.0)
