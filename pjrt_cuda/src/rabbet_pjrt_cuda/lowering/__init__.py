"""What GPUs do in their own way: linear algebra by cuSOLVER, cuSPARSE and, where they have nothing, LAPACK on
the host. A module is imported when a program needs it.

A rule is a function with the name of the core's primitive: `RuleSet.later` in the package's `__init__` says
which module has it.
"""
