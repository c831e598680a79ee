"""``custom_partitioning``: values against NumPy, what each device does, and what is refused."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.experimental.custom_partitioning import SdyShardingRule, custom_partitioning
from rabbet.sharding import AxisType, NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
autodiff = pytest.importorskip("rabbet_autodiff")
vmap = pytest.importorskip("rabbet_vmap").vmap
rnp = pytest.importorskip("rabbet.numpy")

MESH = rb.make_mesh((4, 2), ("x", "y"))
A = np.linspace(-1, 1, 16 * 8, dtype=np.float32).reshape(16, 8)
B = np.linspace(-1, 1, 8 * 12, dtype=np.float32).reshape(8, 12)


def laid(x, *spec, mesh=MESH):
    return rb.device_put(x, NamedSharding(mesh, P(*spec)))


def close(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


def shardings(structs):
    return rb.tree.map(lambda s: s.sharding, structs)


def made(fun, rule, part=None, seen=None, static=(), decode=True, **kinds):
    """A function that is cut up as proposed; ``seen`` collects the specs and the shapes of parts."""
    f = custom_partitioning(fun, static_argnums=static)

    def partition(*given):
        *_, mesh, args, result = given
        if seen is not None:
            seen.extend([a.sharding.spec for a in rb.tree.leaves(args)])

        def on_a_part(*parts):
            if seen is not None:
                seen.append([p.shape for p in rb.tree.leaves(parts)])
            return (part or fun)(*parts)

        return mesh, on_a_part, shardings(result), shardings(args)

    f.def_partition(partition, sharding_rule=rule, decode_shardings=decode, **kinds)
    return f


def product(a, b):
    return rnp.sin(a @ b)


# --------------------------------------------------------------------------------------- values and parts
def test_a_product_is_cut_by_rows_and_columns():
    seen = []
    f = jit(made(product, "i k, k j -> i j", seen=seen, need_replication_factors=("k",)))
    a, b = laid(A, "x"), laid(B, None, "y")
    out = f(a, b)
    close(out, np.sin(A @ B))
    assert out.sharding.spec == P("x", "y")
    assert seen == [P("x", None), P(None, "y"), [(4, 8), (8, 6)]]
    text = f.lower(a, b).compile().as_text()
    assert not any(word in text for word in ("all-gather", "all-reduce", "collective-permute"))


def test_a_whole_dimension_is_gathered_and_others_stay():
    seen = []
    spectrum = made(rnp.fft.fft, "... i -> ... i", seen=seen, need_replication_factors=("i",))
    out = jit(spectrum)(laid(A.astype(np.complex64), "x", "y"))
    close(out, np.fft.fft(A))
    assert seen == [P("x", None), [(4, 8)]]


def test_parts_communicate_along_the_axes_of_the_mesh():
    total = made(
        lambda a: a.sum(1), "i j -> i", lambda a: lax.psum(a.sum(1), "y"), reduction_factors=("j",)
    )
    f, a = jit(total), laid(A, "x", "y")
    close(f(a), A.sum(1))
    assert "all-reduce" in f.lower(a).compile().as_text()
    place = made(lambda a: a, "i j -> i j", lambda a: a * 0 + lax.axis_index("x") * 2 + lax.axis_index("y"))
    expected = np.repeat(np.arange(4) * 2, 4)[:, None] + np.repeat(np.arange(2), 4)[None]
    close(jit(place)(laid(A, "x", "y")), expected)


def test_partition_decides_how_arrays_lie():
    f = custom_partitioning(lambda a: a * 2)
    seen = []

    def by_columns(mesh, args, result):
        columns = NamedSharding(mesh, P(None, ("x", "y")))
        return mesh, lambda a: (seen.append(a.shape), a * 2)[1], columns, (columns,)

    f.def_partition(by_columns, sharding_rule="i j -> i j")
    close(jit(lambda a: f(a + 1) - 1)(laid(A, "x")), (A + 1) * 2 - 1)
    assert seen == [(16, 1)]


def test_trees_static_arguments_and_several_results():
    def fun(pair, n, scale=3.0):
        return {"sum": (pair["a"] + pair["b"]) * n * scale, "rows": pair["a"].sum(1)}

    rules = []

    def rule(n, scale, mesh, operands, results):
        rules.append((n, scale, mesh, [a.shape for a in operands], [a.shape for a in results]))
        return "i j, i j -> i, i j"

    part = lambda pair: {"sum": (pair["a"] + pair["b"]) * 6.0, "rows": pair["a"].sum(1)}
    f = made(fun, rule, part, static=(1, 2))
    out = jit(lambda pair: f(pair, 2))({"a": laid(A, "x"), "b": laid(2 * A, "x")})
    close(out["sum"], A * 18)
    close(out["rows"], A.sum(1))
    assert rules == [(2, 3.0, MESH, [(16, 8), (16, 8)], [(16,), (16, 8)])]


def test_captured_arrays():
    table, inner = rb.device_put(np.arange(8, dtype=np.float32)), np.arange(8, dtype=np.float32)
    f = made(lambda a: a + table, "i j -> i j", lambda a: a + inner)
    close(jit(f)(laid(A, "x")), A + inner)
    close(jit(f)(A), A + inner)


def test_in_loops_and_eagerly():
    f = made(lambda a: a * 0.5, "i j -> i j")
    close(jit(lambda a: lax.fori_loop(0, 3, lambda i, c: f(c), a))(laid(A, "x")), A / 8)
    out = f(laid(A, "x"))
    close(out, A / 2)
    assert out.sharding.spec == P("x")


def test_what_no_spec_says_is_given_back():
    shown = []
    f = custom_partitioning(lambda a: a + 1)

    def partition(mesh, args, result):
        shown.append(args[0].sharding.shard_shape(args[0].shape))
        return mesh, lambda a: a + 1, result.sharding, (args[0].sharding,)

    rule = SdyShardingRule((("i", "j"),), (("i", "j"),))
    f.def_partition(partition, sharding_rule=rule, decode_shardings=False)
    out = jit(f)(laid(A, "y", "x"))
    close(out, A + 1)
    assert shown == [(8, 2)] and out.sharding.spec == P("y", "x")


def test_on_explicit_axes():
    mesh = rb.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    f = made(product, "i k, k j -> i j", need_replication_factors=("k",))
    out = jit(f)(laid(A, "x", mesh=mesh), laid(B, None, "y", mesh=mesh))
    close(out, np.sin(A @ B))
    assert out.sharding.spec == P("x", "y")


def test_where_nothing_is_cut_up_it_is_its_own_program():
    fails = custom_partitioning(lambda a: rnp.sin(a))
    fails.def_partition(lambda *args: 1 / 0, sharding_rule="... -> ...")
    close(jit(fails)(A), np.sin(A))
    mapped = rb.shard_map(lambda a: fails(a), mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    close(jit(mapped)(laid(A, "x")), np.sin(A))
    close(jit(autodiff.grad(lambda a: fails(a).sum()))(laid(A, "x")), np.cos(A))
    close(vmap(fails)(A), np.sin(A))


def test_equal_texts_with_other_parts_are_other_programs():
    one = made(lambda a: a + 1, "i j -> i j", lambda a: a + 1)
    two = made(lambda a: a + 1, "i j -> i j", lambda a: a + 2)
    a = laid(A, "x")
    for f, more in ((one, 1), (two, 2), (one, 1)):
        close(jit(lambda a, f=f: f(a))(a), A + more)


# ----------------------------------------------------------------------------------------------- refusals
def test_an_error_of_partition_is_its_own():
    f = custom_partitioning(lambda a: a)
    f.def_partition(lambda mesh, args, result: 1 / 0, sharding_rule="i j -> i j")
    with pytest.raises(ZeroDivisionError):
        jit(f)(laid(A, "x"))


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda m, a, r: (m, lambda x: x), TypeError, "partition returns \\(mesh, function"),
        (lambda m, a, r: (m, lambda x: x[:1], r.sharding, (a[0].sharding,)), TypeError, "f32\\[1,8\\]"),
        (lambda m, a, r: (m, lambda x: (x, x), r.sharding, (a[0].sharding,)), TypeError, "of a part"),
        (lambda m, a, r: (m, lambda x: x, r.sharding, (P("x"),)), TypeError, "holds shardings"),
        (lambda m, a, r: (None, lambda x: x, r.sharding, (a[0].sharding,)), ShardingError, "None"),
        (lambda m, a, r: (m, lambda x: x, r.sharding, (r.sharding, r.sharding)), TypeError, "arg_shardings"),
    ],
)  # fmt: skip
def test_answers_that_are_refused(answer, error, words):
    f = custom_partitioning(lambda a: a)
    f.def_partition(answer, sharding_rule="i j -> i j")
    with pytest.raises(error, match=words):
        jit(f)(laid(A, "x"))


def test_definitions_that_are_refused():
    f = custom_partitioning(lambda a: a)
    with pytest.raises(AttributeError, match="def_partition"):
        f(A)
    with pytest.raises(NotImplementedError, match="sharding_rule"):
        f.def_partition(lambda *a: None, infer_sharding_from_operands=lambda *a: None)
    with pytest.raises(ValueError, match="reduction_factors go with"):
        f.def_partition(lambda *a: None, sharding_rule=lambda *a: "i -> i", reduction_factors=("i",))
    f.def_partition(lambda *a: None, sharding_rule="i -> i")
    with pytest.raises(ValueError, match="1 dimensions"):
        jit(f)(laid(A, "x"))
    with pytest.raises(TypeError, match="takes a function"):
        custom_partitioning(3)


def test_it_is_exported_as_its_own_program():
    export = pytest.importorskip("rabbet.export")
    f = made(lambda a: a, "i j -> i j")
    exported = export.export(jit(f))(A)
    close(exported.call(A), A)


def test_arguments_by_name():
    f = made(lambda a, n, b: a * n + b, "i j, i j -> i j", lambda a, b: a * 2 + b, static=1)
    close(jit(lambda a: f(b=a, a=a, n=2))(laid(A, "x")), A * 3)
    g = made(lambda a, *, n=1: a * n, "i j -> i j")
    with pytest.raises(TypeError, match="got n"):
        g(A, n=2)
