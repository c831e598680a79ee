"""What is exported computes what the function computes: eager, compiled, differentiated, read again."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import export, lax
from rabbet.export.checks import check_targets
from rabbet.extend.native import NativeCalls

X = np.linspace(-1, 1, 3, dtype=np.float32)


def f(x, y):
    return {"s": lax.sin(x) * y, "n": (x + np.float32([1, 2, 3]),)}


@pytest.fixture(scope="module", params=["exported", "read again"])
def program(request):
    made = export.export(rb.jit(f))(X, np.float32(2))
    return made if request.param == "exported" else export.deserialize(made.serialize(vjp_order=2))


def same(found, wanted):
    for a, b in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    assert rb.tree.structure(found) == rb.tree.structure(wanted)


def test_it_is_what_the_function_is(program):
    assert program.fun_name == "f" and program.platforms == ("cpu",) and program.nr_devices == 1
    assert [a.str_short() for a in program.in_avals] == ["f32[3]", "f32[]"]
    same(program.call(X, np.float32(3)), f(X, 3.0))


@pytest.mark.narrow
def test_it_runs_in_compiled_functions(program):
    same(rb.jit(lambda x: program.call(2 * x, 3.0)["s"] + 1)(X), f(2 * X, 3.0)["s"] + 1)


@pytest.mark.narrow
def test_twice_in_one_program(program):
    other = export.export(rb.jit(lambda x: lax.cos(x)))(X)
    both = rb.jit(lambda x: program.call(other.call(x), 3.0)["s"] + program.call(x, 1.0)["s"])
    same(both(X), np.sin(np.cos(X)) * 3 + np.sin(X))


def test_reverse_mode_differentiates_it_twice(program):
    loss = lambda g: lambda x, y: lax.reduce_sum(g(x, y)["s"], (0,))
    same(rb.grad(loss(program.call), (0, 1))(X, np.float32(2)), rb.grad(loss(f), (0, 1))(X, np.float32(2)))
    second = lambda g: rb.grad(lambda y: rb.grad(lambda z: loss(g)(X * z, y))(y))(np.float32(2))
    same(second(program.call), second(f))


def test_the_derivative_is_exported_too(program):
    pulled = program.vjp()
    ones = np.ones(3, np.float32)
    dx, dy = pulled.call(X, np.float32(2), np.zeros(3, np.float32), ones)
    same((dx, dy), (2 * np.cos(X), np.sin(X).sum()))


def test_results_and_arguments_without_derivatives():
    g = lambda x, n: (x * 2, n + 1, lax.sin(x))
    program = export.export(rb.jit(g))(X, np.int32(3))
    program = export.deserialize(program.serialize(vjp_order=2))
    same(program.call(X, np.int32(3)), g(X, np.int32(3)))
    slope = rb.grad(lambda x: lax.reduce_sum(program.call(x, np.int32(1))[2], (0,)))
    same(slope(X), np.cos(X))
    twice = rb.grad(lambda z: lax.reduce_sum(slope(X * z), (0,)))
    same(twice(np.float32(1)), (-np.sin(X) * X).sum())


def test_only_as_many_derivatives_as_were_written():
    blob = export.export(rb.jit(lax.sin))(np.float32(1)).serialize(vjp_order=1)
    program = export.deserialize(blob)
    assert float(rb.grad(program.call)(np.float32(0))) == 1
    with pytest.raises(ValueError, match=r"No VJP is available.*vjp_order=1"):
        rb.grad(rb.grad(program.call))(np.float32(0))
    with pytest.raises(ValueError, match="'sin' was exported without its derivative"):
        export.deserialize(export.export(rb.jit(lax.sin))(np.float32(1)).serialize()).vjp()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64", "complex128"])
def test_dtypes_and_captured_arrays(dtype):
    captured = lax.convert_element_type(np.arange(4, dtype=np.int32).reshape(2, 2), dtype)
    program = export.export(rb.jit(lambda x: (x, captured)))(captured)
    found = export.deserialize(program.serialize()).call(captured)
    for one in found:
        assert one.dtype == dtype
        np.testing.assert_array_equal(np.asarray(one), np.asarray(captured))


def test_arguments_that_are_not_read():
    program = export.export(rb.jit(lambda a, b, c: c + 1))(X, X, X)
    assert program.module_kept_var_idx == (0, 1, 2)
    same(export.deserialize(program.serialize()).call(X, X, 2 * X), 2 * X + 1)


def test_static_arguments_are_no_arguments_any_more():
    power = rb.jit(lambda x, n: lax.integer_pow(x, n), static_argnums=1)
    same(export.export(power)(X, 3).call(X), X**3)


def test_no_arguments_and_no_results():
    assert export.export(rb.jit(lambda: None))().call() is None
    assert float(export.deserialize(export.export(rb.jit(lambda: 2.0))().serialize()).call()) == 2


def test_several_platforms():
    which = lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1)
    program = export.export(rb.jit(which), platforms=("tpu", "cpu", "cuda"))(np.float32(1))
    assert program.platforms == ("tpu", "cpu", "cuda") and program.uses_global_constants
    assert float(export.deserialize(program.serialize()).call(np.float32(1))) == 2


def test_platforms_on_which_nothing_runs_here():
    with rb.config.override(platforms="cpu"):
        program = export.export(rb.jit(lambda x: x + 1), platforms=("cpu", "cuda", "tpu"))(np.float32(1))
    assert program.platforms == ("cpu", "cuda", "tpu") and float(program.call(np.float32(1))) == 2


def test_native_functions_that_are_kept():
    pytest.importorskip("rabbet.lax.linalg")
    a = np.float32([[4, 2], [2, 5]])
    program = export.export(rb.jit(lambda a: lax.linalg.cholesky(a)))(a)
    same(export.deserialize(program.serialize()).call(a), np.linalg.cholesky(a))


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("args, words", [
    ((np.zeros(4, np.float32), 1.0), "exported for f32\\[3\\] as args\\[0\\].*\\(4,\\): the shapes differ"),
    ((np.zeros(3, np.int32), 1.0), "args\\[0\\], and is called with i32\\[3\\]: the dtypes differ"),
    (([X, 1.0],), "exported for arguments of the structure"),
    ((X, "one"), "args\\[1\\] is not an array"),
])  # fmt: skip
@pytest.mark.narrow
def test_other_arguments(program, args, words):
    with pytest.raises(ValueError, match=words):
        program.call(*args)


def test_platforms_that_nobody_knows():
    with pytest.raises(rb.errors.MissingPluginError, match=r"platform 'cpuu'; did you mean 'cpu'\?"):
        export.export(rb.jit(lax.sin), platforms=("tpu", "cpuu"))
    with pytest.raises(TypeError, match="a platform is named by a text, as in 'cpu', got 3"):
        export.export(rb.jit(lax.sin), platforms=(3,))


def test_native_functions_with_nearly_the_names_of_known_ones():
    for target in ("hippo_norm", "cu_mine"):
        with pytest.raises(export.ExportError, match=rf"of 'f': these native functions may be .*{target}"):
            check_targets("f", {target, "lapack_sgetrf_ffi", "cu_threefry2x32_ffi"}, ())
        check_targets("f", {target}, [export.DisabledSafetyCheck.custom_call(target)])


def test_native_functions_that_a_package_promises(monkeypatch):
    calls = [NativeCalls("kept", ("kept_*",), stable=True), NativeCalls("loose", ("loose_*",))]
    monkeypatch.setattr("rabbet.export.checks.all_native_calls", lambda: calls)
    check_targets("f", {"kept_norm"}, ())
    with pytest.raises(export.ExportError, match=r"these native functions may be missing.*loose_norm"):
        check_targets("f", {"kept_norm", "loose_norm"}, ())


def test_other_platforms():
    program = export.export(rb.jit(lax.sin), platforms=("tpu",))(np.float32(1))
    with pytest.raises(ValueError, match=r"and is called on cpu.*platforms=\('tpu', 'cpu'\)"):
        program.call(np.float32(1))
    unchecked = export.export(
        rb.jit(lax.sin), platforms=("tpu",), disabled_checks=[export.DisabledSafetyCheck.platform()]
    )
    assert float(export.deserialize(unchecked(np.float32(0)).serialize()).call(np.float32(0))) == 0


def test_a_function_that_is_not_jitted():
    with pytest.raises(ValueError, match=r"export takes a jitted function, export\(rb.jit\(f\)\), got"):
        export.export(lambda x: x)
    with pytest.raises(TypeError, match="platforms is a sequence"):
        export.export(rb.jit(f), platforms="cpu")
    with pytest.raises(ValueError, match="each platform is named once"):
        export.export(rb.jit(f), platforms=("cpu", "cpu"))


def test_python_functions_stay_here():
    pytest.importorskip("rabbet_callbacks")
    loud = rb.jit(lambda x: rb.pure_callback(np.sin, rb.ShapeDtypeStruct((), "float32"), x))
    with pytest.raises(NotImplementedError, match="Python"):
        export.export(loud)(np.float32(1))

    @rb.jit
    def printing(x):
        rb.debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match=r"has effects .*leave out callbacks"):
        export.export(printing)(np.float32(1))


def test_native_functions_that_nobody_promises():
    from rabbet.extend.primitive import Primitive

    strange = Primitive("strange_export", lambda x: x)
    strange.rule("lower")(lambda op, x: op.custom_call("somebodys_function", [x], op.out_avals)[0])
    jitted = rb.jit(lambda x: strange(x))
    with pytest.raises(ValueError, match=r"somebodys_function\n.*Check.custom_call\('somebodys"):
        export.export(jitted)(X)
    check = export.DisabledSafetyCheck.custom_call("somebodys_function")
    program = export.export(jitted, disabled_checks=[check])(X)
    found = export.deserialize(program.serialize())
    assert found.disabled_safety_checks == (check,)
    with pytest.raises(export.ExportError, match=r"calls native .*: somebodys_function\n.*trusted=True"):
        rb.jit(found.call).lower(X)
    trusted = export.deserialize(program.serialize(), trusted=True)
    assert "somebodys_function" in rb.jit(trusted.call).lower(X).as_text()
    with pytest.raises(TypeError, match="trusted is True or False"):
        export.deserialize(program.serialize(), trusted="no")


MODULE = """module {{ func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {{
%0 = stablehlo.custom_call {} : (tensor<f32>) -> tensor<f32>
return %0 : tensor<f32> }} }}"""


@pytest.mark.parametrize("call", [
    "@xla_ffi_python_cpu_callback(%arg0)", '@"a strange name"(%arg0)',
    '@xla_python_cpu_callback(%arg0) {backend_config = "140737488355328"}',
])  # fmt: skip
def test_forged_calls_of_this_process_are_refused(call):
    """Bytes of a stranger: the program calls Python's way back, with an address of its own choice."""
    import dataclasses

    from rabbet.extend.native import stablehlo_versions, to_portable

    honest = export.export(rb.jit(lambda x: x + 1))(np.float32(1))
    module = to_portable(MODULE.format(call), stablehlo_versions()[0])
    forged = dataclasses.replace(honest, mlir_module_serialized=module)
    found = export.deserialize(forged.serialize())
    with pytest.raises(export.ExportError, match="was read from bytes, and calls native functions"):
        found.call(np.float32(1))


def test_vmap_has_no_rule(program):
    pytest.importorskip("rabbet_vmap")
    with pytest.raises(NotImplementedError, match=r"export rb.vmap of the function"):
        rb.vmap(program.call)(np.stack([X, X]), np.ones(2, np.float32))


def test_the_text_is_stablehlo_without_leftovers(program):
    text = program.mlir_module()
    assert "func.func public @main" in text and "stablehlo.sine" in text
    assert text.count("func.func public") == 1
