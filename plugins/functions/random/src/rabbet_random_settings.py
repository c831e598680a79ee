"""The settings of ``rabbet.random``, apart from it: they are read without loading the library."""

from __future__ import annotations

from rabbet.extend.backend import Setting

SETTINGS = (
    Setting(
        "threefry_partitionable", True, bool, traced=True, jax=True, example=False,
        doc="Off: keys of Threefry give the numbers of the older counters, for programs that repeat what "
        "they drew with them. An element's bits then depend on the size of the whole array.",
    ),
)  # fmt: skip
