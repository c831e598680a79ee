"""What programs written for JAX do with functions and their stages, and expect to work."""

import copy
import functools
import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import dlpack, lax, stages, typing
from rabbet.experimental import serialize_executable

pytestmark = pytest.mark.optimized

X = rnp.asarray([0.5, 1.5, -2.0])


@rb.jit
def decorated(x):
    """Twice the sine."""
    return 2 * rnp.sin(x)


# Functions -----------------------------------------------------------------------------------------------


class Unnamed:
    __name__ = 3

    def __call__(self, x):
        return x * 2.0


class Nameless(Unnamed):
    __name__ = property(lambda self: None)


@pytest.mark.parametrize(
    "f", [functools.partial(lax.mul, 2.0), Unnamed(), Nameless()], ids=["partial", "3", "None"]
)
def test_any_callable_is_a_function(f):
    for transform in (rb.jit, rb.checkpoint, rb.vmap, rb.named_call):
        np.testing.assert_array_equal(transform(f)(X), 2 * X)
    assert rb.grad(f)(1.0) == rb.jacfwd(f)(1.0) == rb.jit(rb.grad(rb.checkpoint(f)))(1.0) == 2.0
    assert lax.cond(True, f, f, 3.0) == 6.0 and rb.eval_shape(f, X).shape == (3,)
    np.testing.assert_array_equal(lax.map(f, X), 2 * X)


def test_functions_are_copied_and_sent():
    assert pickle.loads(pickle.dumps(decorated)) is decorated and copy.deepcopy(decorated) is decorated
    cloudpickle = pytest.importorskip("cloudpickle")
    local = rb.jit(lambda x, n: x * n, static_argnums=1)
    local(X, 2)  # what was compiled stays here
    for f, args in (
        (local, (X, 3)), (decorated, (X,)), (rb.vmap(rb.grad(lambda x: x * x * 1.5)), (X,)),
        (rb.checkpoint(lambda x: 3 * x), (X,)), (rb.jit(decorated).lower(X).compile, ()),
    ):  # fmt: skip
        found = cloudpickle.loads(cloudpickle.dumps(f))(*args)
        np.testing.assert_array_equal(
            found(X) if callable(found) else found, f(*args)(X) if not args else f(*args)
        )


def test_types_structures_and_stages_are_sent():
    lowered = decorated.lower(X)
    for value in (rb.ShapeDtypeStruct((2, 3), "float32"), rb.tree.structure({"a": [1, (2,)]}), rb.typeof(X)):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(lowered.lowering.module)).text == lowered.as_text(debug_info=True)


# Stages --------------------------------------------------------------------------------------------------


def test_what_stages_tell():
    f = rb.jit(lambda x, y: (x @ x + y).sum(), donate_argnums=1)
    with pytest.warns(UserWarning, match="donated"):
        lowered = f.lower(rnp.ones((4, 4)), y=rnp.ones(4))
    assert "HloModule" in lowered.as_text(dialect="hlo")
    module = lowered.compiler_ir()
    assert module.operation.name == "builtin.module" and "stablehlo.dot_general" in str(module)
    assert lowered.compiler_ir("hlo").as_hlo_text().startswith("HloModule")
    assert lowered.cost_analysis()["flops"] >= 2 * 4**3
    assert lowered.donate_argnums == () or lowered.donate_argnums == (1,)
    (args, kwargs) = lowered.args_info
    assert (args[0].shape, args[0].donated, kwargs["y"].donated) == ((4, 4), False, True)
    assert rb.tree.leaves(lowered.in_avals)[0] == rb.typeof(rnp.ones((4, 4)))
    with pytest.raises(ValueError, match="dialects 'stablehlo' and 'hlo'"):
        lowered.as_text(dialect="mhlo")
    g = rb.jit(lambda x: x + 1)
    g(X), g(2.0)
    assert g._cache_size() == 2
    g.clear_cache()
    assert g._cache_size() == 0
    traced = g.trace(rb.ShapeDtypeStruct((2,), "float32"))
    for stage, kind in ((g, stages.Wrapped), (traced, stages.Traced), (traced.lower(), stages.Lowered),
                        (traced.lower().compile(), stages.Compiled)):  # fmt: skip
        assert isinstance(stage, kind)
    assert g.eval_shape(X).shape == (3,)


