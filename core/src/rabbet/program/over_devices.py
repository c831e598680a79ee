"""What a type may say of devices: ``ShapedArray.spread`` is None, or an object of a package.

Core knows nothing of its meaning. It asks it for the types of results, and to bring a value to a type where
types that differ in nothing else meet: a cotangent and its variable, a loop's first value and what its
body returns.
"""


class OverDevices:
    """Base of what types say of devices. A subclass is interned (equal ones are one object) and hashable.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> from rabbet.extend.sharding import OverDevices
      >>> class Marked(OverDevices):
      ...     def results(self, op, avals, outs):
      ...         return tuple([out.update(spread=self) for out in outs])
      >>> marked = ShapedArray((3,), "float32", spread=Marked())
      >>> lax.sin.op().out((marked,)) is marked, marked.bare.spread
      (True, None)
    """

    __slots__ = ()

    def results(self, op, avals, outs):
        """The types of an operation's results, of which at least one operand has such a type.

        Args:
          op: the operator.
          avals: the types of its operands; the ``spread`` of some may be None.
          outs: the types of its results as its shape rule gives them, for operands whose ``spread`` is None;
            of a primitive with bodies for the operands as they are.

        Returns:
          the types of the results.
        """
        raise NotImplementedError(f"{type(self).__name__} must type results: define results")

    def fitted(self, x, aval):
        """``x`` as a value of type ``aval``, whose ``spread`` is this one where it has any; else that of
        ``x`` is.
        """
        raise NotImplementedError(f"{type(self).__name__} must bring values to types: define fitted")

    def joined(self, other):
        """What covers this one and another, or None."""
        raise NotImplementedError(f"{type(self).__name__} must join types: define joined")

    def hidden(self, x):
        """``x`` for those who lay results out themselves: rules that transpose, and functions that were told
        ``out_sharding``.
        """
        return x

    def of_shape(self, old, new):
        """What a type says that differs in its shape."""
        return self

    def without(self, axis):
        """What a type says that has one dimension less."""
        return self

    def text(self, aval):
        """How the compiler is told that a value of this type lies so: the text of a sharding, or None."""
        return

    def sharding(self, aval):
        """What ``aval.sharding`` is."""
        return

    def shown(self, dtype, shape):
        """The short form of a type."""
        return f"{dtype}[{','.join(map(str, shape))}]{self}"


__all__ = ["OverDevices"]
