"""What JAX refuses, and what it makes of indices: as libraries and their tests count on."""

import subprocess
import sys
import textwrap


def run(tmp_path, program):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "rabbet_jax", file]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr


def test_functions_of_lax_take_operands_of_one_dtype(tmp_path):
    run(
        tmp_path,
        """
        import jax, jax.numpy as jnp
        from jax import lax
        ones = jnp.ones(2)

        def refused(f, *args):
            try:
                f(*args)
            except TypeError:
                return
            raise AssertionError((f, args))

        for name in "add sub mul div rem max min atan2 eq lt nextafter clamp pow select pad".split():
            wrong = {
                "clamp": (0, ones, 2.0), "pow": (ones, ones.astype("float16")), "pad": (ones, 1, [(1, 1, 0)]),
                "select": (ones > 0, ones, 1.0),
            }
            refused(getattr(lax, name), *wrong.get(name, (ones, 1)))
        refused(lax.add, 1, 2.0)
        refused(lax.mul, ones > 0, ones > 0)
        refused(lax.abs, ones.astype("uint8"))
        refused(lax.dynamic_slice, jnp.ones((2, 3)), (jnp.int8(0), jnp.int32(0)), (1, 1))
        refused((ones > 0).at[0].add, True)
        refused(jnp.ones(3).__getitem__, [0, 1])
        assert lax.add(ones, 1.0)[0] == 2 and lax.pow(ones, 2)[0] == 1 and (ones + 1)[0] == 2
        assert lax.reduce(ones, 0.0, lax.add, (0,)) == 2
        assert "add" in str(jax.make_jaxpr(lambda x: lax.add(x, x))(ones))
        """,
    )


def test_a_static_index_out_of_range_is_treated_as_a_computed_one(tmp_path):
    run(
        tmp_path,
        """
        import jax, jax.numpy as jnp, numpy as np
        from jax.experimental import checkify
        x, m = jnp.arange(3.0), jnp.arange(6.0).reshape(2, 3)
        for read in (lambda x, i: x[i], lambda x, i: jax.jit(lambda x: x[i])(x)):
            assert read(x, 50) == 2 and read(x, -50) == 0 and read(m, (0, 50)) == 2
        assert x.at[50].set(1.0).tolist() == x.at[-50].add(1.0).tolist() == [0, 1, 2]
        assert x.at[50].get(mode="fill", fill_value=7.0) == 7
        assert x[np.zeros(0, bool)].shape == (0,) and m[np.zeros((0, 3), bool)].shape == (0,)
        assert x.at[np.zeros(0, bool)].set(1.0).tolist() == [0, 1, 2]
        error, _ = checkify.checkify(lambda x: x[500], errors=checkify.index_checks)(x)
        assert error.get() is not None
        """,
    )


def test_numbers_that_a_dtype_cannot_hold(tmp_path):
    run(
        tmp_path,
        """
        import jax, jax.numpy as jnp
        u = jnp.full((1,), 200, "uint8")
        assert jnp.pad(u, 1, constant_values=-1).tolist() == [255, 200, 255]
        for make in (jnp.full_like, jax.lax.full_like):
            assert make(u, 2**40 + 5).tolist() == [5]
        assert jax.lax.convert_element_type(-1, "uint8") == 255
        try:
            jax.jit(lambda: jax.pure_callback(lambda: 1, jax.ShapeDtypeStruct((), "int64")))()
        except ValueError as error:
            assert "int64" in str(error)
        else:
            raise AssertionError("64 bits were promised")
        """,
    )


def test_dimensions_are_counted_from_the_start_and_bounds_of_a_loop_are_of_one_dtype(tmp_path):
    run(
        tmp_path,
        """
        import numpy as np
        from jax import lax
        a = np.ones((2, 3), "float32")
        step = lambda i, x: x + 1
        for error, call in [
            (TypeError, lambda: lax.concatenate([a, a], -1)),
            (TypeError, lambda: lax.rev(a, (-1,))),
            (TypeError, lambda: lax.dot_general(a, a, (((-1,), (1,)), ((), ())))),
            (ValueError, lambda: lax.broadcasted_iota("int32", (2, 3), dimension=-1)),
            (ValueError, lambda: lax.cumsum(a, -1)),
            (ValueError, lambda: lax.cumsum(a, axis=-1)),
            (ValueError, lambda: lax.reduce_sum(a, axes=(-1,))),
            (ValueError, lambda: lax.argmax(a, -1, "int32")),
            (TypeError, lambda: lax.slice_in_dim(a, 0, 9)),
            (TypeError, lambda: lax.select(np.ones(3, bool), 2.0, 3.0)),
            (TypeError, lambda: lax.fori_loop(np.int8(0), np.int32(3), step, 0)),
            (TypeError, lambda: lax.fori_loop(np.uint8(0), 3, step, 0)),
            (TypeError, lambda: lax.fori_loop(0, np.float32(3), step, 0)),
        ]:
            try:
                call()
            except error:
                continue
            raise AssertionError(error)
        assert int(lax.fori_loop(np.int8(0), 3, step, 0)) == 3
        # As in environments of JaxMARL, whose selectors have a dimension of size 1.
        mapped = __import__("jax").vmap(lambda x: lax.select(x <= 2, 0, 1))(np.arange(4)[:, None])
        assert mapped.tolist() == [[0], [0], [0], [1]]
        key, bits = lax.rng_bit_generator(np.arange(4, dtype="uint32"), (3,), "uint64")
        assert bits.dtype == "uint32" and key.tolist() == [0, 1, 3, 3]
        """,
    )
