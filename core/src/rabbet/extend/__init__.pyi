# Written by tools/stubs.py: change the function, or tools/stub_types.toml, and write it again.
DOORS: tuple[str, ...]
