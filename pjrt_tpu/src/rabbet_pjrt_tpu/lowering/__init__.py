"""What TPUs do in their own way: factorizations that XLA's compiler for TPUs expands. A module is imported
when a program needs it.
"""
