"""Calls of functions that transformations treat in a way of their own: ``checkpoint``, ``custom_rules``."""
