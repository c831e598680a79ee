# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
DOORS: tuple[str, ...]
