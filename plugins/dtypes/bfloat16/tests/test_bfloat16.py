"""The row of bfloat16: found by any spelling, in its place in promotion, with the right limits."""

import ml_dtypes
import numpy as np
import pytest
import rabbet_bfloat16
from rabbet import dtypes
from rabbet.extend.dtype import DTypeSpec

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    "spelling", ["bfloat16", ml_dtypes.bfloat16, BFLOAT16, np.zeros(2, BFLOAT16)], ids=repr
)
def test_any_spelling_finds_the_row(spelling):
    assert dtypes.canonicalize(spelling) == BFLOAT16
    assert dtypes.spec(spelling) is rabbet_bfloat16.BFLOAT16


def test_the_plugin_is_one_value():
    public = [name for name in vars(rabbet_bfloat16) if not name.startswith("_")]
    assert {name for name in public if name not in ("ml_dtypes", "DTypeSpec")} == {"BFLOAT16"}
    assert type(rabbet_bfloat16.BFLOAT16) is DTypeSpec


def test_names_and_size():
    assert dtypes.short_name("bfloat16") == dtypes.mlir_name("bfloat16") == "bf16"
    assert dtypes.itemsize_bits("bfloat16") == 16
    assert dtypes.bfloat16 is ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "other, joined",
    [
        ("bool", "bfloat16"),
        ("int32", "bfloat16"),
        ("uint64", "bfloat16"),
        ("bfloat16", "bfloat16"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("complex64", "complex64"),
    ],
)
@pytest.mark.forbidden("numpy_dtype_promotion")
def test_promotion(other, joined):
    assert dtypes.promote_types("bfloat16", other) == joined
    assert dtypes.promote_types(other, "bfloat16") == joined


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_python_numbers_give_way():
    assert dtypes.result_type(BFLOAT16, 1, 2.5, return_weak_type_flag=True) == (BFLOAT16, False)
    assert dtypes.result_type(BFLOAT16, 1j) == "complex64"


def test_it_is_a_float():
    assert dtypes.issubdtype("bfloat16", np.floating)
    assert dtypes.kind("bfloat16") == "f"
    assert dtypes.to_inexact("bfloat16") == BFLOAT16
    assert dtypes.to_complex("bfloat16") == "complex64"
    assert dtypes.scalar_type_of("bfloat16") is float


def test_limits():
    info = dtypes.finfo("bfloat16")
    assert (info.bits, info.nmant, float(info.eps)) == (16, 7, 2.0**-7)
    assert float(info.max) == (2 - 2.0**-7) * 2.0**127
    with pytest.raises(ValueError, match="iinfo does not describe bfloat16; ask finfo"):
        dtypes.iinfo("bfloat16")
