"""The runtime: the only part of Rabbet that touches jaxlib (`tree.py`'s registry aside).

Bottom up: `adapter` (every private call) <- `backends` (what a plugin offers) <- `clients` (one per
platform, made when first asked for) <- `devices` <- `transfer`. Beside them `compile_options` and `cache`
(programs on disk). On these stand arrays and dispatch. Importing this package imports none of them, and
starts nothing.
"""
