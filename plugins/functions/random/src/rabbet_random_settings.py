"""The settings of ``rabbet.random``, apart from it: they are read without loading the library."""

from __future__ import annotations

from rabbet.extend.settings import Setting, boolean, choice, number, word

SETTINGS = (
    Setting(
        "default_prng_impl", "threefry2x32", word, traced=True, jax=True, example="rbg",
        doc="Generator of the random keys that name none: one of rabbet.random's, or a package's.",
    ),
    Setting(
        "enable_custom_prng", False, boolean, traced=True, jax=True,
        doc="random.PRNGKey returns typed keys, as random.key does.",
    ),
    Setting(
        "legacy_prng_key", "allow", choice("allow", "warn", "error"), traced=True, jax=True, example="error",
        doc="What random functions do when they are given a key that is an array of numbers.",
    ),
    Setting(
        "random_seed_offset", 0, number, traced=True, jax=True, doc="A number that is added to every seed."
    ),
    Setting(
        "high_dynamic_range_gumbel", False, boolean, traced=True, jax=True,
        doc="random.gumbel, and what draws by it, reaches further into the tail by default.",
    ),
    Setting(
        "threefry_partitionable", True, boolean, traced=True, jax=True, example=False,
        doc="Off: keys of Threefry give the numbers of the older counters, for programs that repeat what "
        "they drew with them. An element's bits then depend on the size of the whole array.",
    ),
)  # fmt: skip
