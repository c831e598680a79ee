"""What settings do, in programs of several packages."""

import logging
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.config import CORE_SETTINGS
from rabbet.errors import ConfigError, TransferError, TypePromotionError, UnexpectedTracerError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.compile_options import build_options

rnp = pytest.importorskip("rabbet.numpy")
random = pytest.importorskip("rabbet.random")


def test_no_variable_stops_the_import():
    garbage = {setting.variable: "\x01 ?" for setting in CORE_SETTINGS}
    code = "import rabbet as rb; print(rb.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **garbage}, capture_output=True, text=True
    )
    assert done.stdout.strip() == rb.__version__, done.stderr


# What they do --------------------------------------------------------------------------------------------

INTS, FLOATS = rnp.arange(3), rnp.ones(3)


@pytest.mark.narrow
def test_strict_promotion_refuses_what_changes_a_dtype():
    refused = (
        lambda: INTS + FLOATS,
        lambda: INTS + 1.0, lambda: (INTS > 1) + 1, lambda: rnp.where(INTS > 1, INTS, FLOATS),
        lambda: INTS @ FLOATS, lambda: rnp.concatenate([INTS, FLOATS]), lambda: INTS.at[0].set(FLOATS[0]),
        lambda: rnp.asarray(1.0) + INTS, lambda: rb.jit(rnp.add)(INTS, FLOATS), lambda: FLOATS + np.int32(1),
    )  # fmt: skip
    with rb.numpy_dtype_promotion("strict"):
        for ask in refused:
            with pytest.raises(TypePromotionError, match="'strict'"):
                ask()
        assert (INTS + 1).dtype == np.int32 and (FLOATS + 1).dtype == (2.0 * FLOATS).dtype == np.float32
        assert (INTS / INTS).dtype == rnp.mean(INTS).dtype == rnp.sin(INTS).dtype == np.float32
    assert (INTS + FLOATS).dtype == np.float32


@pytest.mark.narrow
def test_64_bits_that_are_written_out():
    asked = (
        lambda: rnp.zeros(3, "float64"),
        lambda: FLOATS.astype("float64"), lambda: rnp.asarray([1.0], "float64"),
        lambda: rnp.sum(FLOATS, dtype="float64"), lambda: lax.convert_element_type(FLOATS, np.float64),
        lambda: rnp.full(3, 1.0, np.float64), lambda: rnp.stack([FLOATS], dtype="float64"),
        lambda: rnp.matmul(FLOATS, FLOATS, preferred_element_type="float64"),
    )  # fmt: skip
    for ask in asked:
        assert ask().dtype == np.float64
        with (
            rb.config.override(explicit_x64_dtypes="warn"),
            pytest.warns(UserWarning, match="becomes float32"),
        ):
            assert ask().dtype == np.float32
        with (
            rb.config.override(explicit_x64_dtypes="error"),
            pytest.raises(ValueError, match="ask for float32"),
        ):
            ask()
        with rb.config.override(explicit_x64_dtypes="error", enable_x64=True):
            assert ask().dtype == np.float64
    with rb.config.override(explicit_x64_dtypes="error"):
        assert FLOATS.astype(float).dtype == np.asarray(rnp.asarray(np.ones(2))).dtype == np.float32


def test_values_of_64_bits_keep_them_where_their_dtype_is_asked_for():
    real, both = np.array([0.1]), np.array([0.1 + 0.2j])
    for value, dtype in ((real, "float64"), (both, "complex128"), (real, "complex128"), (both, "float64")):
        found = lax.convert_element_type(value, dtype)
        np.testing.assert_array_equal(found, value.real if dtype == "float64" else value)


@pytest.mark.forbidden("check_tracer_leaks")
def test_leaks_are_found_where_they_happen():
    kept = []

    def leaks(x):
        kept.append(x * 2.0)
        return x

    def clean(x):
        return lax.scan(lambda c, t: (rnp.sin(c) * t, c), x, rnp.ones(3))[0]

    twice = rb.custom_vjp(lambda x: 2 * x)
    twice.defvjp(lambda x: (2 * x, x), lambda x, g: (2 * g,))
    with rb.check_tracer_leaks():
        for transform in (rb.jit, rb.grad, rb.make_jaxpr, lambda f: lambda x: rb.vmap(f)(rnp.ones(2))):
            with pytest.raises(
                UnexpectedTracerError, match=r"(?s)values of it are still held.*held by a list"
            ):
                transform(leaks)(1.0)
            kept.clear()
        for f in (clean, twice):
            for run in (rb.jit(f), rb.grad(f), rb.jit(rb.grad(rb.checkpoint(f))), rb.hessian(f)):
                run(1.0)
            rb.vmap(rb.grad(f))(rnp.ones(2))
            rb.vjp(f, 1.0)[1](1.0)
    rb.jit(leaks)(1.0)


