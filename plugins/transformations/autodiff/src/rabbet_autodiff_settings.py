"""The settings of derivatives, apart from them: they are read without loading the library."""

from __future__ import annotations

from rabbet.extend.settings import Setting, size

SETTINGS = (
    Setting(
        "scan_stacking", 2**28, size, traced=True,
        doc="How many bytes the backward pass of a scan may stack so that products which it would add up "
        "step by step are computed once after the loop, which is faster; 0: none.",
    ),
)  # fmt: skip