class Duck:
    shape, dtype = (2, 3), np.dtype("float32")


def test_anything_with_a_shape_and_a_dtype_is_enough():
    for like in (
        Duck(),
        rb.typeof(rnp.ones((2, 3))),
        rb.ShapeDtypeStruct((2, 3), "float32"),
        np.ones((2, 3), "f"),
    ):
        assert rb.eval_shape(lambda x: x.sum(0), like).shape == (3,)
        assert decorated.lower(like).in_avals[0][0].shape == (2, 3)
        assert rb.linear_transpose(lambda x: 2 * x, like)(rnp.ones((2, 3)))[0].shape == (2, 3)


def test_programs_are_leaves_and_their_parts_have_the_names_of_jax():
    program = rb.make_jaxpr(lambda x: x * 2.0 + X)(1.0)
    (literal,) = [v for eqn in program.eqns for v in eqn.invars if hasattr(v, "val")]
    jaxpr, consts = program
    assert literal.val == 2.0 and jaxpr is program.jaxpr and consts is program.consts
    assert rb.tree.leaves(program) == [program] and len(program.in_avals) == len(program.out_avals) == 1
    eqn = program.eqns[0]
    assert eqn.effects == frozenset() and eqn.source_info.file == __file__


def test_compiled_functions_as_bytes():
    compiled = (
        rb.jit(lambda t, n: {"y": t["x"] * n + rnp.sort(X)}, static_argnums=1).lower({"x": X}, 3).compile()
    )
    made = pickle.loads(pickle.dumps(serialize_executable.serialize(compiled)))
    again = serialize_executable.deserialize_and_load(*made)
    np.testing.assert_array_equal(again({"x": X})["y"], compiled({"x": X})["y"])
    with pytest.raises(TypeError, match="takes f32"):
        again({"x": X[:2]})
    solve = rb.jit(rnp.linalg.solve).lower(rnp.eye(3), X).compile()  # calls native functions
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(solve))
    np.testing.assert_allclose(loaded(rnp.eye(3) * 2, X), X / 2)
    with pytest.raises(ValueError, match="calls Python functions"):
        serialize_executable.serialize(rb.jit(lambda x: rb.pure_callback(np.sin, x, x)).lower(X).compile())
    with pytest.raises(ValueError, match="takes a compiled function"):
        serialize_executable.serialize(decorated)
    held = rb.new_ref(X)
    with pytest.raises(ValueError, match="references"):
        serialize_executable.serialize(rb.jit(lambda x: held[...] + x).lower(X).compile())


# Derivatives ---------------------------------------------------------------------------------------------


def test_linear_functions_pass_through_jit():
    value, push = rb.jit(lambda x: rb.linearize(rnp.sin, x))(X)
    np.testing.assert_allclose(push(X), np.cos(X) * X, rtol=1e-6)
    np.testing.assert_allclose(rb.jit(lambda p, t: p(t))(push, X), push(X))
    np.testing.assert_allclose(rb.jit(lambda x: rb.linear_transpose(lambda y: 3 * y, x)(x)[0])(X), 3 * X)
    np.testing.assert_allclose(value, np.sin(X), rtol=1e-6)


def test_linearize_where_nothing_can_be_kept():
    def loop(x, n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, rnp.sin(c[1])), (0, x))[1]

    wanted = rb.jvp(lambda x: loop(x, 3), (0.7,), (2.0,))
    for run in (lambda f: f, rb.jit):
        value, push = run(lambda x: rb.linearize(lambda x: loop(x, 3), x))(0.7)
        assert (value, push(2.0)) == wanted
    value, push = rb.linearize(loop, 0.7, 3)
    np.testing.assert_allclose(push(2.0, np.zeros((), rb.dtypes.float0)), wanted[1])


