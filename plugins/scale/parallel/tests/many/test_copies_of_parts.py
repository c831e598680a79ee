"""The parts of a process as NumPy copies: each part once, as ``addressable_shards`` has them."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import DeletedArrayError
from rabbet.extend.processes import copies_of_parts
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.needs("cpu", "numpy")
SPECS = [P(), P("x"), P(None, "y"), P("x", "y"), P(("x", "y")), P("y", "x")]
DTYPES = ["float32", "int8", "bool", "complex64", "bfloat16", "float8_e4m3fn", "int4"]


def laid(spec, dtype="float32"):
    mesh = rb.make_mesh((4, 2), ("x", "y"))
    values = rb.device_put(np.arange(64, dtype=np.float32).reshape(8, 8) % 8)
    return rb.device_put(rb.lax.convert_element_type(values, dtype), NamedSharding(mesh, spec))


def as_text(parts):
    return {str(index): (values.dtype, np.asarray(values).tobytes()) for index, values in parts}


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("each_process", [False, True])
def test_each_part_once(spec, each_process):
    x = laid(spec)
    found = copies_of_parts(x, each_process=each_process)
    first = [(s.index, np.array(s.data)) for s in x.addressable_shards if s.replica_id == 0]
    assert len(found) == len(first) and as_text(found) == as_text(first)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    if dtype in ("bfloat16", "float8_e4m3fn", "int4"):
        pytest.importorskip("rabbet_" + {"float8_e4m3fn": "float8"}.get(dtype, dtype))
    for spec in (P("x"), P()):
        x = laid(spec, dtype)
        for index, values in copies_of_parts(x):
            assert values.dtype == x.dtype
            np.testing.assert_array_equal(values, np.asarray(x)[index])


def test_they_are_copies():
    for spec in (P("x"), P("x", "y"), P()):
        x = laid(spec)
        found, expected = copies_of_parts(x), as_text(copies_of_parts(x))
        x.delete()
        assert as_text(found) == expected and all(v.flags.writeable for _, v in found)
        with pytest.raises(DeletedArrayError):
            copies_of_parts(x)


def test_the_memory_can_be_donated_at_once():
    """Nothing keeps the parts: a program that takes the array's memory is given it without a copy."""
    jit = pytest.importorskip("rabbet_jit").jit
    x = laid(P("x"))
    before = copies_of_parts(x)
    y = jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and as_text(before) == as_text(copies_of_parts(y - 1))


def test_keys_are_refused():
    random = pytest.importorskip("rabbet.random")
    with pytest.raises(TypeError, match="no NumPy form"):
        copies_of_parts(random.key(0))


def test_a_checkpoint_of_all_of_them(tmp_path):
    store = pytest.importorskip("rabbet.store")
    state = {str(spec): laid(spec) for spec in SPECS}
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, state)
    for x in state.values():
        x.delete()
    checkpoints.wait()
    for values in checkpoints.load().values():
        np.testing.assert_array_equal(values, np.arange(64, dtype=np.float32).reshape(8, 8) % 8)
