"""What libraries count on beside names: how often functions are traced, which frames users see."""

import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def child(tmp_path):
    """Run a program in a new process that serves ``jax``."""

    def run(program):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        ran = subprocess.run(
            [sys.executable, "-m", "rabbet_jax", file],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr

    return run


def test_loops_outside_of_jit_trace_their_functions_once(child):
    child(
        """
        import jax, jax.numpy as jnp
        traced = []

        def step(carry, x):
            traced.append(1)
            return carry + 1, x**2

        def branch(x):
            traced.append(1)
            return -x

        x = jnp.arange(5.0)
        for _ in range(2):
            count, squares = jax.lax.scan(step, 0, x)
            assert (count, squares[3]) == (5, 9) and len(traced) == 1
        for _ in range(2):
            assert jax.lax.cond(True, branch, branch, x)[1] == -1 and len(traced) == 2
        """
    )


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("way", ["auto", "tracebackhide", "remove_frames"])
def test_frames_of_libraries_that_ask_for_it_are_hidden(child, tmp_path, way, hidden):
    library = tmp_path / "library.py"
    library.write_text(
        textwrap.dedent(
            """
            from jax._src import traceback_util

            traceback_util.register_exclusion(__file__)

            @traceback_util.api_boundary
            def call(f):
                return f()
            """
        )
    )
    child(
        f"""
        import traceback
        import jax, library
        from jax._src import traceback_util

        if not {hidden}:
            traceback_util._exclude_paths.remove(library.__file__)
        jax.config.update("jax_traceback_filtering", {way!r})

        def mine():
            raise ValueError("here")

        try:
            library.call(mine)
        except ValueError as error:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            whole = error.__cause__
        if {way == "tracebackhide"}:
            frames = [frame for frame in frames if "__tracebackhide__" not in frame.f_locals]
        else:
            assert (type(whole) is traceback_util.UnfilteredStackTrace) == {way == "remove_frames"}
        files = [frame.f_code.co_filename for frame in frames]
        assert (library.__file__ in files) != {hidden}, files
        assert len(files) == (2 if {hidden} else 3), files
        """
    )


def test_a_primitive_with_an_implementation_alone_within_checkpoint(child):
    """JAX calls it, since `checkpoint` outside of jit runs its function's operations one by one."""
    child(
        """
        import jax, jax.numpy as jnp
        import numpy as np
        from jax.extend.core import Primitive
        from jax.interpreters import ad

        calls = []
        noted_p = Primitive("noted")
        noted_p.def_impl(lambda x: calls.append(1) or x)
        noted_p.def_abstract_eval(lambda x: x)
        ad.deflinear(noted_p, lambda ct: [ct])
        f = jax.checkpoint(lambda x: noted_p.bind(jnp.sin(x)) ** 2)
        value, gradient = jax.value_and_grad(f)(1.0)
        np.testing.assert_allclose((value, gradient), (np.sin(1) ** 2, np.sin(2)), rtol=1e-6)
        assert calls
        """
    )


def test_libraries_find_the_words_that_they_look_for(child):
    child(
        """
        import jax
        try:
            jax.jit(lambda x: 1 if x else 2)(1.0)
        except jax.errors.TracerBoolConversionError as error:
            assert "Attempted boolean conversion of traced array" in str(error)
        """
    )


def test_names_that_libraries_call(child):
    child(
        """
        import inspect
        import jax, jax.numpy as jnp
        from jax._src.api_util import infer_argnums_and_argnames
        from jax.extend import linear_util
        from jax.tree_util import default_registry

        assert default_registry.flatten_one_level({"a": 1, "b": [2, 3]})[0] == (1, [2, 3])
        assert default_registry.flatten_one_level(1) is None
        assert default_registry.flatten([1, (2,)])[0] == [1, 2]

        signature = inspect.signature(lambda x, y, *, z: x)
        assert infer_argnums_and_argnames(signature, None, None) == ((), ())
        assert infer_argnums_and_argnames(signature, 1, None) == ((1,), ("y",))
        assert infer_argnums_and_argnames(signature, None, ["x", "z"]) == ((0,), ("x", "z"))

        @linear_util.transformation_with_aux
        def flattened(n, *args):
            out = yield [2 * x for x in args], {}
            yield out + n, "the rest"

        f, rest = flattened(linear_util.wrap_init(lambda x, y: x - y), 1)
        assert f.call_wrapped(5, 2) == 7 and rest() == "the rest"

        captured = jnp.arange(3.0)
        closed = jax.make_jaxpr(lambda x: x + captured)(1.0)
        assert closed.literals == closed.consts and len(closed.literals) == 1
        assert jax.core.ShapedArray((2,), "int32").at_least_vspace().dtype == jax.dtypes.float0
        """
    )


def test_a_compiled_function_tells_its_signature_itself(child):
    child(
        """
        import functools, inspect
        import jax

        @functools.partial(jax.jit, static_argnames="scale")
        def joint(x, *, scale=2):
            return x * scale

        own = inspect.signature(joint, follow_wrapped=False)
        assert own == inspect.signature(joint.__wrapped__) and list(own.parameters) == ["x", "scale"]
        assert joint(3.0) == 6 and jax.jit(joint)(1.0) == 2
        hidden = type("Hidden", (), {"__signature__": 0, "__call__": lambda self, x: x})()
        assert jax.jit(hidden)(1.0) == 1
        """
    )


def test_what_was_started_is_asked_for_each_time(child):
    child(
        """
        import jax
        assert not jax._src.xla_bridge._backends
        jax.devices("cpu")
        assert list(jax._src.xla_bridge._backends) == ["cpu"]
        """
    )


def test_a_device_that_cannot_be_is_refused_when_the_function_is_called(child):
    child(
        """
        import jax, pytest
        wrong = [({"device": "cpu"}, "device must be"), ({"backend": "none"}, "^Unknown backend")]
        for where, words in wrong:
            f = jax.jit(lambda x: x + 1, **where)  # some libraries never call it
            for use in (f, f.lower, jax.jit(f), jax.grad(f)):
                with pytest.raises((TypeError, RuntimeError), match=words):
                    use(1.0)
        with pytest.raises(TypeError, match="function"):
            jax.jit(3)
        assert jax.jit(lambda x: x + 1, device=jax.devices()[0])(1.0) == 2
        """
    )


def test_the_dtype_of_a_result_is_one_that_arrays_have(child):
    child(
        """
        import pytest, jax, jax.numpy as jnp, numpy as np
        for wide, narrow in (("float64", "float32"), (np.int64, "int32"), (jnp.float64, "float32")):
            with pytest.warns(UserWarning, match="asked for"):
                assert jnp.result_type(wide) == narrow
        assert jnp.result_type(np.ones(2), 1) == "float32" and jnp.result_type(int, "int8") == "int8"
        assert jnp.promote_types("float64", "int32") == "float64"
        with jax.enable_x64(True):
            assert jnp.result_type("float64", "float32") == "float64"
        """
    )
