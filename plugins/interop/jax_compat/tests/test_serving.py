"""``import jax`` answered by Rabbet: in processes of their own, for that holds for a whole process."""

import importlib.machinery
import subprocess
import sys
import textwrap
import types

import pytest
import rabbet as rb
from rabbet_jax.finder import Finder


@pytest.fixture
def child(tmp_path):
    """Run a program in a new process; what it printed."""

    def run(program, *command, status=0):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        ran = subprocess.run(
            [sys.executable, *(command or ["-m", "rabbet_jax"]), file, "7"],
            capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert ran.returncode == status, ran.stderr
        return ran.stdout + ran.stderr

    return run


def test_a_program_written_for_jax(child):
    out = child(
        """
        import sys
        import jax, jax.numpy as jnp
        from jax import lax
        import jax.lax as also_lax
        import rabbet, rabbet.numpy

        @jax.jit
        def loss(w, x):
            return jnp.sum(jnp.tanh(x @ w) ** 2)

        gradient = jax.vmap(jax.grad(loss), (None, 0))(jnp.ones(3), jnp.arange(6.0).reshape(2, 3))
        assert gradient.shape == (2, 3), gradient.shape
        assert isinstance(gradient, jax.Array) and jax.Array is rabbet.Array
        assert lax is also_lax and lax is not rabbet.lax and jnp.sum is rabbet.numpy.sum
        assert jax.__version_info__ == tuple(map(int, jax.__version__.split(".")))
        assert sys.argv[1:] == ["7"]
        print("done")
        """
    )
    assert "done" in out


def test_a_name_that_was_read_is_found_by_a_plain_lookup(child):
    """Python looks up names of a module by its fast way only where its class adds no ``__getattr__``."""
    out = child(
        """
        import types
        import jax, jax.numpy as jnp
        from jax._src import core

        namespace = types.ModuleType.__dict__["__dict__"].__get__
        for module, name in ((jax, "jacfwd"), (jnp, "sinh"), (jax.lax, "sinh"), (core, "Tracer")):
            assert type(module).__getattribute__ is types.ModuleType.__getattribute__
            assert not hasattr(type(module), "__getattr__")
            namespace(module).pop(name, None)
            value = getattr(module, name)
            assert namespace(module)[name] is value, name
        for module in (jax, jnp, jax.lax):
            try:
                module.no_such_name
            except AttributeError as error:
                assert "served by Rabbet, has no attribute 'no_such_name'" in str(error), error
            else:
                raise AssertionError(module)
        print("done")
        """
    )
    assert "done" in out


def test_libraries_find_what_import_jax_loads(child):
    """As array-api-compat asks: by the modules that are loaded, and by the name of an array's namespace."""
    out = child(
        """
        import sys
        import jax, numpy as np
        assert "jax.core" in sys.modules and "jax.numpy" in sys.modules
        core = sys.modules["jax.core"]
        traced = []
        jax.jit(lambda x: traced.append(isinstance(x, core.Tracer)) or x)(jax.numpy.ones(2))
        assert traced == [True]

        def inside_jit():  # as array-api-extra asks
            try:
                return bool(jax.numpy.asarray(False))
            except jax.errors.TracerBoolConversionError:
                return True

        known = jax.numpy.ones(2)
        assert not inside_jit() and jax.jit(lambda: jax.numpy.float32(inside_jit()))() == 1
        assert jax.jit(lambda: jax.numpy.float32(jax.vmap(lambda x: x + inside_jit())(known).sum()))() == 4
        assert jax.jit(lambda: 0.0 if jax.numpy.asarray(known) is known else 1.0)() == 0
        assert jax.numpy.asarray([1, 2], dtype="int8").dtype == "int8"
        assert jax.numpy.asarray.__name__ == "asarray"
        assert jax.numpy.ones(2).__array_namespace__() is jax.numpy
        assert jax.numpy.ones(2).__array_namespace__().__name__ == "jax.numpy"
        import pickle
        assert type(known).__module__ == "jax" and pickle.loads(pickle.dumps(type(known))) is jax.Array
        assert pickle.loads(pickle.dumps(known)).tolist() == [1, 1]
        jax.jit(lambda x: traced.append(type(x).__module__.partition(".")[0]))(known)
        assert traced[-1] == "jax"
        print("found")
        """
    )
    assert "found" in out


def test_kernels_of_jax_can_be_imported_and_not_called_where_jax_is_not(child):
    """Keras imports some at its head."""
    out = child(
        """
        import rabbet_jax.finder
        rabbet_jax.finder.OF_JAX = ()
        from jax.experimental.pallas.ops.tpu.splash_attention import make_splash_mha, CausalMask
        from jax.experimental import pallas as pl
        import jax.experimental.pallas.ops.tpu as kernels
        assert kernels.splash_attention.CausalMask is CausalMask
        from jax.experimental.pallas import mosaic_gpu, tpu, triton
        for absent, why in ((make_splash_mha, "jax is not installed"), (mosaic_gpu.kernel, "Mosaic GPU"),
                            (pl.get_global, "does not have it"), (tpu.BufferedRef.input, "does not have it"),
                            (triton.get_gpu_info, "does not have it")):
            try:
                absent(None)
            except NotImplementedError as error:
                assert why in str(error), error
            else:
                raise AssertionError(absent)
        for module in (pl, tpu, triton):  # libraries ask so for names of other releases of JAX
            assert not hasattr(module, "no_such_name")
        print("refused")
        """
    )
    assert "refused" in out


def test_pallas(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import tpu as pltpu, triton as plgpu
        def kernel(x, out, scratch):
            scratch[...] = plgpu.load(x.at[pl.ds(0, 4)], mask=jnp.arange(4) < 3, other=0)
            out[...] = scratch[...] + pl.program_id(0)
        call = pl.pallas_call(
            kernel, jax.ShapeDtypeStruct((8,), jnp.int32), grid=(2,),
            in_specs=[pl.BlockSpec((4,), lambda i: (i,))],
            out_specs=pl.BlockSpec((4,), lambda i: (i,)), scratch_shapes=[pltpu.VMEM((4,), jnp.int32)],
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)))
        print(jax.jit(call)(jnp.arange(8)).tolist())
        """
    )
    assert out.splitlines() == ["[0, 1, 2, 0, 5, 6, 7, 1]"]


def test_modules_of_which_there_are_names_only(child):
    out = child(
        """
        from jax.extend import ifrt_programs
        print(ifrt_programs.__name__)
        """
    )
    assert out.splitlines() == ["jax.extend.ifrt_programs"]


@pytest.mark.needs("distributed")
def test_arrays_for_other_processes(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        from jax.experimental import transfer
        server = transfer.start_transfer_server(jax.devices()[0].client, "127.0.0.1:0", ["127.0.0.1:0"])
        x = jnp.arange(4.0)
        server.await_pull(7, {"x": x})
        wanted = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
        found = server.connect(server.address()).pull(7, {"x": wanted})
        print(found["x"].tolist(), found["x"].sharding == x.sharding, type(server).__name__)
        """
    )
    assert out.splitlines() == ["[0.0, 1.0, 2.0, 3.0] True TransferServer"]