@pytest.mark.narrow
def test_no_tracing():
    f = rb.jit(lambda x: x + 1)
    f(1.0)
    with rb.no_tracing():
        assert f(2.0) == 3.0
        with pytest.raises(RuntimeError, match=r"would be traced for \(f32\[3\]\), which config.no_tracing"):
            f(FLOATS)


def test_transfer_guards(caplog):
    host = np.ones(3, np.float32)
    implicit = (lambda: FLOATS + host, lambda: rnp.asarray(host), lambda: rb.jit(lambda x: x)(host))
    with rb.transfer_guard_host_to_device("disallow"):
        for ask in implicit:
            with pytest.raises(
                TransferError, match=r"(?s)host-to-device transfer of f32\[3\].*rb.device_put"
            ):
                ask()
        rb.device_put(host)
        assert float((FLOATS + 1)[0]) == 2.0 and np.asarray(FLOATS).sum() == rb.device_get(FLOATS).sum() == 3
        rnp.zeros(4)
    with rb.transfer_guard_host_to_device("disallow_explicit"), pytest.raises(TransferError):
        rb.device_put(host)
    with rb.transfer_guard_host_to_device("log"), caplog.at_level(logging.WARNING, "rabbet"):
        rnp.asarray(host)
        rb.device_put(host)
    assert caplog.text.count("host-to-device transfer of f32[3]") == 1


OF_THE_LIBRARY = {
    "a window": lambda: rnp.hanning(5),
    "positions": lambda: rnp.tril_indices(3),
    "as many as there are": lambda: rnp.nonzero(FLOATS),
    "of a mask": lambda: FLOATS[FLOATS > 1],
    "a key": lambda: random.key(0),
    "a step": lambda: rnp.arange(0.5, np.float32(1.5)),
    "a compiled function": lambda: rb.jit(lambda x: x * rnp.hanning(3))(FLOATS),
    "a derivative": lambda: rb.grad(lambda x: (x * rnp.hanning(3)).sum())(FLOATS),
    "for each": lambda: rb.vmap(lambda x: rnp.hanning(3) * x)(FLOATS),
}
OF_THE_USER = {
    "a list": lambda: rnp.array([1.0, 2.0]),
    "a tuple": lambda: rnp.asarray((1.0, 2.0)),
    "by keyword": lambda: rnp.clip(FLOATS, min=np.zeros(3, "f")),
    "in a tree": lambda: rb.jit(lambda tree: tree["a"])({"a": np.ones(3)}),
    "an index": lambda: FLOATS[np.array([0, 1])],
    "an operand": lambda: FLOATS + np.ones(3),
    "on the left": lambda: np.ones(3, "f") @ FLOATS,
    "nothing moves": lambda: rb.lax.reshape(np.ones(3), (3,)),
    "in a function": lambda: rb.grad(lambda x: (x * np.ones(3, "f")).sum())(FLOATS),
    "beside a constant": lambda: rnp.interp(FLOATS, np.arange(3.0), FLOATS),
}


@pytest.mark.parametrize("which", OF_THE_LIBRARY)
def test_transfer_guards_let_the_librarys_constants_pass(which):
    with rb.transfer_guard_host_to_device("disallow"):
        OF_THE_LIBRARY[which]()


@pytest.mark.parametrize("which", OF_THE_USER)
def test_transfer_guards_stop_what_the_user_gives(which):
    with rb.transfer_guard_host_to_device("disallow"), pytest.raises(TransferError):
        OF_THE_USER[which]()


@pytest.mark.parametrize(
    "move",
    [
        lambda x: rb.lax.reshape(x, (2, 2)), lambda x: rb.lax.transpose(x, (0, 1)),
        lambda x: rb.lax.squeeze(x, ()),
        lambda x: rb.lax.expand_dims(x, ()), lambda x: rb.lax.slice(x, (0, 0), (2, 2)),
    ],
)  # fmt: skip
def test_where_nothing_is_moved_an_array_of_the_host_becomes_one_of_ours(move):
    host = np.ones((2, 2), "float32")
    out = move(host)
    host[:] = 0
    assert isinstance(out, rb.Array) and float(out.sum()) == 4.0


