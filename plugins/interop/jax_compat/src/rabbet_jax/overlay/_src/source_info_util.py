"""``jax._src.source_info_util``."""


def register_inclusion(path):
    """Says whose lines messages point at; here they are the user's in any case."""


def register_exclusion(path):
    """Says whose lines messages leave out; here they are the user's in any case."""


__all__ = ["register_exclusion", "register_inclusion"]
