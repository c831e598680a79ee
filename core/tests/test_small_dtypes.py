"""Formats of few bits go through core like any others: nothing starts at an infinity that a format lacks, and
nothing asks NumPy what kind of number a plugin's dtype is.
"""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rabbet
from rabbet import dtypes, lax
from rabbet.testing.draws import device_array
from rabbet.testing.few_bits import FEW_BITS, few_bits

NAMES = [*FEW_BITS]


@pytest.fixture(autouse=True)
def small_dtypes():
    """The formats, where no installed package has them."""
    for name in NAMES:
        few_bits(name)


def numbers(name, *values):
    return device_array(np.array(values or (1, -2, 4, -6, 3), np.float32).astype(dtypes.canonicalize(name)))


def wide(x):
    return np.asarray(x).astype(np.float32).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_extremes(name):
    x = numbers(name)
    assert wide(lax.reduce_max(x, (0,))) == 4.0 and wide(lax.reduce_min(x, (0,))) == -6.0
    assert (int(lax.argmax(x, 0, np.int32)), int(lax.argmin(x, 0, np.int32))) == (2, 3)
    window = {"window_dimensions": (2,), "window_strides": (1,), "padding": "VALID"}
    spec = dtypes.spec(name)
    lowest = np.asarray(spec.lowest, np.float32).astype(spec.dtype)
    pytest.importorskip("rabbet_convolution")
    assert wide(lax.reduce_window(x, device_array(lowest), lax.max, **window)) == [1, 4, 4, 3]


@pytest.mark.parametrize("name", NAMES)
def test_products(name):
    x = lax.reshape(numbers(name), (1, 5))
    both = (((1,), (1,)), ((), ()))
    total = "int32" if name == "int4" else "float32"
    assert wide(lax.dot_general(x, x, both, preferred_element_type=total)) == [[1 + 4 + 16 + 36 + 9]]
    ones = lax.reshape(numbers(name, 1, 0, 0, 0, 1), (1, 5))
    assert wide(lax.dot_general(x, ones, both)) == [[4]]


def test_small_formats_may_differ_in_a_product():
    x, y = numbers("float8_e4m3fn", 1, 2), numbers("float4_e2m1fn", 3, 4)
    both = (((0,), (0,)), ((), ()))
    assert float(lax.dot_general(x, y, both, preferred_element_type="float32")) == 11.0
    wider = lax.dot_general(x, y, both)  # the format of more bits
    assert wider.dtype == x.dtype and float(wider) == 11.0


def test_values_out_of_range():
    with pytest.raises(OverflowError, match="9 does not fit int4"):
        lax.add(numbers("int4"), 9)
    x = numbers("float4_e2m1fn")
    far = lax.GatherScatterMode.FILL_OR_DROP
    found = lax.gather(
        x, np.array([[0], [9]]), lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode=far
    )  # fmt: skip
    assert wide(found) == [1.0, 0.0]  # it has no NaN


# Modules that ask it of NumPy's own arrays, on the host.
ON_THE_HOST = {
    "dtypes/__init__.py", "dtypes/narrowing.py", "lax/indexing/arrays.py", "lax/indexing/plans.py",
    "lax/values.py", "lowering/constants.py", "lowering/custom_calls.py",
    "program/python_scalars.py", "runtime/jaxlib/dlpack.py", "runtime/fused.py", "runtime/arrays/values.py",
}  # fmt: skip


def test_core_asks_its_own_table_for_the_kind_of_a_dtype():
    """NumPy says "V" of a plugin's dtype. ``aval.kind`` and ``dtypes.kind`` know it."""
    root = Path(rabbet.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name in ON_THE_HOST or name.startswith(("numpy/", "experimental/", "cli/", "testing/")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "kind"
                and ast.unparse(node).endswith("dtype.kind")
            ):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "\n".join(found)


def test_numpy_knows_small_dtypes_when_rabbet_is_imported():
    code = "import numpy as np, rabbet; print(np.zeros(2, 'bfloat16').astype('float8_e4m3fn').dtype)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "float8_e4m3fn"
