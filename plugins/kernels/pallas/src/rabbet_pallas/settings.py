"""Settings of kernels."""

from rabbet.extend.backend import Setting

SETTINGS = [
    Setting(
        "pallas_enable_debug_checks", False, bool, "Whether debug_check looks, in kernels that are traced.",
        traced=True, jax=True,
    ),
    Setting(
        "pallas_poison_buffers", False, bool,
        "Whether what no program of a kernel writes is NaN, or the least integer.", traced=True, jax=True,
    ),
    Setting(
        "pallas_interpret", False, bool,
        "Whether kernels are computed by ordinary operations on every platform, as with interpret=True.",
        traced=True,
    ),
]  # fmt: skip
