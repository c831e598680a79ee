"""What is known of TPUs: ``get_tpu_info``."""

import dataclasses
import enum

import rabbet as rb
from rabbet.extend.functions import folded


class ChipVersion(enum.Enum):
    """The generations of TPUs."""

    TPU_V2 = "v2"
    TPU_V3 = "v3"
    TPU_V4I = "v4i"
    TPU_V4 = "v4"
    TPU_V5E = "v5e"
    TPU_V5P = "v5p"
    TPU_V6E = "v6e"
    TPU_7 = "7"
    TPU_7X = "7x"

    def __str__(self) -> str:
        return self.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class TpuInfo:
    """The sizes of a TPU's parts, for one core.

    Args:
      chip_version: a ``ChipVersion``.
      generation: its number.
      num_cores: how many cores a device has.
      num_lanes, num_sublanes: the sizes of a vector register.
      mxu_column_size, num_mxus, num_accumulators: the matrix units.
      vmem_capacity_bytes, cmem_capacity_bytes, smem_capacity_bytes, hbm_capacity_bytes: the memories.
      mem_bw_bytes_per_second: of the large memory.
      bf16_ops_per_second, int8_ops_per_second, fp8_ops_per_second, int4_ops_per_second: 0: none.
    """

    chip_version: ChipVersion
    generation: int
    num_cores: int
    num_lanes: int = 128
    num_sublanes: int = 8
    mxu_column_size: int
    num_mxus: int
    num_accumulators: int = 0
    vmem_capacity_bytes: int
    cmem_capacity_bytes: int = 0
    smem_capacity_bytes: int
    hbm_capacity_bytes: int
    mem_bw_bytes_per_second: int
    bf16_ops_per_second: int
    int8_ops_per_second: int
    fp8_ops_per_second: int
    int4_ops_per_second: int

    def is_matmul_supported(self, lhs_dtype: str, rhs_dtype: str) -> bool:
        """Whether its matrix units multiply these dtypes."""
        names = {str(lhs_dtype), str(rhs_dtype)}
        return names <= {"float32", "bfloat16"} or (
            names <= {"int8", "int4"} and self.int8_ops_per_second > 0
        )


# generation, columns and number of matrix units, accumulators; bytes of VMEM, CMEM, SMEM, HBM; bytes a
# second; operations a second in bfloat16, int8, fp8, int4: what the makers publish.
KNOWN = {
    ChipVersion.TPU_V2: (2, 128, 1, 0, 2**24, 0, 2**14, 8.0e9, 3.58e11, 2.3e13, 0, 0, 0),
    ChipVersion.TPU_V3: (3, 128, 2, 0, 2**24, 0, 2**14, 1.72e10, 4.125e11, 7.0e13, 0, 0, 0),
    ChipVersion.TPU_V4I: (4, 128, 4, 0, 2**24, 1.34e8, 2**20, 8.59e9, 6.14e11, 1.37e14, 0, 0, 0),
    ChipVersion.TPU_V4: (4, 128, 4, 0, 2**24, 6.7e7, 2**20, 1.72e10, 6.15e11, 1.375e14, 0, 0, 0),
    ChipVersion.TPU_V5E: (5, 128, 4, 0, 2**27, 0, 2**20, 1.72e10, 8.2e11, 1.97e14, 3.94e14, 0, 7.88e14),
    ChipVersion.TPU_V5P: (5, 128, 4, 0, 2**26, 0, 2**20, 5.15e10, 1.23e12, 2.295e14, 4.59e14, 0, 9.2e14),
    ChipVersion.TPU_V6E: (6, 256, 2, 0, 2**27, 0, 2**20, 3.44e10, 1.64e12, 9.2e14, 1.84e15, 9.2e14, 3.68e15),
    ChipVersion.TPU_7: (7, 256, 2, 128, 2**26, 0, 2**20, 1.03e11, 3.7e12, 1.155e15, 0, 2.3e15, 0),
    ChipVersion.TPU_7X: (7, 256, 2, 128, 2**26, 0, 2**20, 1.03e11, 3.7e12, 1.155e15, 0, 2.3e15, 0),
}  # fmt: skip
KINDS = {
    "TPU v2": "v2", "TPU v3": "v3", "TPU v4": "v4", "TPU v4 lite": "v4i", "TPU v5 lite": "v5e",
    "TPU v5e": "v5e", "TPU v5": "v5p", "TPU v5p": "v5p", "TPU v6 lite": "v6e", "TPU v6e": "v6e",
    "TPU7x": "7x",
}  # fmt: skip


@folded
def get_tpu_info_for_chip(chip_version, num_tensor_cores_per_logical_device=1):
    """What is known of a generation of TPUs.

    Args:
      chip_version: a ``ChipVersion``.
      num_tensor_cores_per_logical_device: how many cores a device has; sizes are for one.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> tpu.get_tpu_info_for_chip(tpu.ChipVersion.TPU_V5E).num_lanes
      128
    """
    found = KNOWN[chip_version]
    names = (
        "generation", "mxu_column_size", "num_mxus", "num_accumulators", "vmem_capacity_bytes",
        "cmem_capacity_bytes", "smem_capacity_bytes", "hbm_capacity_bytes", "mem_bw_bytes_per_second",
        "bf16_ops_per_second", "int8_ops_per_second", "fp8_ops_per_second", "int4_ops_per_second",
    )  # fmt: skip
    values = dict(zip(names, map(int, found), strict=True))
    return TpuInfo(chip_version=chip_version, num_cores=num_tensor_cores_per_logical_device, **values)


@folded
def is_tpu_device():
    """Whether the default device is a TPU."""
    return rb.default_backend() == "tpu"


@folded
def get_tpu_info():
    """What is known of the TPU that is the default device.

    Raises:
      ValueError: it is none, or of a kind that nothing is known of.
    """
    kind = rb.devices()[0].device_kind
    if kind not in KINDS:
        raise ValueError(
            f"get_tpu_info: the default device is a {kind!r}\n"
            "  to fix: get_tpu_info_for_chip(ChipVersion.TPU_V5E), for the TPU that the kernel is meant for"
        )
    return get_tpu_info_for_chip(ChipVersion(KINDS[kind]))


__all__ = ["ChipVersion", "TpuInfo", "get_tpu_info", "get_tpu_info_for_chip", "is_tpu_device"]
