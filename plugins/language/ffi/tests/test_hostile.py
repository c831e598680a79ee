"""Libraries that do what they should not: an error that names the function, and the process goes on."""

import ctypes
import datetime
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import ffi

pytestmark = pytest.mark.needs("jit")
X = np.ones(3, "float32")


def call(name, x=X, **options):
    return ffi.ffi_call(name, rb.ShapeDtypeStruct(np.shape(x), x.dtype), **options)(x)


@pytest.mark.parametrize("run", [lambda f: f, lambda f: rb.jit(f)])
def test_what_a_function_raises_is_an_error(library, run):
    with pytest.raises(Exception, match=r"thrown in C\+\+"):
        rb.block_until_ready(run(lambda x: call("rabbet_test_throws", x))(X))
    with pytest.raises(RuntimeError, match=r"no UTF-8: .*no \\xff text"):
        rb.block_until_ready(run(lambda x: call("rabbet_test_garbled", x))(X))
    np.testing.assert_array_equal(call("rabbet_test_raw"), X)


def test_operands_that_a_function_does_not_take(library):
    with pytest.raises(Exception, match="Wrong buffer dtype"):
        rb.block_until_ready(call("rabbet_test_raw", np.ones(3, "int32")))
    with pytest.raises(Exception, match="Wrong number of arguments"):
        rb.block_until_ready(ffi.ffi_call("rabbet_test_raw", rb.ShapeDtypeStruct((3,), X.dtype))(X, X))


def test_a_name_belongs_to_one_function(library):
    ffi.register_ffi_target("rabbet_test_raw", ffi.pycapsule(library.RabbetTestRaw))  # the same again
    with pytest.raises(ValueError, match=r"'rabbet_test_raw' is registered .* as another function"):
        ffi.register_ffi_target("rabbet_test_raw", ffi.pycapsule(library.RabbetTestCount))
    np.testing.assert_array_equal(call("rabbet_test_raw"), X)


def test_functions_of_the_older_interface(library):
    ffi.register_ffi_target("rabbet_test_older", ffi.pycapsule(library.rabbet_test_older), api_version=0)
    for version in (1, 2):
        found = rb.jit(lambda x, v=version: call("rabbet_test_older", x, custom_call_api_version=v))(X)
        np.testing.assert_array_equal(found, 2 * X)
    with pytest.raises(ValueError, match="of the older interface have no attributes"):
        one = ffi.ffi_call("rabbet_test_older", rb.ShapeDtypeStruct((3,), X.dtype), custom_call_api_version=1)
        one(X, eps=1.0)


def test_data_is_no_function(library):
    data = ctypes.c_int.in_dll(library, "rabbet_test_data")
    with pytest.raises(ValueError, match="is no code of this process"):
        ffi.register_ffi_target("rabbet_test_data", ffi.pycapsule(ctypes.addressof(data)))


STAGE = "needs the stage 'execute'"
REFUSED = {
    "a number": (ValueError, "is no code", "n", lambda good: ffi.pycapsule(7)),
    "another capsule": (TypeError, "datetime", "n", lambda good: datetime.datetime_CAPI),
    "an array's capsule": (TypeError, "dltensor", "n", lambda good: X.__dlpack__()),
    "no stage to execute": (ValueError, STAGE, "n", lambda good: {"initialize": good}),
    "no stage at all": (ValueError, STAGE, "n", lambda good: {}),
    "an unknown stage": (ValueError, "no stage 'run'", "n", lambda good: {"execute": good, "run": good}),
    "stages of the older kind": (ValueError, "has stages", "n", lambda good: {"execute": good}, 0),
    "an unknown version": (ValueError, "api_version is 1", "n", lambda good: good, 9),
    "no name": (ValueError, "at least one character", "", lambda good: good),
    "a null character": (ValueError, "null character", "a\0b", lambda good: good),
    "a name that is none": (TypeError, "a name is a str", 7, lambda good: good),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_registered_is_refused_at_once(case):
    kind, says, name, function, *version = REFUSED[case]
    given = function(ffi.pycapsule(ctypes.CDLL(None).abs))
    with pytest.raises(kind, match=says):
        ffi.register_ffi_target(name, given, "cpu", *version)


@pytest.mark.parametrize("parts", [3, {}, {"type": 3}, {"type_id": 3}, {"type_id": X.__dlpack__()}])
def test_what_describes_no_type_is_refused(parts):
    with pytest.raises(TypeError, match="register_ffi_type: 'x' needs a"):
        ffi.register_ffi_type("x", parts)
    with pytest.raises(TypeError, match="register_ffi_type_id: 'x' needs a"):
        ffi.register_ffi_type_id("x", parts)


def test_null_is_no_function():
    with pytest.raises(ValueError, match="takes a function of a library"):
        ffi.pycapsule(None)


@pytest.mark.parametrize("aliases", [3, [(0, 0)], {0: "0"}, {0.5: 0}])
def test_what_names_no_shared_memory_is_refused(aliases):
    with pytest.raises(TypeError, match="input_output_aliases is a dict from positions of operands"):
        call("rabbet_test_raw", input_output_aliases=aliases)


def test_an_attribute_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="an attribute holds itself"):
        ffi.ffi_call("rabbet_test_raw", X)(X, n=endless)


def test_exceptions_that_are_none_of_the_standard(library):
    ffi.register_ffi_target("rabbet_test_throws_7", ffi.pycapsule(library.RabbetTestThrowsSeven))
    with pytest.raises(RuntimeError, match="threw something that is no std::exception"):
        rb.block_until_ready(call("rabbet_test_throws_7"))


def test_stages_that_the_cpu_leaves_out_are_named(library):
    raw = ffi.pycapsule(library.RabbetTestRaw)
    with pytest.warns(UserWarning, match="does not run 'prepare' of 'rabbet_test_prepared' on"):
        ffi.register_ffi_target("rabbet_test_prepared", {"prepare": raw, "execute": raw})


PROGRAM = """
import ctypes, sys, warnings
import numpy as np, rabbet as rb
from rabbet import ffi
library = ctypes.CDLL(sys.argv[1])
for name in ("Versionless", "Raw"):
    ffi.register_ffi_target(name, ffi.pycapsule(getattr(library, f"RabbetTest{name}")))
call = lambda name: ffi.ffi_call(name, rb.ShapeDtypeStruct((3,), "float32"))(np.ones(3, "float32"))
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    assert call("Raw").tolist() == [1, 1, 1]
assert "the compiled function 'Versionless' cannot be called: INVALID_ARGUMENT" in str(heard[0].message)
try:
    call("Versionless")
except rb.errors.CompileError as error:
    assert "'Versionless' could not be registered" in str(error), error
else:
    raise AssertionError("it was called")
"""


def test_a_function_that_the_compiler_refuses_leaves_the_others_alone(library):
    """In a process without a client, where jaxlib looks at functions when it makes one."""
    subprocess.run([sys.executable, "-c", PROGRAM, library._name], check=True, timeout=120)