def flagged(flag):
    f = rb.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, (x, flag)), lambda kept, g: ((2 if kept[1] else 3) * g * (kept[0] * 0 + 1),))
    return f


def closing_over(array):
    f = rb.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, g: (g * array,))
    return f


RULES = ((flagged(True), 2.0), (flagged(False), 3.0), (closing_over(rnp.asarray(5.0)), 5.0))


@pytest.mark.parametrize("f, slope", RULES, ids=["true", "false", "closure"])
def test_backward_rules_with_python_bools_and_captured_arrays(f, slope):
    def scanned(x):
        return lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]

    for g, n in (
        (f, 1), (rb.jit(f), 1), (rb.checkpoint(f), 1), (lambda x: lax.cond(x > 0, f, f, x), 1), (scanned, 2),
        (rb.checkpoint(scanned), 2), (lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x), 2),
        (lambda x: lax.cond(x > 0, rb.jit(f), lambda x: x, x), 1),
    ):  # fmt: skip
        assert rb.grad(g)(1.0) == rb.jit(rb.grad(g))(1.0) == slope**n
        np.testing.assert_array_equal(rb.vmap(rb.grad(g))(rnp.ones(2)), [slope**n] * 2)


def test_a_rule_that_closes_over_a_traced_array_is_made_anew():
    def outer(x, k):
        return rb.grad(rb.jit(closing_over(k)))(x)

    for run in (outer, rb.jit(outer)):
        assert [run(1.0, k) for k in (2.0, 3.0)] == [2.0, 3.0]


# Arguments -----------------------------------------------------------------------------------------------


