"""What a program that was compiled for hardware elsewhere tells, and what it refuses.

Each in a process of its own, for a compiler may end it.
"""

import subprocess
import sys
import textwrap

import pytest
import results

pytestmark = pytest.mark.needs("jit", "numpy")


@pytest.fixture
def printed(platform):
    """A function that runs a program in which `platform`, `topology`, `lowered` and `refused` are known, and
    returns what it prints.
    """

    def run(program):
        head = f"""
            import numpy as np
            import rabbet as rb

            platform, topology = {platform!r}, {results.TOPOLOGIES[platform]!r}

            def lowered(f, *shape):
                x = rb.ShapeDtypeStruct(shape, "float32")
                return rb.jit(f).trace(x).lower(platforms=(platform,))

            def refused(f):
                try:
                    f()
                except Exception as error:
                    print(type(error).__name__, error)
        """
        whole = textwrap.dedent(head) + textwrap.dedent(program)
        done = subprocess.run(
            [sys.executable, "-c", whole], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_what_is_known_of_a_program(printed):
    out = printed("""
        there = lowered(lambda x: rb.numpy.tanh(x @ x).sum(), 128, 128).compile(topology=topology)
        assert there.flops > 2 * 128**3, there.flops
        assert there.memory["argument"] == 4 * 128 * 128, there.memory
        assert there.memory["output"] and "temp" in there.memory and "generated_code" in there.memory
        assert there.memory_analysis().argument_size_in_bytes == 4 * 128 * 128
        assert "ENTRY" in there.as_text()
        assert len(there.serialize()) > 1000
        print(there.device_kind, there.topology)
        refused(lambda: there(np.ones((128, 128), "f4")))
        refused(lambda: lowered(lambda x: x, 2).compile(topology="v0"))
        refused(lambda: lowered(lambda x: x, 2).compile({"xla_no_such_option": 1}, topology=topology))
    """)
    kind, call, unknown, option = out.split("\n", 3)
    assert kind
    assert "RuntimeError <lambda>" in call
    assert "which is not on this machine" in call
    assert "ConfigError" in unknown
    assert "'v0'" in unknown
    assert "xla_no_such_option" in option


def test_too_much_memory_names_the_arrays_and_their_lines(printed):
    out = printed("""
        def f(x):
            return rb.numpy.sum(x @ x)
        refused(lambda: lowered(f, 160_000, 160_000).compile(topology=topology))
    """)
    assert out.startswith("CompileError")
    assert "RESOURCE_EXHAUSTED" in out
    assert "95.4 GiB  f32[160000,160000]  argument 0" in out
    assert "95.4 GiB  f32[160000,160000]  dot_general" in out


def test_linear_algebra_is_native(printed, platform):
    wanted = {
        "cuda": ("cusolver_potrf_ffi", "cusolver_geqrf_ffi"),
        "tpu": ("stablehlo.cholesky", "@Qr"),
    }
    out = printed("""
        print(lowered(lambda x: rb.lax.linalg.cholesky(x), 4, 4).as_text())
        print(lowered(lambda x: rb.lax.linalg.qr(x, full_matrices=False), 4, 4).as_text())
    """)
    assert all(name in out for name in wanted[platform])


def test_every_topology_that_is_named(printed, platform):
    names = {"tpu": ["v4", "v5e", "v5p", "v6e", "v5e:4x4"], "cuda": ["a100", "h100:4", "h200"]}[platform]
    out = printed(f"""
        for name in {names!r}:
            print(name, lowered(lambda x: x + 1, 8).compile(topology=name).device_kind)
    """)
    assert len(out.splitlines()) == len(names), out
