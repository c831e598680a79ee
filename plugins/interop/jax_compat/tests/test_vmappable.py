"""Types with their own way to be mapped can be registered; ``jax.vmap`` refuses their values."""

import dataclasses

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_jax.overlay.interpreters import batching
from rabbet_jax.vmappable import vmap


@dataclasses.dataclass
class Fields:
    mapped: object
    kept: object


rb.tree_util.register_dataclass(Fields, ["mapped", "kept"], [])


@pytest.fixture
def registered():
    batching.register_vmappable(Fields, int, int, None, None, None)
    yield
    batching.unregister_vmappable(Fields)


def test_other_values_are_mapped(registered):
    out = vmap(lambda x, *, y: {"sum": x + y}, in_axes=1)(rnp.ones((2, 3)), y=rnp.arange(3.0))
    assert out["sum"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_values_of_the_type_are_refused(registered):
    value = Fields(rnp.ones(3), rnp.zeros(2))
    assert batching.is_vmappable(value)
    with pytest.raises(NotImplementedError, match="an argument holds a Fields"):
        vmap(lambda v: v.mapped)([value])
    with pytest.raises(NotImplementedError, match="the result holds a Fields"):
        vmap(lambda x: Fields(x, x))(rnp.ones(3))


def test_a_type_that_is_not_registered_is_a_tree():
    assert not batching.is_vmappable(Fields(1, 2))
    assert vmap(lambda v: v.mapped + v.kept)(Fields(rnp.ones(3), rnp.ones(3))).tolist() == [2.0] * 3


def test_backends_are_told_by_platform():
    from rabbet_jax.overlay.extend import backend

    found = backend.backends()
    assert found[rb.default_backend()] == backend.get_backend()
    assert "no such platform" not in found


@pytest.mark.parametrize("table", ["fancy_primitive_batchers", "axis_primitive_batchers"])
def test_rules_that_are_told_of_the_axis(table):
    from rabbet_jax.primitives import Primitive

    seen = []
    doubled = Primitive(f"test_doubled_by_{table}")
    doubled.def_abstract_eval(lambda x: x)
    doubled.decompose(lambda op, x: 2 * x)

    def fancy(axis, values, axes):
        seen.append((axis.name, axis.size, axis.spmd_name))
        return doubled.bind(values[0]), axes[0]

    def older(size, name, trace_type, values, axes):
        seen.append((name, size, trace_type))
        return doubled.bind(values[0]), axes[0]

    getattr(batching, table)[doubled] = fancy if table.startswith("fancy") else older
    out = rb.vmap(rb.vmap(lambda x: doubled.bind(x)), axis_name="rows")(rnp.ones((3, 2)))
    assert out.tolist() == [[2.0, 2.0]] * 3
    assert seen == [(None, 2, None), ("rows", 3, None)]
