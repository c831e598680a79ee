"""How a function is run on something other than arrays: interpreters, staging, bodies, axes."""

__passes_operations_on__ = True
