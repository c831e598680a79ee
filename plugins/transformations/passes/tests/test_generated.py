"""Every pass keeps what programs compute, to the last bit, and the grammar of programs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from rabbet.extend.passes import all_passes, check
from rabbet_passes import cse, outline, unread
from rabbet_passes.on_request import FOLD, OUTLINE, WEIGHT_DOTS

from .programs import programs, results

DEAD_CODE = next(p for p in all_passes() if p.name == "dead-code")
PASSES = [unread.PASS, DEAD_CODE, cse.PASS, FOLD, WEIGHT_DOTS, OUTLINE]
ARGS = [
    np.float32(-0.0),
    np.float32([[1.5, -0.0, np.inf], [-2.5, 0.0, 3e-3]]),
    np.float32([[[0.5, -1.0, 2.0]], [[7.0, -0.25, 0.0]]]),
]


@pytest.mark.forbidden("debug_nans", "debug_infs", "explicit_x64_dtypes")
@pytest.mark.parametrize("one", PASSES, ids=lambda p: p.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jaxpr=programs())
def test_a_pass_keeps_every_bit(one, jaxpr):
    after = check(one.run(check(jaxpr), None))
    assert results(after, ARGS) == results(jaxpr, ARGS)


@pytest.mark.forbidden("debug_nans", "debug_infs", "explicit_x64_dtypes")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jaxpr=programs(longest=6))
def test_short_blocks_become_functions_without_a_change_of_any_bit(jaxpr):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outline, "SHORTEST", 2)
        patch.setattr(outline, "FEWEST", 2)
        after = check(OUTLINE.run(jaxpr, None))
    assert results(after, ARGS) == results(jaxpr, ARGS)


@pytest.mark.forbidden("debug_nans", "debug_infs", "explicit_x64_dtypes")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jaxpr=programs())
def test_all_of_them_together_do(jaxpr):
    after = jaxpr
    for one in PASSES:
        after = check(one.run(after, None))
    assert results(after, ARGS) == results(jaxpr, ARGS)
    assert len(after.equations) <= len(jaxpr.equations) + 3 * sum(
        e.op.primitive.name == "dot_general" for e in jaxpr.equations
    )
