"""What goes wrong with values that are not known while a function is traced, and with random keys."""

from __future__ import annotations

from rabbet.errors.base import RabbetError


class ConcretizationTypeError(RabbetError, TypeError):
    """Python asked for the *value* of an array whose value is not known yet.

    Inside ``rb.jit``, and inside the bodies of ``lax.cond``, ``lax.scan`` and their relatives, an array
    stands for all the values that it may have later. Its shape and dtype are known, its numbers are not::

        @rb.jit
        def f(x, n):
            return x.reshape(n, -1)       # a shape must be known now; n is only known when f runs

    Repairs, in the order to try them:

    - mark the argument as static: ``rb.jit(f, static_argnames="n")``; one program is then compiled for
      each value of n;
    - take the number from something static, such as ``x.shape``;
    - compute it with NumPy outside the function.

    Example:
      >>> try:
      ...     rb.jit(lambda x: float(x))(1.0)
      ... except rb.errors.ConcretizationTypeError as error:
      ...     print(str(error).partition(',')[0])
      float() needs the value of an array of type f32[]
    """

    explained = True


class TracerBoolConversionError(ConcretizationTypeError):
    """Python control flow (``if``, ``while``, ``and``, ``or``, ``not``, ``assert``) met an array without
    a value.

    ::

        @rb.jit
        def f(x):
            if x > 0:                     # which way? x has no value while f is being traced
                return x
            return -x

    Repairs:

    - choose between values: ``rnp.where(x > 0, x, -x)``, ``lax.cond``, ``lax.while_loop``,
      ``rnp.logical_and``;
    - if the condition depends on a plain Python argument, make that argument static;
    - under ``rb.grad`` alone values are known; take ``rb.jit`` off, or use ``with rb.disable_jit():``
      while debugging.

    Example:
      >>> try:
      ...     rb.jit(lambda x: x if x > 0 else -x)(1.0)
      ... except rb.errors.TracerBoolConversionError as error:
      ...     print(str(error).partition(',')[0])
      bool() needs the value of an array of type bool[]
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """An array without a value was used where Python needs an integer: a list index, ``range``, an axis.

    ::

        @rb.jit
        def f(i):
            return [10, 20, 30][i]        # a Python list cannot be indexed by a value not yet known

    Repairs: make the container an array (``rnp.array([10, 20, 30])[i]``), or make ``i`` static.

    Example:
      >>> try:
      ...     rb.jit(lambda n: [1, 2, 3][n])(1)
      ... except rb.errors.TracerIntegerConversionError as error:
      ...     print(str(error).partition(',')[0])
      a Python integer needs the value of an array of type i32[]
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """A NumPy function was called on an array without a value.

    ::

        @rb.jit
        def f(x):
            return np.sin(x)              # NumPy computes now; x has no value now

    Repairs: call ``rnp.sin``; or, where it must be NumPy, go through ``rb.pure_callback``; or index an
    *array* rather than a NumPy array with a traced index: ``rnp.asarray(table)[i]``.

    Example:
      >>> try:
      ...     rb.jit(lambda x: np.sin(x))(1.0)
      ... except rb.errors.TracerArrayConversionError as error:
      ...     print(str(error).partition(',')[0])
      numpy.asarray() needs the value of an array of type f32[]
    """


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """A boolean mask without a value was used as an index; the result's shape would depend on its numbers.

    ::

        @rb.jit
        def f(x):
            return x[x > 0].sum()         # how many? the shape of x[x > 0] is not known

    Repairs: keep the shape and mask the values, ``rnp.where(x > 0, x, 0).sum()``; or give a bound,
    ``rnp.nonzero(x > 0, size=10)``.

    Example:
      >>> try:
      ...     rb.jit(lambda x: x[x > 0])(rnp.arange(3))
      ... except rb.errors.NonConcreteBooleanIndexError as error:
      ...     print(str(error).partition(' in the trace')[0])
      i32[3] was indexed with a mask bool[3] whose values are not known
    """


class InconclusiveDimensionOperation(RabbetError, TypeError):
    """Python code asked for something about a symbolic dimension that depends on its size.

    A comparison of dimensions decides which way a traced function goes, so it needs one answer for all sizes.
    Say what holds of them::

        export.symbolic_shape("a, b", constraints=["a >= b"])

    or write what is asked with operations on arrays, or with ``export.max_dim`` and ``export.min_dim``.

    Example:
      >>> from rabbet import export
      >>> (n,) = export.symbolic_shape("n")
      >>> try:
      ...     n > 5
      ... except rb.errors.InconclusiveDimensionOperation:
      ...     print("it depends")
      it depends
    """


class UnexpectedTracerError(RabbetError, TypeError):
    """A tracer was used after the transformation that made it had finished: it *leaked*.

    ::

        seen = []

        @rb.jit
        def f(x):
            seen.append(x + 1)            # x + 1 only means something while f is being traced
            return x

        f(1.0); seen[0] * 2

    Repairs: return the value instead of storing it (``return x, x + 1``); look for ``global``,
    ``nonlocal``, attributes of ``self`` and caches (``functools.lru_cache``) written inside the function.
    To look at a value in passing use ``rb.debug.print``. The message names the line that made the leaked
    value.

    Example:
      >>> try:
      ...     kept = []
      ...     rb.jit(lambda x: kept.append(x))(1.0)
      ...     kept[0] + 1
      ... except rb.errors.UnexpectedTracerError as error:
      ...     print(str(error).partition(':')[0])
      a value of type f32[] was used outside the transformation that made it
    """

    explained = True


class KeyReuseError(RabbetError, TypeError, RuntimeError):
    """A random key was used twice, so that two draws would be the same numbers.

    ::

        key = rb.random.key(0)
        a = rb.random.normal(key)
        b = rb.random.normal(key)         # b equals a

    Repair: ``first, second = rb.random.split(key)`` and use each half once.

    Example:
      >>> first, second = rb.random.split(rb.random.key(0))
      >>> bool(rb.random.normal(first) == rb.random.normal(second))
      False
    """

    explained = True


for _error in list(globals().values()):
    if isinstance(_error, type) and _error.__module__ == __name__:
        _error.__module__ = "rabbet.errors"  # where programs find them
