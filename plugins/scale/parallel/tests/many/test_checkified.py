"""``checkify`` of programs that each device runs on its part: errors say on which."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.sharding import Mesh, PartitionSpec

pytestmark = pytest.mark.library

checkify = pytest.importorskip("rabbet.experimental.checkify")
jit = pytest.importorskip("rabbet_jit").jit
grad = pytest.importorskip("rabbet_autodiff").grad
rnp = pytest.importorskip("rabbet.numpy")

DEVICES = np.array(rb.devices()[:4])
GOOD, NEGATIVE, LARGE = [1.0, 2.0, 3.0, 4.0], [1.0, -1.0, 20.0, -3.0], [1.0, 1.0, 20.0, 30.0]


def logarithm(x):
    checkify.check(rnp.all(x < 9), "{x} is too large", x=rnp.max(x))
    return rnp.log(x)


def over_devices(f, **options):
    spec = PartitionSpec("i")
    return rb.shard_map(f, mesh=Mesh(DEVICES, ("i",)), in_specs=spec, out_specs=spec, **options)


WAYS = {
    "pmap": lambda f: rb.pmap(f, devices=list(DEVICES)),
    "shard_map": over_devices,
    "shard_map without types": lambda f: over_devices(f, check_vma=False),
    "jit of shard_map": lambda f: jit(over_devices(f)),
}


@pytest.mark.parametrize("way", WAYS)
def test_errors_of_devices(way):
    checked = checkify.checkify(WAYS[way](logarithm), checkify.user_checks | checkify.nan_checks)
    error, out = checked(rnp.array(GOOD))
    assert error.get() is None
    np.testing.assert_allclose(out, np.log(GOOD), rtol=1e-6)
    error, out = checked(rnp.array(NEGATIVE))
    assert "nan" in error.get() and error.get().endswith(", at mapped index 1)")
    assert np.isnan(np.asarray(out)).tolist() == [0, 1, 0, 1]
    text = checked(rnp.array(LARGE))[0].get()
    assert text.startswith("20.0 is too large") and text.endswith(", at mapped index 2)")


def test_what_failed_before_goes_first():
    def program(x):
        checkify.check(x[0] > 0, "before")
        out = over_devices(logarithm)(x)
        checkify.check(out[0] > 5, "after")
        return out

    checked = checkify.checkify(program)
    assert checked(-rnp.array(LARGE))[0].get().startswith("before")
    assert checked(rnp.array(LARGE))[0].get().startswith("20.0 is too large")
    assert checked(rnp.array(GOOD))[0].get().startswith("after")


def test_collectives_and_a_derivative():
    total = over_devices(lambda x: lax.psum(logarithm(x), "i") * x)
    error, out = checkify.checkify(grad(lambda x: total(x).sum()))(rnp.array(GOOD))
    assert error.get() is None
    np.testing.assert_allclose(out, np.log(GOOD).sum() + np.sum(GOOD) / GOOD, rtol=1e-6)
    assert "too large" in checkify.checkify(total)(rnp.array(LARGE))[0].get()


def test_without_the_method_an_error_names_it():
    from rabbet.extend.transform import Interpreter, RuleTable, run, typeof

    class Counting(Interpreter):
        table = RuleTable("counting", doc="(op, *values) -> value")
        threads = carries = True

        def __init__(self):
            self.state = rnp.float32(0.0)

        lift = staticmethod(lambda value: value)
        type_of = staticmethod(typeof)
        wrap = staticmethod(lambda value: value)

    Counting.table.otherwise(before_decompositions=True)(lambda op, *values: op(*values))
    with pytest.raises(TypeError, match="must define state_of_parts"):
        run(Counting(), over_devices(rnp.sin), [rnp.array(GOOD)])
