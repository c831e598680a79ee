"""``jax._src.util``: what optree keeps in the structures of its trees."""


class HashablePartial:
    """A function with its first arguments; equal to another with the same function and arguments."""

    def __init__(self, f, *args, **kwargs):
        self.f, self.args, self.kwargs = f, args, kwargs

    def __call__(self, *args, **kwargs):
        return self.f(*self.args, *args, **self.kwargs, **kwargs)

    def _parts(self):
        return self.f, self.args, frozenset(self.kwargs.items())

    def __eq__(self, other):
        return self._parts() == other._parts() if type(other) is HashablePartial else NotImplemented

    def __hash__(self):
        return hash(self._parts())