class Tensor:
    """An array of another library, which speaks DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ByArray:
    def __array__(self, dtype=None, copy=None):
        return np.asarray(X)


class ByInterface:
    __array_interface__ = property(lambda self: np.asarray(X).__array_interface__)


class ByJaxArray:
    def __jax_array__(self):
        return X


@pytest.mark.parametrize("make", [lambda: Tensor(np.array(X)), ByArray, ByInterface, ByJaxArray],
                         ids=["dlpack", "array", "interface", "jax_array"])  # fmt: skip
def test_arrays_of_other_libraries(make):
    np.testing.assert_array_equal(decorated(make()), decorated(X))
    np.testing.assert_array_equal(rb.vmap(lambda x: 2 * x)(make()), 2 * X)
    np.testing.assert_array_equal(lax.cond(True, lambda x: x, lambda x: x, make()), X)
    np.testing.assert_array_equal(rb.device_put(make()), X)


def test_what_comes_by_dlpack_is_copied():
    host = np.ones(1000, np.float32)
    out = rb.jit(lambda x: x)(Tensor(host))
    host[:] = 2
    assert (np.asarray(out) == 1).all()
    shared = dlpack.from_dlpack(np.arange(3))
    assert shared.dtype == np.int64 and dlpack.is_supported_dtype("bfloat16")
    assert not dlpack.is_supported_dtype(rb.random.key(0).dtype) and not dlpack.is_supported_dtype("nothing")


def test_objects_pass_through_vmap():
    def f(x, how, g):
        return g(x) * how["k"] if how["mode"] == "times" else x

    out = rb.vmap(f, in_axes=(0, None, None))(X, {"k": 2, "mode": "times"}, rnp.sin)
    np.testing.assert_allclose(out, 2 * np.sin(X), rtol=1e-6)
    with pytest.raises(TypeError, match=r"argument 'how'\['mode'\] is not an array: got str"):
        rb.vmap(f, in_axes=(0, 0, None))(X, {"k": X, "mode": "times"}, rnp.sin)


# Names ---------------------------------------------------------------------------------------------------


def test_types_for_annotations():
    assert (
        isinstance(X, typing.Array) and isinstance(X, typing.ArrayLike) and isinstance(3.0, typing.ArrayLike)
    )
    assert isinstance(np.ones(3), typing.ArrayLike) and not isinstance("a", typing.ArrayLike)
    assert isinstance("float32", typing.DTypeLike) and isinstance(np.float32, typing.DTypeLike)
    assert isinstance(X, typing.DTypeLike) and not isinstance(3, typing.DTypeLike)


def test_scopes_are_in_the_programs_text_and_their_hlo():
    @functools.partial(rb.named_call, name="outer")
    def f(x):
        with rb.named_scope('in"ner'):
            return rnp.sin(x)

    text = rb.jit(rb.grad(f)).lower(1.0).as_text(debug_info=True)
    assert 'loc("jit(f)/outer/in\\"ner/cos"(' in text
    assert 'op_name="jit(f)/outer/in' in rb.jit(f).lower(X).as_text("hlo")
    with pytest.raises(TypeError, match="takes a name, a str, got int"):
        rb.named_scope(3)
    with pytest.raises(ZeroDivisionError), rb.named_scope("left"):
        raise ZeroDivisionError
    assert "left" not in rb.jit(rnp.cos).lower(1.0).as_text(debug_info=True)


def test_what_is_known_is_computed_while_a_function_is_traced():
    def f(x):
        with rb.ensure_compile_time_eval():
            steps = int(rnp.ceil(rnp.log2(10.0)))
            table = np.asarray(rb.vmap(rb.grad(rnp.sin))(rnp.arange(3.0)))
            traced = x + lax.scan(lambda c, t: (c + t, t), 0.0, rnp.ones(3))[0]
        return traced * steps + table.sum()

    wanted = (1.0 + 3) * 4 + np.cos(np.arange(3)).sum()
    for run in (f, rb.jit(f), rb.jit(rb.vmap(f)), rb.vmap(f)):
        np.testing.assert_allclose(run(1.0) if run is f else run(rnp.ones(1)), wanted, rtol=1e-6)
    assert rb.grad(f)(1.0) == rb.jit(rb.grad(f))(1.0) == 4.0
    assert len(rb.make_jaxpr(f)(1.0).eqns) == 3


def test_slices_by_start_and_size():
    x = rnp.arange(10)
    for index, wanted in (
        (rb.ds(2, 3), [2, 3, 4]), (rb.ds(8, 4), [8, 9]), (rb.ds(2, 5, 2), [2, 4, 6]), (rb.ds(3), [0, 1, 2]),
        (rb.ds(None), range(10)), (rb.ds(-2, 2), [8, 9]),
    ):  # fmt: skip
        np.testing.assert_array_equal(x[index], np.arange(10)[list(wanted)])
    for start, wanted in ((2, [2, 3, 4]), (-3, [7, 8, 9]), (9, [7, 8, 9])):
        np.testing.assert_array_equal(rb.jit(lambda x, i: x[rb.ds(i, 3)])(x, start), wanted)
        np.testing.assert_array_equal(x[rb.ds(rnp.int32(start), 3)], wanted)
    np.testing.assert_array_equal(rb.jit(lambda x, i: x[rb.ds(i, 5, 2)])(x, 1), [1, 3, 5])
    np.testing.assert_array_equal(
        rb.jit(lambda x, i: x.at[rb.ds(i, 2)].set(0))(x, 1), [0, 0, 0, *range(3, 10)]
    )
    table = rnp.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(rb.jit(lambda t, i: t[rb.ds(i, 2), 1])(table, 1), [5, 9])
    with pytest.raises(TypeError, match="size must be a static int"):
        rb.jit(lambda n: rb.ds(0, n))(3)


def test_a_report_of_the_environment(capsys):
    assert rb.print_environment_info() is None
    assert capsys.readouterr().out.strip() == rb.print_environment_info(return_string=True)
    assert f"rabbet: {rb.__version__}" in rb.print_environment_info(True) and rb.process_indices() == [0]


def test_words_that_are_enums():
    assert rb.jit(lambda x: x + 1, inline=rb.Inline.JAX_EARLY)(1.0) == 2.0
    assert rb.CompilerEffortLevel.O1 == 19 and not rb.Inline.AUTO
    inner = rb.jit(lambda x: x + 1, inline=rb.Inline.AUTO)
    assert [e.primitive.name for e in rb.make_jaxpr(inner)(1.0).eqns] == ["jit"]
