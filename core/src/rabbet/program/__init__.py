"""Programs as data: types of arrays, equations, effects; how a program is printed and checked."""

__passes_operations_on__ = True