def test_python_beside_arrays(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        from jax.experimental import colocated_python as colocated
        print(colocated.colocated_cpu_devices(jax.devices()) == tuple(jax.devices()))
        mesh = jax.make_mesh((1,), ("x",))
        print(colocated.colocated_cpu_devices(mesh) == mesh)

        @colocated.colocated_python
        def double(x, *, by=2):
            return {"y": x * by}

        print(double(jnp.arange(3), by=3), double.specialize(devices=jax.devices())(jnp.arange(2)))

        @colocated.colocated_python_class
        class Held:
            def __init__(self, x):
                self.x = x
            def plus(self, y):
                return self.x + y

        print(Held(jnp.ones(2)).plus(1))
        """
    )
    results = "{'y': Array([0, 3, 6], dtype=int32)} {'y': Array([0, 2], dtype=int32)}"
    assert out.splitlines() == ["True", "True", results, "[2. 2.]"]


def test_promises_of_python_beside_arrays_are_checked(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        from jax.experimental import colocated_python as colocated

        @colocated.colocated_python
        def double(x, by=2):
            return x * by

        x = jnp.arange(3)
        spec = jax.ShapeDtypeStruct((3,), "int32")
        told = double.specialize(in_specs=((spec,), {}), out_specs_fn=lambda x: x)
        print(told(x), told.specialize(devices=jax.devices()[:1])(x))
        print(double.specialize(in_specs=(spec,))(x))
        for call in (
            lambda: told(jnp.arange(4)), lambda: told(x, by=3), lambda: told(x + 0.5),
            lambda: double.specialize(out_specs_fn=lambda x: jax.ShapeDtypeStruct((2,), "int32"))(x),
            lambda: double.specialize(out_specs_fn=lambda x: [x])(x),
            lambda: told.specialize(in_specs=((spec,), {})),
        ):
            try:
                print("missed", call())
            except ValueError as error:
                print(str(error)[:60])
        """
    )
    assert out.splitlines() == [
        "[0 2 4] [0 2 4]",
        "[0 2 4]",
        "colocated_python: leaf 0 of the arguments of double is i32[4",
        "colocated_python: the arguments of double are PyTreeDef(((*,",
        "colocated_python: leaf 0 of the arguments of double is f32[3",
        "colocated_python: leaf 0 of the results of double is i32[3],",
        "colocated_python: the results of double are PyTreeDef(*), an",
        "colocated_python: double has in_specs already",
    ]


