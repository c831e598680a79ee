"""What is wrong with a call, found before it runs."""


def check(call):
    """Refuse a call whose blocks do not fit."""


__all__ = ["check"]
