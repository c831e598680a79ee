"""The kinds of errors, and the places in programs where one can happen.

A *site* is what is known of an error before the program runs: its kind, the text of its message and the
user's line. While the program runs it is an int32 number, its ``code``, so that errors can be carried,
selected and batched like any value. The number is a hash of the site, so that the same program has the same
text in every process and finds its compiled form in the cache on disk.
"""

import hashlib
import threading
from typing import NamedTuple

from rabbet import device_put, tree
from rabbet.errors import RabbetError
from rabbet.extend.functions import source_position
from rabbet.extend.transform import context


class CheckError(RabbetError, ValueError):
    """An error that a program found in its values while it ran.

    Example:
      >>> from rabbet.experimental import checkify
      >>> error, _ = checkify.checkify(lax.log, errors=checkify.nan_checks)(-1.0)
      >>> try:
      ...     error.throw()
      ... except checkify.CheckError as found:
      ...     print(type(found).__name__)
      NaNError
    """


JaxRuntimeError = CheckError


class FailedCheckError(CheckError):
    """A condition of the user's, given to ``checkify.check``, did not hold.

    Example:
      >>> from rabbet.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, 'x must be positive')
      ...     return x
      >>> error, _ = checkify.checkify(f)(-1.0)
      >>> 'must be positive' in error.get()
      True
    """


class NaNError(CheckError):
    """An operation gave NaN.

    Example:
      >>> from rabbet.experimental import checkify
      >>> error, _ = checkify.checkify(lax.log, errors=checkify.nan_checks)(-1.0)
      >>> 'nan' in error.get()
      True
    """


class DivisionByZeroError(CheckError):
    """A division, or a remainder, by zero.

    Example:
      >>> from rabbet.experimental import checkify
      >>> error, _ = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)(0.0)
      >>> 'zero' in error.get()
      True
    """


class OOBError(CheckError):
    """An array was read or written outside its bounds.

    Example:
      >>> from rabbet.experimental import checkify
      >>> error, _ = checkify.checkify(lambda i: rnp.arange(3)[i], errors=checkify.index_checks)(5)
      >>> 'out' in error.get()
      True
    """


KINDS = (FailedCheckError, NaNError, DivisionByZeroError, OOBError)
"""The kinds by number: the two lowest bits of a code."""

user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
index_checks = frozenset({OOBError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class ErrorSite(NamedTuple):
    """Where an error can happen.

    Attributes:
      kind: its exception class, one of ``KINDS``.
      message: a format string for the values that come with the error.
      structure: that of the ``(args, kwargs)`` which format the message; the values are its leaves.
      key: the types of the values, ``((shape, dtype name), ...)``.
      where: the user's position in words.
    """

    kind: type
    message: str
    structure: object
    key: tuple
    where: str

    def describe(self, values, behind=""):
        """The error's message, for its values as NumPy arrays; ``behind`` comes after the place."""
        paths = tree.leaf_paths(self.structure)
        # A number as its digits; within a tree, which shows its parts by repr, as an array.
        parts = [v[()] if len(path) == 2 else device_put(v) for v, path in zip(values, paths, strict=True)]
        args, kwargs = tree.unflatten(self.structure, parts)
        text = self.message.format(*args, **kwargs)
        if self.kind is FailedCheckError:
            return f"{text} (`check` failed at {self.where}{behind})"
        return f"{text} (at {self.where}{behind})"


_by_code = {}
_codes = {}
_lock = threading.Lock()


def code_of(site):
    """The number of a site: positive, the same in every process unless two hashes collide."""
    with _lock:
        code = _codes.get(site)
        if code is None:
            text = repr((site.kind.__name__, *site[1:])).encode()
            number = int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 3
            code = (number or 1) * len(KINDS) + KINDS.index(site.kind)
            while code in _by_code:
                code = code + len(KINDS) if code < 2**30 else len(KINDS) + KINDS.index(site.kind)
            _by_code[code], _codes[site] = site, code
        return code


def site_of(code):
    """The site of a number."""
    return _by_code[code]


def where_in_words():
    """The user's line that asked for the operation that is running."""
    return str(source_position(context.where))
