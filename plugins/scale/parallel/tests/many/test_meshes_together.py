"""Arrays of an Auto mesh, of an Explicit one, and of several: what may stand in one operation, and on which
mesh results lie.
"""

import contextlib

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType, NamedSharding, auto_axes, reshard
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
autodiff = pytest.importorskip("rabbet_autodiff")
vmap = pytest.importorskip("rabbet_vmap").vmap
rnp = pytest.importorskip("rabbet.numpy")

AUTO = rb.make_mesh((8,), ("a",), axis_types=AxisType.Auto)
EXPLICIT = rb.make_mesh((8,), ("x",), axis_types=AxisType.Explicit)
SAME_NAME = rb.make_mesh((8,), ("x",), axis_types=AxisType.Auto)
OTHER = rb.make_mesh((4, 2), ("y", "z"), axis_types=AxisType.Explicit)
HALF = rb.make_mesh((4, 2), ("y", "z"), axis_types=(AxisType.Auto, AxisType.Explicit))
HOST = np.arange(64, dtype=np.float32).reshape(8, 8)
ROWS = NamedSharding(EXPLICIT, P("x"))


def on(mesh, *spec, of=HOST):
    return rb.device_put(of, NamedSharding(mesh, P(*spec)))


@pytest.fixture(scope="module")
def pair():
    return on(AUTO, "a"), on(EXPLICIT, "x")


OPERATIONS = {
    "add": lambda a, b: a + b,
    "one compares": lambda a, b: b > a,
    "concatenate": lambda a, b: rnp.concatenate([a, b]),
    "where": lambda a, b: rnp.where(b > 1, a, b),
    "product": lambda a, b: a @ b,
    "what was computed": lambda a, b: (a * 2).sum() + b.sum(),
    "within a call": lambda a, b: jit(lambda v, w: v * w)(a, b),
    "in a loop": lambda a, b: lax.fori_loop(0, 3, lambda i, c: c + a, b),
    "in a scan": lambda a, b: lax.scan(lambda c, v: (c + v, v), a[0], b.T)[0],
    "in a branch": lambda a, b: lax.cond(b.sum() > 0, lambda v, w: v + w, lambda v, w: v, a, b),
    "a derivative": lambda a, b: autodiff.grad(lambda v: (v * b).sum())(a),
    "mapped": lambda a, b: vmap(lambda v, w: v * w, in_axes=1)(a, b),
    "recomputed": lambda a, b: autodiff.checkpoint(lambda v, w: v * w)(a, b),
}


