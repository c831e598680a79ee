"""What the CPU does in its own way: linear algebra by LAPACK. A module is imported when a program needs it.

A rule is a function with the name of the core's primitive: `RuleSet.later` in the package's `__init__` says
which module has it.
"""
