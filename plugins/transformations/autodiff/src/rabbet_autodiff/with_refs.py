"""What ``vjp(f, *x)[1].with_refs`` is asked for of each argument, and answers."""


class GradValue:
    """Asks for the gradient of an argument as a value."""

    def __repr__(self) -> str:
        return "GradValue()"


class DontWant:
    """Asks for no gradient of an argument."""

    def __repr__(self) -> str:
        return "DontWant()"


class GradRef:
    """Stands where a gradient was added to a reference."""

    def __repr__(self) -> str:
        return "GradRef()"


class DidntWant:
    """Stands where no gradient was asked for."""

    def __repr__(self) -> str:
        return "DidntWant()"


class NotNeeded:
    """Stands in ``args_res`` for an argument whose value the backward pass does not use."""

    def __repr__(self) -> str:
        return "NotNeeded()"
