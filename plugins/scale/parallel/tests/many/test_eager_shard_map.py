"""What Python asks for within an eager ``shard_map``; references among arguments; ``vmap`` of one over axes
of type ``Explicit``.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import TracerBoolConversionError
from rabbet.sharding import AxisType
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((4, 2), ("x", "y"))
X = np.arange(8, dtype=np.float32) + 1
EXPLICIT = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)


ROWS = P("x")


def mapped(f, spec=ROWS, out=ROWS, **options):
    return rb.shard_map(f, mesh=MESH, in_specs=spec, out_specs=out, **options)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: v + 1 if lax.psum(v.sum(), "x") > 35 else -v,
        lambda v: v + [5, 1, 7][lax.psum(1, "x") // lax.axis_size("x") * rnp.int32(1)],
        lambda v: v + int(lax.pmin(v.min(), "x")),
        lambda v: v + lax.pmax(v.max(), "x").item() - 7,
        lambda v: v + np.asarray(lax.pmin(v.min(), "x")),
        lambda v: rb.grad(lambda u: (u * u / 2 + u if lax.psum(u.sum(), "x") > 0 else u).sum())(v),
    ],
)
def test_a_value_that_is_the_same_everywhere_is_known(f):
    assert mapped(f)(X).tolist() == (X + 1).tolist()


def test_what_differs_or_is_traced_is_not_known():
    decides = lambda v: v + 1 if v[0] > 0 else -v
    for options in ({}, {"check_vma": False}):
        with pytest.raises(TracerBoolConversionError):
            mapped(lambda v: v if v[0] > 2 else -v, **options)(X)
        with pytest.raises(TracerBoolConversionError):
            rb.jit(mapped(decides, P(), P(), **options))(X)
    assert mapped(decides, P(), P(), check_vma=False)(X).tolist() == (X + 1).tolist()


def test_asking_repeats_no_effects():
    seen = []

    def f(v):
        total = lax.psum(v, "x").sum()
        rb.debug.callback(lambda: seen.append(1))
        return v if total > 0 else -v

    mapped(f)(X)
    rb.effects_barrier()
    assert len(seen) == 8
    io = lambda v: rb.experimental.io_callback(lambda: np.float32(1), rb.ShapeDtypeStruct((), np.float32))
    with pytest.raises(TracerBoolConversionError):
        mapped(lambda v: v if io(v) > 0 else -v, P(), P(), check_vma=False)(X)


def test_print_shows_what_each_device_has(capsys):
    mapped(lambda v: print(v * 2) or v)(X)
    printed = capsys.readouterr().out
    assert printed.startswith("On cpu:0 at mesh coordinates (x, y) = (0, 0):\n[2. 4.]\n\nOn cpu:1")
    assert printed.count("[14. 16.]") == 2
    mapped(lambda v: print(f"{v[0]}") or v)(X)
    assert "(3, 1):\n7.0" in capsys.readouterr().out


def test_references_within_leave_no_tracers():
    def double(part):
        part[...] = part[...] * 2

    with rb.set_mesh(EXPLICIT), rb.config.override(check_tracer_leaks=True):
        ref = rb.new_ref(rb.device_put(X, P("x")))
        rb.shard_map(double, out_specs=None)(ref)
        assert ref[...].tolist() == (X * 2).tolist()


@pytest.mark.parametrize("way", [lambda f: f, rb.jit])
def test_references_are_read_and_written_in_parts(way):
    def double(part):
        part[...] = part[...] * 2

    def add(part, v):
        part[0] += v.sum()
        return part[...].sum()[None]

    with rb.set_mesh(EXPLICIT):
        ref = rb.new_ref(rb.device_put(X, P("x")))
        way(lambda r: rb.shard_map(double, out_specs=None)(r))(ref)
        assert ref[...].tolist() == (X * 2).tolist()
        ones = rb.device_put(np.ones(8, np.float32), P("x"))
        add_all = rb.shard_map(add, in_specs=(P("x"), P("x")), out_specs=P("x"))
        sums = way(lambda r, v: add_all(r, v))(ref, ones)
        wanted = (X * 2).reshape(4, 2) + np.float32([2, 0])
        assert ref[...].tolist() == wanted.ravel().tolist() and sums.tolist() == wanted.sum(1).tolist()
        assert ref[...].sharding.spec == P("x")
        with pytest.raises(ValueError, match="the same Ref is argument leaf 1"):
            rb.shard_map(lambda a, b: None, in_specs=P("x"), out_specs=None)(ref, ref)


@pytest.mark.parametrize("way", [lambda f: f, rb.jit])
def test_the_mapped_dimension_stays_cut(way):
    with rb.set_mesh(EXPLICIT):
        x = rb.device_put(X.reshape(4, 2), P("x", "y"))
        cases = [
            (lambda v: v * 2, P("y"), P("x", "y"), X.reshape(4, 2) * 2),
            (lambda v: lax.psum(v, "y"), P(), P("x", None), X.reshape(4, 2).sum(1, keepdims=True)),
            (lambda v: lax.psum(v * 1, "x"), P("y"), P(None, "y"), X.reshape(4, 2) * 4),
        ]
        for f, out, spec, wanted in cases:
            found = way(rb.vmap(rb.shard_map(f, in_specs=P("y"), out_specs=out)))(x)
            assert found.sharding.spec == spec
            np.testing.assert_array_equal(found, wanted)
