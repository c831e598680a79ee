"""``jax.experimental.pallas.triton``: ``rabbet.experimental.pallas.triton``, and an older name."""

from rabbet.experimental.pallas import triton

ABSENT = "CUSTOM_CALL_TARGET_NAME GpuInfo GpuVersion get_gpu_info get_gpu_info_from_version is_gpu_device"
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
TritonCompilerParams = triton.CompilerParams
