"""A generator with a state, for programs outside of compiled functions: ``stateful_rng(seed).normal()``.

Each draw uses the key ``fold_in(base_key, counter)`` and counts one further. ``rabbet.random`` itself, with
keys that are passed about, is what compiled programs want.
"""

import numpy as np

import rabbet.random as _random
from rabbet import tree as _tree
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.transform import context as _context, is_tracer as _is_tracer, typeof as _typeof


def _bottom():
    """The interpreter at the bottom of those that run: what records a program, or executes at once."""
    interpreter = _context.interpreter
    while interpreter.parent is not None:
        interpreter = interpreter.parent
    return interpreter


class StatefulPRNG:
    """Random numbers from a key and a counter that every draw advances. Made by ``stateful_rng``.

    As a pytree it goes into ``vmap``: ``vmap(f)(rng.split(3))`` gives each example a generator of its own.
    What a function draws from a generator that it was given does not advance the caller's.

    In a function that is compiled, draw from a generator that was made there, or was passed to it. One that
    belongs to the outside would give the same numbers at each call, and refuses.

    Example:
      >>> rng = rb.experimental.random.stateful_rng(0)
      >>> first, second = rng.normal(size=(2,)), rng.normal(size=(2,))
      >>> first.shape, bool((first == second).any())
      ((2,), False)
    """

    def __init__(self, base_key, counter=0):
        self._base_key, self._counter = base_key, counter
        self._home = _bottom()

    def __repr__(self):
        return f"StatefulPRNG(base_key={self._base_key!r}, counter={self._counter!r})"

    def key(self, shape=()):
        """A new key; an array of keys for a ``shape`` other than ``()``.

        Raises:
          RuntimeError: in a compiled function, of a generator that belongs to the outside.
        """
        if self._home is not _bottom() and not _is_tracer(self._base_key):
            raise RuntimeError(
                "a StatefulPRNG that was made outside of this traced function would give the same numbers at "
                "each call; pass the function a key (rng.key()), or make the generator inside"
            )
        out = _random.fold_in(self._base_key, self._counter)
        self._counter = self._counter + 1
        return out if _is_single(shape) else _random.split(out, shape)

    def uniform(self, low=0, high=1, size=None, *, dtype=float):
        """Numbers spread evenly over [low, high)."""
        return _random.uniform(self.key(), _size(size, low, high), dtype, minval=low, maxval=high)

    def normal(self, loc=0, scale=1, size=None, *, dtype=float):
        """Normal numbers of mean ``loc`` and standard deviation ``scale``."""
        return loc + scale * _random.normal(self.key(), _size(size, loc, scale), dtype)

    def random(self, size=None, dtype=float):
        """Numbers spread evenly over [0, 1)."""
        return _random.uniform(self.key(), _size(size), dtype)

    def integers(self, low, high=None, size=None, *, dtype=int):
        """Integers spread evenly over [low, high), or [0, low) if there is no ``high``."""
        low, high = (0, low) if high is None else (low, high)
        return _random.randint(self.key(), _size(size, low, high), low, high, dtype)

    def split(self, num):
        """Generators of a shape (an int or ints), as one object to map over with ``vmap``."""
        keys = self.key(num)
        return StatefulPRNG(keys, np.zeros(keys.shape, "int32"))

    def spawn(self, n_children):
        """A list of new generators, independent of each other."""
        keys = self.key(n_children)
        return [StatefulPRNG(keys[i]) for i in range(n_children)]


def _is_single(shape):
    return isinstance(shape, (tuple, list)) and not len(shape)


def _size(size, *parameters):
    """The shape asked for, or that to which the parameters broadcast."""
    if size is not None:
        return size
    return np.broadcast_shapes(*[_typeof(x).shape for x in parameters])


def _flatten(rng):
    return (
        rng._base_key,
        np.asarray(rng._counter, "int32") if isinstance(rng._counter, int) else rng._counter,
    ), None


def _unflatten(_, children):
    return StatefulPRNG(*children)


_tree.register_node(StatefulPRNG, _flatten, _unflatten)


def stateful_rng(seed=None, *, impl=None):
    """A ``StatefulPRNG``.

    Args:
      seed: an integer, see ``rabbet.random.key``; None: from the operating system.
      impl: the generator of its keys.

    Example:
      >>> rng = stateful_rng(42)
      >>> rng.uniform().shape, rng.integers(10, size=3).shape
      ((), (3,))
    """
    if seed is None:
        if _context.interpreter.parent is not None:
            raise TypeError("stateful_rng: a traced function must give a seed")
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return StatefulPRNG(_random.key(seed, impl=impl))


__all__ = ["StatefulPRNG", "stateful_rng"]

_public_module(globals())
