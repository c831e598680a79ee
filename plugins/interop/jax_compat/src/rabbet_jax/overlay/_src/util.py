"""``jax._src.util``: what optree keeps in its trees, and what programs copy from JAX's tutorials."""

import functools
import itertools


def safe_zip(*lists):
    """``zip`` as a list, of sequences of one length."""
    return list(zip(*lists, strict=True))


def safe_map(f, *lists):
    """``map`` as a list, over sequences of one length."""
    return [f(*each) for each in zip(*lists, strict=True)]


def unzip2(pairs):
    """The first members and the second members of pairs, two tuples."""
    first, second = [], []
    for a, b in pairs:
        first.append(a)
        second.append(b)
    return tuple(first), tuple(second)


def unzip3(triples):
    """The first, second and third members of triples, three tuples."""
    columns = [], [], []
    for triple in triples:
        for column, member in zip(columns, triple, strict=True):
            column.append(member)
    return tuple(map(tuple, columns))


def split_list(values, lengths):
    """A list cut into pieces of these lengths, and what is left."""
    walk, pieces = iter(values), []
    for n in lengths:
        pieces.append(list(itertools.islice(walk, n)))
    return [*pieces, list(walk)]


def partition_list(choose, values):
    """The values for which ``choose`` has False, and those for which it has True."""
    pairs = safe_zip(choose, values)
    return [v for c, v in pairs if not c], [v for c, v in pairs if c]


def concatenate(lists):
    """The members of lists, one list."""
    return list(itertools.chain.from_iterable(lists))


def wraps(wrapped, namestr=None, docstr=None, **ignored):
    """``functools.wraps``, with a name and a text that may be given as patterns."""
    said = {"fun": getattr(wrapped, "__name__", "f"), "doc": getattr(wrapped, "__doc__", "") or ""}

    def decorate(fun):
        made = functools.wraps(wrapped)(fun)
        if namestr:
            made.__name__ = namestr.format(**said)
        if docstr:
            made.__doc__ = docstr.format(**said)
        return made

    return decorate


def cache(max_size=4096, **ignored):
    """A decorator that keeps the results of a function."""
    return functools.lru_cache(max_size)


def canonicalize_axis(axis, ndim):
    """An axis counted from the first: -1 is the last."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


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
