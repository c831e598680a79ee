"""The dtype bfloat16: the range of float32 in 16 bits, with 8 bits of precision.

It is one row of Rabbet's dtype table; an entry point in the group ``rabbet.dtypes`` names it. In
promotion it stands beside float16: Python numbers give way to it, and together with float16 or float32 it
becomes float32. Backends that store it but cannot calculate in it calculate in float32.
"""

import ml_dtypes
from rabbet.extend.dtype import DTypeSpec

BFLOAT16 = DTypeSpec(
    name="bfloat16",
    numpy_dtype=ml_dtypes.bfloat16,
    mlir="bf16",
    kind="f",
    above=("float*",),
    below=("float32",),
    finfo=lambda: ml_dtypes.finfo(ml_dtypes.bfloat16),
    compute="float32",
)
