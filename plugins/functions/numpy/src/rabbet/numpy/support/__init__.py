"""What every family is made with: checks of arguments, dtypes as objects, how ufuncs are made."""

__passes_operations_on__ = True