def test_python_ints_beside_narrower_arrays_are_taken_modulo(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        x = jnp.array([1, 7], "uint8")
        print((x * -1).tolist(), jax.jit(lambda x: x + 300)(x).tolist(), jnp.full_like(x, -1).tolist())
        try:
            jnp.asarray(-1, "uint8")
        except OverflowError as error:
            print("refused")
        """
    )
    assert out.splitlines() == ["[255, 249] [45, 51] [255, 255]", "refused"]


def test_64_bits_are_truncated_everywhere_alike(child):
    out = child(
        """
        import warnings
        warnings.simplefilter("ignore")
        import jax, jax.numpy as jnp, numpy as np
        key, x = jax.random.PRNGKey(0), jnp.ones((2, 2))
        of_random = (
            jax.random.normal, jax.random.uniform, jax.random.exponential, jax.random.gumbel,
        )
        floats = [f(key, (2,), np.float64) for f in of_random]
        assert all((a == f(key, (2,))).all() for a, f in zip(floats, of_random))
        floats += [
            jax.random.gamma(key, 2.0, dtype=np.float64),
            jax.random.truncated_normal(key, -1, 1, (2,), np.float64),
            jax.nn.initializers.orthogonal()(key, (2, 2), np.float64), jnp.stack([x, x], dtype=np.float64),
            jnp.matmul(x, x, preferred_element_type=np.float64),
        ]
        assert {a.dtype for a in floats} == {np.dtype("float32")}
        assert jax.random.normal(key, (2,), np.complex128).dtype == np.complex64
        assert jax.random.poisson(key, 2.0, (2,), np.int64).dtype == np.int32
        assert jax.lax.argmax(x, 0, np.int64).dtype == np.int32
        assert jnp.shape(None) == () and jnp.ndim(None) == 0 and jnp.size(None) == 1 and jnp.size(x, 0) == 2
        assert np.int32 in {jnp.int32, jnp.int64} and jnp.float32 in {np.float32}
        print("done")
        """
    )
    assert "done" in out


def test_all_names_of_a_module_can_be_imported(child):
    out = child(
        """
        from jax.lax import *
        from jax.numpy import *
        import jax.numpy

        print(array is jax.numpy.array, linalg is jax.numpy.linalg)
        print(float(add(1.0, 2.0)), "_sources" in globals())
        """
    )
    assert out.split() == ["True", "True", "3.0", "False"]


def test_install_as_the_first_lines_and_twice(child):
    out = child(
        """
        import rabbet_jax
        assert not rabbet_jax.installed()
        rabbet_jax.install()
        rabbet_jax.install()
        assert rabbet_jax.installed()
        import jax.numpy as jnp
        print(float(jnp.sum(jnp.ones(3))), jnp.__name__)
        """,
        "-u",
    )
    assert "3.0 jax.numpy" in out


def test_jax_that_is_loaded_already_is_refused(child):
    out = child(
        """
        import sys, types
        sys.modules["jax"] = types.ModuleType("jax")
        import rabbet_jax
        rabbet_jax.install()
        """,
        "-u",
        status=1,
    )
    assert "ImportError: jax itself is loaded already" in out


def test_what_is_absent_raises_when_it_is_called_and_is_reported(child):
    out = child(
        """
        import jax, rabbet_jax
        from jax.interpreters import partial_eval
        from jax._src.something import anything
        trace = partial_eval.dce_jaxpr_call_rule
        assert isinstance(anything, type)
        class Derived(anything):
            pass
        try:
            trace(None)
        except NotImplementedError as error:
            assert "jax.interpreters.partial_eval.dce_jaxpr_call_rule is not there" in str(error)
            assert "report" in str(error)
        names = [name for name, _ in rabbet_jax.report()]
        assert "jax._src.something.anything" in names and len(names) == 2, names
        assert not hasattr(jax, "no_such_name") and not hasattr(jax.numpy, "no_such_name")
        try:
            import jax.no_such_module
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    assert "jax is served by Rabbet, which has no such module" in out


def test_primitives_made_as_for_jax(child):
    """With rules from JAX's tables: evaluated, differentiated twice, transposed, mapped, jitted."""
    out = child(
        """
        import numpy as np
        import jax, jax.numpy as jnp
        import jax.extend.core
        from jax.extend.core import Primitive
        from jax.interpreters import ad, batching, mlir

        scaled_p = Primitive("scaled")
        scaled = lambda x, by: scaled_p.bind(x, by=by)
        scaled_p.def_impl(lambda x, *, by: jnp.asarray(np.asarray(x) * by))
        scaled_p.def_abstract_eval(lambda x, *, by: jax.core.ShapedArray(x.shape, x.dtype))
        ad.deflinear(scaled_p, lambda ct, *, by: [scaled(ct, by)])
        batching.primitive_batchers[scaled_p] = lambda args, axes, by: (scaled(args[0], by), axes[0])
        mlir.register_lowering(scaled_p, mlir.lower_fun(lambda x, by: x * by, multiple_results=False))

        cube_p = Primitive("cube")
        cube = lambda x: cube_p.bind(x)
        cube_p.def_impl(lambda x: x * x * x)
        cube_p.def_abstract_eval(lambda x: jax.core.ShapedArray(x.shape, x.dtype))
        ad.primitive_jvps[cube_p] = lambda xs, ts: (cube(*xs), 3 * xs[0] ** 2 * ts[0])
        batching.defvectorized(cube_p)
        # One that builds MLIR: the implementation is called instead.
        mlir.register_lowering(cube_p, lambda ctx, x: None)

        x, n = jnp.arange(1.0, 4.0), np.arange(1.0, 4.0)
        f = lambda x: jnp.sum(scaled(cube(x), 2.0))
        np.testing.assert_allclose(f(x), 2 * np.sum(n ** 3))
        np.testing.assert_allclose(jax.grad(f)(x), 6 * n ** 2)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda x: jax.grad(f)(x).sum()))(x), 12 * n)
        np.testing.assert_allclose(jax.vmap(lambda x: scaled(cube(x), 2.0))(x), 2 * n ** 3)
        np.testing.assert_allclose(jax.jit(cube)(x), n ** 3)
        assert "scaled" in str(jax.make_jaxpr(f)(x))
        second = Primitive("scaled")  # another library's
        assert second is not scaled_p
        print("done")
        """
    )
    assert "done" in out


def test_programs_that_libraries_walk(child):
    out = child(
        """
        import jax, jax.numpy as jnp
        from jax import core, api_util
        from jax.extend import linear_util as lu
        closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)
        assert [eqn.primitive.name for eqn in closed.jaxpr.eqns] == ["sin", "add"]
        assert float(core.jaxpr_as_fun(closed)(0.0)[0]) == 1.0
        assert float(core.eval_jaxpr(closed.jaxpr, closed.consts, 0.0)[0]) == 1.0
        assert closed.jaxpr.eqns[0].primitive is jax.lax.sin_p
        aval = core.get_aval(1.0)
        assert isinstance(aval, core.ShapedArray) and isinstance(aval, core.AbstractValue)
        wrapped = lu.wrap_init(lambda t: {"a": t["x"] * 2})
        flat, tree = api_util.flatten_fun_nokwargs(wrapped, jax.tree.structure(({"x": 0},)))
        assert flat.call_wrapped(3) == [6] and tree() == jax.tree.structure({"a": 0})
        seen = []
        jax.jit(lambda x: (seen.append(core.trace_state_clean()), x)[1])(1.0)
        assert core.trace_state_clean() and seen == [False]
        assert jax.lax.cond(True, 1.0, lambda x: x + 1, 2.0, lambda x: x) == 2.0
        print("done")
        """
    )
    assert "done" in out


def test_the_command_says_how_it_is_used():
    ran = subprocess.run([sys.executable, "-m", "rabbet_jax"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "PROGRAM" in ran.stderr


def test_the_command_of_rabbet(child):
    out = child(
        """
        import sys
        import jax._src.something
        jax._src.something.anything
        print(sys.argv[1:], jax.numpy.zeros(2).sum(), __name__)
        raise ValueError("the program's own")
        """,
        *("-m", "rabbet", "run-jax", "--report"),
        status=1,
    )
    assert "['7'] 0.0 __main__" in out and "Traceback" in out and "ValueError: the program's own" in out
    assert "jax._src.something.anything: Rabbet does not offer it" in out


def test_processes_that_a_program_starts(child):
    out = child(
        """
        import subprocess, sys
        look = [sys.executable, "-c", "import rabbet_jax; print(rabbet_jax.installed())"]
        print(subprocess.run(look, capture_output=True, text=True).stdout)
        """,
        *("-m", "rabbet_jax", "--children"),
    )
    assert "True" in out


def test_dtypes_of_64_bits_are_truncated_with_a_warning_unless_they_are_enabled(child):
    out = child(
        """
        import warnings
        import jax, jax.numpy as jnp
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert jnp.zeros(2, "float64").dtype == jnp.float32
            assert jnp.arange(2, dtype=jnp.int64).dtype == jnp.int32
            assert jnp.ones(2).astype("float64").dtype == jnp.float32
        assert len(seen) == 3, seen
        with jax.enable_x64(True):
            assert jnp.zeros(2, "float64").dtype == jnp.float64
        print("done")
        """
    )
    assert "done" in out


def test_exported_programs(child):
    pytest.importorskip("rabbet.export")
    out = child(
        """
        import jax, jax.numpy as jnp, rabbet.export
        import jax.export
        from jax import export
        assert export is jax.export and export.__name__ == "jax.export"
        assert export.Exported is rabbet.export.Exported
        written = export.export(jax.jit(lambda x: jnp.sin(x) * 2))(jnp.ones(3)).serialize()
        print(export.deserialize(written).call(jnp.zeros(3)))
        """
    )
    assert "[0. 0. 0.]" in out


def test_several_processes(child):
    pytest.importorskip("rabbet_distributed")
    out = child(
        """
        import rabbet.distributed, rabbet.experimental.multihost_utils as ours
        import jax, jax.distributed
        from jax.experimental import multihost_utils
        for name in rabbet.distributed.__all__:
            assert getattr(jax.distributed, name) is getattr(rabbet.distributed, name), name
        for name in ours.__all__:
            assert getattr(multihost_utils, name) is getattr(ours, name), name
        assert not jax.distributed.is_initialized()
        print(multihost_utils.process_allgather(2), jax.process_index(), jax.process_indices())
        """
    )
    assert "[2] 0 [0]" in out


def test_packages_that_are_missing_are_named(child, monkeypatch):
    monkeypatch.setenv("RABBET_DISABLE_PLUGINS", "rabbet-parallel,rabbet-distributed")
    out = child(
        """
        import jax, jax.distributed
        from jax.experimental import multihost_utils
        assert jax.distributed.is_initialized() is False
        assert multihost_utils.process_allgather(2, tiled=True).tolist() == [2]
        try:
            jax.shard_map(lambda x: x)
        except NotImplementedError as error:
            print(error)
        """
    )
    assert "jax.shard_map is not there" in out and "rabbet-parallel" in out


def test_the_parts_of_an_array_over_several_devices(child):
    pytest.importorskip("rabbet_parallel")
    out = child(
        """
        import jax, jax.numpy as jnp, numpy as np
        from jax.sharding import NamedSharding, PartitionSpec as P
        jax.config.update("jax_num_cpu_devices", 4)
        rows = NamedSharding(jax.make_mesh((4,), ("a",)), P("a"))
        x = jax.device_put(np.ones((4, 2), "float32"), rows)
        print([shard.data.shape for shard in x.addressable_shards], jnp.copy(x).sharding == rows)
        """
    )
    assert out.strip().endswith("[(1, 2), (1, 2), (1, 2), (1, 2)] True")


def test_the_version_is_the_one_that_libraries_were_chosen_for(child):
    out = child(
        """
        import importlib.metadata
        import jax, jaxlib.version
        try:
            wanted = importlib.metadata.version("jax")
        except importlib.metadata.PackageNotFoundError:
            wanted = jaxlib.version.__version__
        assert jax.__version__ == jax.version.__version__ == wanted, (jax.__version__, wanted)
        assert ".".join(map(str, jax.__version_info__)) == wanted
        assert jax.version.__version_info__ == jax.__version_info__
        print("told")
        """
    )
    assert "told" in out


def test_modules_can_be_copied_and_classes_made_of_what_is_served(child):
    out = child(
        """
        import jax, jax.numpy as jnp, numpy as np
        copied = dict(jnp.__dict__)
        assert copied["sum"] is jnp.sum and "add" in vars(jax.lax)
        assert callable(vars(jax.scipy.special)["erf"])

        import jax.extend.core
        from jax.extend.core import Primitive

        class Twice(Primitive):
            multiple_results = True

            def impl(self, x):
                return [np.asarray(x) * 2, np.asarray(x)]

            def abstract_eval(self, x):
                return [jax.core.ShapedArray(x.shape, x.dtype)] * 2, jax.extend.core.no_effects

        twice = Twice("twice_of_a_test")
        assert [x.tolist() for x in twice.bind(jnp.arange(2.0))] == [[0, 2], [0, 1]]
        eqn, = jax.make_jaxpr(twice.bind)(jnp.ones(2)).eqns
        assert eqn.primitive is twice and len(eqn.outvars) == 2
        assert [x.tolist() for x in jax.jit(twice.bind)(jnp.arange(2.0))] == [[0, 2], [0, 1]]
        count = []
        f = lambda x: count.append(1) or x + 1
        [jax.jit(f)(1.0) for _ in range(3)]
        assert len(count) == 1
        print("copied")
        """
    )
    assert "copied" in out


def test_a_package_that_cannot_be_used_hinders_no_other_name():
    """Where tensorstore was missing, `from jax.experimental import io_callback` raised for rabbet-store."""
    asked = []

    def read(name):
        asked.append(name)
        if name == "broken":
            raise rb.errors.PluginError("needs what is not installed")
        if name != "good":
            raise AttributeError(name)
        return 1

    source = types.ModuleType("source")
    source.__getattr__, source.__dir__ = read, lambda: ["broken", "good"]
    spec = importlib.machinery.ModuleSpec("jax.some", None)
    spec.loader_state = [source]
    finder = Finder()
    served = finder.create_module(spec)
    finder.exec_module(served)
    assert set(asked) <= {"ABSENT", "WHY", "OPEN", "OPEN_BELOW"}  # names are read when they are asked for
    assert served.good == 1 and served.__all__ == ["good"]
    with pytest.raises(rb.errors.PluginError, match="not installed"):
        _ = served.broken


def test_what_is_beyond_the_ends_of_an_image(child):
    """A point behind the last one is halfway to what is beyond, as in JAX; SciPy's is that at once."""
    out = child(
        """
        import jax
        import jax.numpy as jnp
        from jax.scipy.ndimage import map_coordinates

        at = [jnp.array([0.5, 2.5, -0.5])]
        for mode in ("constant", "wrap", "nearest"):
            f = jax.jit(lambda x: map_coordinates(x, at, 1, mode, cval=9.0))
            print(mode, f(jnp.array([1.0, 2.0, 3.0])))
        """
    )
    assert out.splitlines() == [
        "constant [1.5 6.  5. ]",
        "wrap [1.5 2.  2. ]",
        "nearest [1.5 3.  1. ]",
    ]