def test_settings_of_random_numbers():
    with rb.enable_custom_prng():
        assert random.PRNGKey(0).dtype == random.key(0).dtype
    old = random.PRNGKey(0)
    with rb.legacy_prng_key("error"), pytest.raises(ValueError, match="normal got a key that is an array"):
        random.normal(old)
    with rb.legacy_prng_key("warn"), pytest.warns(UserWarning, match="split got a key that is an array"):
        random.split(old)
    with rb.config.override(random_seed_offset=5):
        assert list(random.PRNGKey(1)) == list(random.key_data(random.key(rnp.int32(1)))) == [0, 6]
    high = random.gumbel(random.key(0), (3,), mode="high")
    with rb.config.override(high_dynamic_range_gumbel=True):
        assert (random.gumbel(random.key(0), (3,)) == high).all()


def test_how_hard_the_compiler_tries():
    seen = {}
    for change in ({}, {"optimization_level": "O1"}, {"memory_fitting_level": "O2"},
                   {"disable_most_optimizations": True}):  # fmt: skip
        with rb.config.override(**change):
            np.testing.assert_allclose(
                rb.jit(lambda x: rnp.sin(x) * 2)(FLOATS), np.sin(np.ones(3)) * 2, rtol=1e-6
            )
            seen[str(change)] = adapter.option_bytes(build_options(FLOATS.device))
    assert len(set(seen.values())) == len(seen)


def test_programs_are_dumped(tmp_path):
    with rb.config.override(dump_ir_to=tmp_path / "ir", dump_ir_modes="stablehlo,jaxpr"):
        rb.jit(lambda x: x * 3.5).lower(FLOATS)
    text, program = sorted((tmp_path / "ir").iterdir(), key=lambda path: path.suffix)
    assert "stablehlo.multiply" in text.read_text() and "mul a 3.5" in program.read_text()
    with (
        rb.config.override(dump_ir_to=tmp_path, dump_ir_modes="pdf"),
        pytest.raises(ConfigError, match="'pdf'"),
    ):
        rb.jit(lambda x: x * 4.5).lower(FLOATS)


@pytest.mark.narrow
def test_warnings_of_what_a_program_is_given():
    big = rnp.ones(1000)
    with (
        rb.config.override(captured_constants_warn_bytes=1000),
        pytest.warns(UserWarning, match="4,000 bytes"),
    ):
        rb.jit(lambda x: x + big)(1.0)
    with pytest.warns(UserWarning, match=r"donated arrays of the types f32\[30\] are given up"):
        rb.jit(lambda x: x[0], donate_argnums=0)(rnp.ones(30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.jit(lambda x, y: (y, x + 1), donate_argnums=0)(rnp.ones(30), rnp.ones(2))


def test_levels_of_loggers():
    logger = logging.getLogger("rabbet")
    before = logger.level
    try:
        rb.config.update("jax_logging_level", "ERROR")
        assert logger.level == logging.ERROR
    finally:
        rb.config.update("logging_level", "NOTSET")
        logger.setLevel(before)


def test_nothing_is_executed_where_that_is_forbidden():
    f = pytest.importorskip("rabbet_jit").jit(lambda x: x * 2.0)
    x = rb.device_put(np.float32(1))
    assert f(x) == 2
    with rb.config.override(no_execution=True):
        for call in (lambda: f(x), lambda: x + x):
            with pytest.raises(RuntimeError, match="no_execution forbids it"):
                call()
    assert f(x) == 2 and x + x == 2


def test_the_values_of_explicit_x64_dtypes_have_names():
    found = type(rb.config.explicit_x64_dtypes)
    assert rb.config.explicit_x64_dtypes == "allow" and found.ERROR == "error"
    with rb.config.override(explicit_x64_dtypes=found.WARN):
        assert repr(rb.config.explicit_x64_dtypes) == "'warn'"


@pytest.mark.needs("jit", "numpy")
def test_transfer_guards_let_constants_of_programs_pass():
    x, host = rb.device_put(np.ones(3, "float32")), np.ones(3, "float32")
    rows = np.ones((2, 3), "float32")
    with rb.transfer_guard_host_to_device("disallow"):
        for f in (
            lambda x: x + host,
            lambda x: rb.numpy.asarray(host) * x,
            lambda x: lax.scan(lambda c, row: (c + row, None), x, rows)[0],
        ):
            assert rb.jit(f)(x).shape == (3,)
        with pytest.raises(TransferError):
            rb.jit(lambda x: x)(host)
