"""The settings of ``rabbet.random``, apart from it: they are read without loading the library."""

from __future__ import annotations

from rabbet.extend.settings import Setting, boolean, choice, number, word


def observe_keys(op, args, run):
    """The observer of ``debug_key_reuse``, which is loaded when the setting is on."""
    from rabbet.random.key_reuse import observe

    return observe(op, args, run)


SETTINGS = (
    Setting(
        "debug_key_reuse", False, boolean, traced=True, jax=True, observer=observe_keys,
        doc="A typed random key that is used twice raises a KeyReuseError, which names both uses.",
    ),
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
