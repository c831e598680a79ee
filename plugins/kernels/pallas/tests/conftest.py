"""Kernels are tried with the libraries that people write them with; alone, the package has no test to run."""

import importlib.util

NEEDED = "rabbet.numpy", "rabbet_jit", "rabbet_autodiff", "rabbet_vmap", "rabbet.random"
here = all(importlib.util.find_spec(name) is not None for name in NEEDED)
collect_ignore_glob = [] if here else ["test_*.py"]