@pytest.mark.parametrize("f", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_an_operation_takes_arrays_of_one_kind_of_mesh(f, compiled, pair):
    with pytest.raises(ShardingError, match="operands are laid out on") as error:
        (jit(f) if compiled else f)(*pair)
    text = str(error.value)
    assert "Explicit" in text and "Auto" in text and "rb.device_put" in text


def test_the_error_names_the_line(pair):
    with pytest.raises(ShardingError, match=r"multiply|mul.*test_meshes_together\.py:\d+"):
        jit(lambda a, b: a * b)(*pair)


CLOSURES = {
    "an Auto one": lambda a, b: jit(lambda v: v + a)(b),
    "an Explicit one": lambda a, b: jit(lambda v: v + b)(a),
    "both": lambda a, b: jit(lambda: a + b)(),
}


@pytest.mark.parametrize("f", CLOSURES.values(), ids=CLOSURES)
def test_captured_arrays_count(f, pair):
    with pytest.raises(ShardingError, match="operands are laid out on"):
        f(*pair)


PAIRS = {
    "of one name": (lambda: on(SAME_NAME, "x"), lambda: on(EXPLICIT, "x")),
    "the Auto one whole": (lambda: on(AUTO), lambda: on(EXPLICIT, "x")),
    "the Explicit one whole": (lambda: on(AUTO, "a"), lambda: on(EXPLICIT)),
    "a number": (lambda: on(AUTO, of=np.float32(2)), lambda: on(EXPLICIT, "x")),
    "two Explicit ones": (lambda: on(OTHER, "y"), lambda: on(EXPLICIT, "x")),
    "two whole Explicit ones": (lambda: on(OTHER), lambda: on(EXPLICIT)),
    "axes of other types": (lambda: on(OTHER, "y", "z"), lambda: on(HALF, "y", "z")),
    "half Auto": (lambda: on(HALF, "y"), lambda: on(AUTO, "a")),
}


@pytest.mark.parametrize("made", PAIRS.values(), ids=PAIRS)
def test_meshes_that_belong_apart(made):
    left, right = [make() for make in made]
    for run in (lambda a, b: a * b, jit(lambda a, b: a * b)):
        with pytest.raises(ShardingError, match="laid out on"):
            run(left, right)


def test_meshes_of_auto_axes_stand_together():
    other = rb.make_mesh((4, 2), ("c", "d"), axis_types=AxisType.Auto)
    for run in (lambda a, b: a * b, jit(lambda a, b: a * b)):
        np.testing.assert_array_equal(run(on(AUTO, "a"), on(other, "c", "d")), HOST * HOST)


def test_arrays_without_a_mesh_stand_beside_any(pair):
    for x in pair:
        for other in (HOST, rnp.asarray(HOST), 1.0):
            np.testing.assert_array_equal(x + other, HOST + np.asarray(other))
            assert jit(lambda a, other=other: a + other)(x).sharding.mesh == x.sharding.mesh


def test_each_result_lies_on_the_mesh_of_what_it_is_made_of(pair):
    f = lambda a, b: {"auto": a + 1, "explicit": b + 1, "whole": b.sum(), "passed": b, "none": rnp.ones(3)}
    out = jit(f)(*pair)
    assert out["auto"].sharding.is_equivalent_to(pair[0].sharding, 2)
    assert out["auto"].sharding.mesh == AUTO
    for name, spec in (("explicit", P("x", None)), ("passed", P("x", None)), ("whole", P())):
        assert out[name].sharding.mesh == EXPLICIT
        assert rb.typeof(out[name]).sharding.spec == spec or name == "whole"
        assert out[name].sharding.spec == spec
    np.testing.assert_array_equal(out["explicit"], HOST + 1)


def test_results_of_loops_and_branches_lie_on_the_meshes_of_theirs(pair):
    def f(a, b):
        carry, rows = lax.scan(lambda c, v: (c + 1, v * 2), a, b)
        chosen = lax.cond(a.sum() > 0, lambda v, w: (v, w + 1), lambda v, w: (v + 1, w), a, b)
        looped = lax.while_loop(lambda c: c[2] < 2, lambda c: (c[0] * 2, c[1] + 1, c[2] + 1), (a, b, 0))
        kept = lax.optimization_barrier((a, b))
        return [carry, chosen[0], looped[0], kept[0]], [rows, chosen[1], looped[1], kept[1]]

    autos, explicits = jit(f)(on(AUTO, "a"), on(EXPLICIT, None, "x"))
    assert [x.sharding.mesh for x in autos] == [AUTO] * 4
    assert [x.sharding.mesh for x in explicits] == [EXPLICIT] * 4
    assert [str(rb.typeof(x)).count("@x") for x in explicits] == [1] * 4


MOVED = {
    "device_put": lambda x: rb.device_put(x, ROWS),
    "reshard": lambda x: reshard(x, ROWS),
    "and computed with": lambda x: rb.device_put(x, ROWS) * 2,
    "beside one that lies there": lambda x: rb.device_put(x, ROWS) + on(EXPLICIT, "x"),
}


@pytest.mark.parametrize("f", MOVED.values(), ids=MOVED)
@pytest.mark.parametrize("source", [(AUTO, "a"), (OTHER, "y", "z"), (HALF, "y", "z")], ids=str)
def test_a_value_moved_to_another_mesh_within_a_program_lies_there(f, source):
    x = on(*source)
    out = jit(f)(x)
    assert out.sharding.mesh == EXPLICIT and str(rb.typeof(out)) == "float32[8@x,8]"
    np.testing.assert_array_equal(out, f(HOST))


def test_a_value_moved_to_an_auto_mesh_lies_there(pair):
    to_auto = jit(lambda x: rb.device_put(x, NamedSharding(AUTO, P("a"))))
    out = to_auto(pair[1])
    assert out.sharding.mesh == AUTO and out.sharding.is_equivalent_to(pair[0].sharding, 2)
    with pytest.raises(ShardingError, match="operands are laid out on"):
        jit(lambda x: to_auto(x) + x)(pair[1])


def test_in_shardings_say_what_types_say(pair):
    auto, explicit = pair
    out = jit(lambda x: x + 1, in_shardings=ROWS)(auto)
    assert out.sharding.mesh == EXPLICIT and str(rb.typeof(out)) == "float32[8@x,8]"
    out = jit(lambda x: x + 1, in_shardings=auto.sharding)(explicit)
    assert out.sharding.mesh == AUTO and out.sharding.is_equivalent_to(auto.sharding, 2)


@pytest.mark.parametrize("rules", ["named", "everywhere"])
def test_the_mesh_that_is_set(rules, pair):
    auto, explicit = pair
    refused = pytest.raises(ShardingError, match="the mesh that is set")
    for mesh, x in ((EXPLICIT, auto), (AUTO, explicit), (OTHER, explicit)):
        with rb.config.override(mesh_rules=rules), rb.set_mesh(mesh):
            for f in (lambda v: v + 1, jit(lambda v: v + 1)):
                with refused if rules == "everywhere" else contextlib.nullcontext():
                    f(x)
            assert jit(lambda v: v)(x).sharding.mesh == x.sharding.mesh  # which computes nothing
            moved = rb.device_put(x, P(mesh.axis_names[0]))
            assert (moved + 1).sharding.mesh == mesh


@pytest.mark.parametrize("rules", ["named", "everywhere"])
def test_auto_axes_take_whole_arrays_too(rules):
    cut, whole = on(EXPLICIT, "x"), on(EXPLICIT)
    f = auto_axes(lambda a, b: a @ b + whole.sum(), out_sharding=ROWS)
    with rb.config.override(mesh_rules=rules):
        for run in (f, jit(f)):
            out = run(cut, whole)
            assert str(rb.typeof(out)) == "float32[8@x,8]"
            np.testing.assert_allclose(out, HOST @ HOST + HOST.sum())


def test_auto_axes_beside_arrays_of_the_mesh_that_is_set():
    """Derivatives and repeated calls under ``set_mesh``, where arrays that ``f`` takes lie on that mesh."""
    f = auto_axes(lambda x: rnp.sin(x) @ HOST, out_sharding=P("x"))
    x = on(EXPLICIT, "x")
    expected = np.cos(HOST) * HOST.sum(1)
    for rules in ("named", "everywhere"):
        with rb.config.override(mesh_rules=rules), rb.set_mesh(EXPLICIT):
            for wrap in (lambda g: g, jit):
                d = wrap(autodiff.grad(lambda v: f(v).sum()))(x)
                assert str(rb.typeof(d)) == "float32[8@x,8]"
                np.testing.assert_allclose(d, expected, rtol=1e-5)
                assert str(rb.typeof(wrap(f)(wrap(f)(x) * 2))) == "float32[8@x,8]"


MAPPED = {
    "a cut dimension": ("x", None, P(None), "float32[8@x,8]"),
    "a whole one": (None, None, P("x"), "float32[8,8@x]"),
    "a cut one whose axis is asked for": ("x", None, P("x"), "float32[8,8@x]"),
}


@pytest.mark.parametrize("case", MAPPED.values(), ids=MAPPED)
def test_reshard_of_each_example_keeps_how_examples_lie(case):
    *spec, asked, expected = case
    f = vmap(lambda row: reshard(row, asked))
    with rb.set_mesh(EXPLICIT):
        for run in (f, jit(f)):
            out = run(on(EXPLICIT, *spec))
            assert str(rb.typeof(out)) == expected
            np.testing.assert_array_equal(out, HOST)


LEGAL = {
    "a derivative by what is moved": lambda a, b: autodiff.grad(lambda v: (rb.device_put(v, ROWS) * b).sum())(
        a
    ),
    "a derivative by what is moved back": lambda a, b: autodiff.grad(
        lambda w: (a * rb.device_put(w, NamedSharding(AUTO, P("a")))).sum()
    )(b),
    "a loop's first value is moved": lambda a, b: lax.scan(
        lambda c, v: (c + v, v), rb.device_put(a[0], ROWS), reshard(b, NamedSharding(EXPLICIT, P(None, "x")))
    )[0],
    "what lies on no mesh beside both": lambda a, b: (a + (z := rnp.sin(HOST)), b + z, b * HOST, a * 2.0),
    "made within the program": lambda a, b: (a + (z := rnp.arange(8.0)), b + z),
    "nested calls": lambda a, b: (jit(rnp.sin)(a), jit(rnp.sin)(b)),
    "recomputed apart": lambda a, b: autodiff.checkpoint(lambda v, w: (rnp.sin(v), rnp.sin(w)))(a, b),
    "a number that was read": lambda a, b: b + np.asarray(HOST).sum(),
}


@pytest.mark.parametrize("f", LEGAL.values(), ids=LEGAL)
def test_programs_on_several_meshes_that_are_legal(f, pair):
    found, alone = jit(f)(*pair), f(HOST, HOST)
    for a, b in zip(rb.tree.leaves(found), rb.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
