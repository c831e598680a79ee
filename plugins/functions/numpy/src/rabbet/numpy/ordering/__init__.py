"""Sorting, different elements, sets."""
