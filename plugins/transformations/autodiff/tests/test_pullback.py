"""What the function that pulls back offers besides: gradients added to references, and what it keeps."""

import numpy as np
import pytest
import rabbet as rb
from rabbet_autodiff.with_refs import DidntWant, DontWant, GradRef, GradValue, NotNeeded

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = pytest.mark.needs("numpy", "ref")


def pulled():
    f = lambda a, b: {"out": a["x"] * rnp.sin(b)}
    return rb.vjp(f, {"x": rnp.array(2.0)}, rnp.array(3.0))[1]


def test_gradients_are_added_to_references():
    total = rb.new_ref(rnp.array(10.0))
    left, right = pulled().with_refs({"x": total}, GradValue())({"out": 1.0})
    assert isinstance(left["x"], GradRef)
    np.testing.assert_allclose(right, 2 * np.cos(3.0), rtol=1e-6)
    np.testing.assert_allclose(total[...], 10 + np.sin(3.0), rtol=1e-6)
    left, right = pulled().with_refs({"x": total}, DontWant())({"out": 2.0})
    assert isinstance(right, DidntWant)
    np.testing.assert_allclose(total[...], 10 + 3 * np.sin(3.0), rtol=1e-6)


@pytest.mark.needs("jit")
def test_within_a_compiled_function():
    total = rb.new_ref(rnp.zeros(3))

    @rb.jit
    def step(x, total):
        _, pull = rb.vjp(lambda x: (x**2).sum(), x)
        pull.with_refs(total)(1.0)

    for _ in range(2):
        step(rnp.arange(3.0), total)
    np.testing.assert_array_equal(total[...], [0.0, 4.0, 8.0])


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="refs must have the same structure as the arguments"):
        pulled().with_refs(GradValue(), GradValue())
    with pytest.raises(TypeError, match=r"a Ref, GradValue.. or DontWant.. for each argument, got float"):
        pulled().with_refs({"x": 1.0}, GradValue())


def test_what_is_kept():
    pull = pulled()
    first, second = pull.args_res
    assert float(first) == 2.0 and isinstance(second, NotNeeded)
    kept = sorted(map(float, pull.opaque_residuals))
    np.testing.assert_allclose(kept, [np.cos(3.0), np.sin(3.0)], rtol=1e-5)
    assert len(pull.jaxpr.constvars) == 3 and len(pull.jaxpr.invars) == 2
