"""Programs with symbolic dimensions compute, at every size, what the function computes."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import export, lax
from rabbet.errors import InconclusiveDimensionOperation

(ROWS, COLUMNS, EVEN) = export.symbolic_shape("a, b, 2*a")
LONG = export.symbolic_shape("c", constraints=["c >= 4"])[0]
AT = {"a": 2, "b": 3, "c": 5, "2*a": 4}


def struct(*shape, dtype="float32"):
    return rb.ShapeDtypeStruct(shape, dtype)


def arrays(types, at=AT):
    shapes = [tuple(at[str(d)] if export.is_symbolic_dim(d) else d for d in t.shape) for t in types]
    return [np.linspace(-1, 1, int(np.prod(s)), dtype="f4").reshape(s) for s in shapes]


def same(found, wanted):
    for one, two in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        assert np.asarray(one).dtype == np.asarray(two).dtype and np.shape(one) == np.shape(two)
        np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=1e-5, atol=1e-5)


def scanned(x):
    return lax.scan(lambda c, row: (c + row, c * row), np.zeros(3, np.float32), x)


PROGRAMS = {
    "elementwise": (lambda x: lax.sin(x) * 2 + 1, [struct(ROWS, COLUMNS)]),
    "reductions": (lambda x: (x.sum(0) / x.shape[0], x.max(), x.argmax(1)), [struct(ROWS, COLUMNS)]),
    "products": (lambda x: (x @ x.T, x.T @ x), [struct(ROWS, COLUMNS)]),
    "reshape": (lambda x: (x.reshape(-1), x.reshape(x.shape[1], -1)), [struct(ROWS, COLUMNS)]),
    "halves": (lambda x: x.reshape(x.shape[0] // 2, 2, 3), [struct(EVEN, 3)]),
    "slices": (lambda x: (x[1:, :-1], x[::2], x[::-1], x[0], x[-1]), [struct(ROWS, COLUMNS)]),
    "long slices": (lambda x: (x[2:-1], x[3]), [struct(LONG, 3)]),
    "at most": (lambda x: x[2:], [struct(ROWS, COLUMNS)]),
    "pad, join": (lambda x: lax.pad(lax.concatenate([x, x], 0), 0.0, ((x.shape[0], 1, 0), (0, 0, 0))),
                  [struct(ROWS, COLUMNS)]),
    "iota": (lambda x: x + lax.broadcasted_iota("float32", x.shape, 1), [struct(ROWS, COLUMNS)]),
    "gather": (lambda x: x[np.array([0, 1])] + x[lax.iota("int32", 2)], [struct(ROWS, COLUMNS)]),
    "wide positions": (lambda x: x[lax.iota("int64", 2)], [struct(ROWS, COLUMNS)]),
    "scatter": (lambda x: x.at[0].set(2.0).at[:, -1].add(1.0), [struct(ROWS, COLUMNS)]),
    "sort": (lambda x: lax.sort(x, dimension=0), [struct(ROWS, COLUMNS)]),
    "scan": (scanned, [struct(ROWS, 3)]),
    "loops": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], np.zeros(3, np.float32)),
              [struct(ROWS, 3)]),
    "branches": (lambda x: lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x), [struct(ROWS, 3)]),
    "cumulative": (lambda x: (lax.cumsum(x, 0), lax.cumprod(x, 1), lax.cummax(x, 0, reverse=True)),
                   [struct(ROWS, COLUMNS)]),
    "sizes": (lambda x: x * x.shape[0] + x.shape[1] / 2, [struct(ROWS, COLUMNS)]),
    "inner jit": (lambda x: rb.jit(lambda y: y.reshape(-1) + y.shape[0])(x), [struct(ROWS, COLUMNS)]),
    "gradient": (lambda w, x: rb.grad(lambda w: lax.reduce_sum(lax.tanh(x @ w), (0, 1)))(w),
                 [struct(3, 4), struct(ROWS, 3)]),
    "checkpoint": (lambda x: rb.grad(lambda x: rb.checkpoint(lax.sin)(x).sum())(x), [struct(ROWS, 3)]),
    "dynamic slice": (lambda x: lax.dynamic_slice(x, (1, 0), (1, x.shape[1])), [struct(ROWS, COLUMNS)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    if name in ("sort", "cumulative", "gather", "scatter"):
        pytest.importorskip("rabbet_algorithms")
    fun, types = PROGRAMS[name]
    program = export.deserialize(export.export(rb.jit(fun))(*types).serialize())
    args = arrays(types)
    args = [rb.device_put(x) for x in args]
    same(program.call(*args), fun(*args))
    if name in ("reshape", "scan", "cumulative"):
        for at in ({**AT, "a": 1}, {**AT, "a": 7, "b": 1}):
            args = [rb.device_put(x) for x in arrays(types, at)]
            same(program.call(*args), fun(*args))


def test_one_program_for_all_sizes_with_its_derivative():
    program = export.export(rb.jit(lambda x, w: lax.tanh(lax.dot(x, w))))(
        struct(ROWS, COLUMNS), struct(COLUMNS, 2)
    )
    program = export.deserialize(program.serialize(vjp_order=1))
    avals = [*program.in_avals, *program.out_avals]
    assert [a.str_short() for a in avals] == ["f32[a,b]", "f32[b,2]", "f32[a,2]"]
    loss = lambda f: lambda w, x: lax.reduce_sum(f(x, w), (0, 1))
    for n, m in ((2, 3), (5, 1)):
        x, w = np.ones((n, m), np.float32) / 3, np.ones((m, 2), np.float32)
        same(rb.jit(program.call)(x, w), np.tanh(x @ w))
        same(rb.grad(loss(program.call))(w, x), rb.grad(loss(lambda x, w: lax.tanh(lax.dot(x, w))))(w, x))


def test_derivatives_are_written_where_leaks_are_looked_for():
    with rb.config.override(check_tracer_leaks=True):
        program = export.export(rb.jit(lambda x: x * x))(struct(ROWS, 3))
        program = export.deserialize(program.serialize(vjp_order=1))
        slope = rb.grad(lambda x: lax.reduce_sum(program.call(x), (0, 1)))(np.ones((2, 3), np.float32))
    same(slope, np.full((2, 3), 2, np.float32))


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_derivatives_with_whole_numbers_beside():
    types = struct(ROWS, 3), struct(ROWS, dtype="int32")
    program = export.export(rb.jit(lambda x, n: (x * n[:, None], n + 1)))(*types)
    program = export.deserialize(program.serialize(vjp_order=1))
    x, n = np.ones((4, 3), np.float32), np.arange(4, dtype=np.int32)
    slope = rb.grad(lambda x: lax.reduce_sum(program.call(x, n)[0], (0, 1)))(x)
    same(slope, np.broadcast_to(n[:, None], (4, 3)).astype("f4"))


def test_several_platforms():
    program = export.export(rb.jit(lambda x: lax.reduce_sum(x, (0,))), platforms=("tpu", "cpu"))(
        struct(ROWS, 3)
    )
    same(export.deserialize(program.serialize()).call(np.ones((4, 3), np.float32)), np.full(3, 4, np.float32))


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_structures_of_arguments_with_symbols():
    batch = {"x": struct(ROWS, 3), "n": struct(ROWS, dtype="int32")}
    both = lambda t: {"y": t["x"] + t["n"][:, None], "n": t["n"].shape[0] + t["n"]}
    program = export.export(rb.jit(both))(batch)
    out = program.call({"x": np.zeros((3, 3), np.float32), "n": np.arange(3, dtype=np.int32)})
    assert out["y"][2].tolist() == [2, 2, 2] and out["n"].tolist() == [3, 4, 5]


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("types, shapes, words", [
    ([struct(EVEN)], [(3,)], "args[0].shape[0], which is 3, is no 2*a for a whole a"),
    ([struct(ROWS), struct(ROWS)], [(3,), (4,)], "args[1].shape[0] is 4, and a is 3"),
    ([struct(ROWS)], [(0,)], "makes a = 0, and sizes are at least 1"),
    ([struct(LONG)], [(3,)], "the constraint c - 4 >= 0 does not hold"),
    ([struct(ROWS, 3)], [(2, 4)], "exported for f32[a,3] as args[0], and is called with the shape (2, 4)"),
])  # fmt: skip
def test_shapes_that_do_not_fit(types, shapes, words):
    program = export.export(rb.jit(lambda *xs: [x + 1 for x in xs]))(*types)
    with pytest.raises(export.ExportError, match=re.escape(words)):
        program.call(*[np.zeros(s, np.float32) for s in shapes])


@pytest.mark.parametrize("constraint, fun, bad, good", [
    ("c - 4 >= 0", lambda x, y: x + 1, (3, 1), (4, 1)),
    ("mod(c, 3) == 0", lambda x, y: x * (1 if x.shape[0] % 3 == 0 else 100), (4, 1), (6, 1)),
    ("max(c, d) == d", lambda x, y: x if export.max_dim(x.size, y.size) == y.size else -x, (4, 3), (3, 3)),
    ("floordiv(c, 2) == d", lambda x, y: x.shape[0] // 2 + y, (6, 2), (7, 3)),
])  # fmt: skip
def test_constraints_are_looked_at_in_a_call(constraint, fun, bad, good):
    types = [struct(d) for d in export.symbolic_shape("c, d", constraints=[constraint])]
    program = export.export(rb.jit(fun))(*types)
    again = export.deserialize(program.serialize())
    bad, good = ([np.ones(n, np.float32) for n in sizes] for sizes in (bad, good))
    with pytest.raises(export.ExportError, match=re.escape(f"the constraint {constraint} does not hold")):
        program.call(*bad)
    with pytest.raises(export.ExportError, match=re.escape(f"do not fulfil the constraint {constraint}")):
        again.call(*bad)
    same((program.call(*good), again.call(*good)), (fun(*good), fun(*good)))


def test_constraints_before_an_equality_hold_too():
    (size,) = export.symbolic_shape("a", constraints=["a >= 4", "a == 2*b"])
    program = export.export(rb.jit(lambda x: x + 1))(struct(size))
    with pytest.raises(export.ExportError, match=re.escape("the constraint 2*b - 4 >= 0 does not hold")):
        program.call(np.ones(2, np.float32))
    same(program.call(np.ones(4, np.float32)), np.full(4, 2, np.float32))


def test_sizes_that_cannot_be_solved():
    with pytest.raises(ValueError, match=r"Cannot solve for values of .*\n.*give an argument"):
        export.export(rb.jit(lambda x: x))(struct(ROWS * COLUMNS))


def test_a_decision_that_depends_on_the_size():
    with pytest.raises(InconclusiveDimensionOperation, match="'a' > '5' is inconclusive"):
        export.export(rb.jit(lambda x: x if x.shape[0] > 5 else -x))(struct(ROWS))


def test_operations_without_a_dynamic_form():
    pytest.importorskip("rabbet.lax.linalg")
    with pytest.raises(NotImplementedError, match=r"it has no form with symbolic dimensions \(f32\[a,3,3\]"):
        export.export(rb.jit(lambda x: lax.linalg.cholesky(x)))(struct(ROWS, 3, 3))


def test_scopes_are_not_mixed():
    other = export.symbolic_shape("n")
    with pytest.raises(ValueError, match="different scopes"):
        export.export(rb.jit(lambda x, y: (x, y)))(struct(ROWS), struct(*other))


def test_the_artifact_asserts_shapes_for_other_loaders():
    text = export.export(rb.jit(lambda x, y: x + y))(struct(EVEN), struct(EVEN)).mlir_module()
    assert text.count("@shape_assertion") == 3 and "jax.uses_shape_polymorphism = true" in text


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.needs("numpy", "jit")
def test_places_of_extremes_for_other_platforms(platform):
    pytest.importorskip(f"rabbet_pjrt_{platform}")
    places = rb.jit(lambda x: (x.argmax(1), x.argmin(0)))
    exported = export.export(places, platforms=[platform])(struct(*export.symbolic_shape("r, c")))
    assert [str(a.shape) for a in exported.out_avals] == ["(r,)", "(c,)"]
