"""What the compiler of a jaxlib does well, or at all, where that cannot be seen from outside.

A difference between versions that shows itself (a name, an argument) is looked for where it is used, in
``adapter``. These do not show: a program compiles, and is slow or wrong. So they were measured, and each is a
name with the first version that has it. This is the only place that compares versions of jaxlib.
"""

from __future__ import annotations

from rabbet.runtime.jaxlib import adapter

SINCE = {
    # A Fourier transform over several dimensions of what is cut over devices along others; before, it
    # may be refused unless each device has it whole.
    "fft of what is cut": (0, 11),
    # Constraints on how a value lies in memory, of what is cut over devices; before, it is gathered for them.
    "layouts of what is cut": (0, 11),
    # The word ``unreduced`` in shardings.
    "unreduced shardings": (0, 12),
    # Fast kernels on CPU of matrix products that give bfloat16; before, the fast ones give float32.
    "bfloat16 products": (0, 11),
    # Loops on CPU that read slices at computed places of a large array; before, they are several times slower
    # than loops over copies of them.
    "slices in loops": (0, 12),
    # A library of convolutions on CPU that is fast for many features; before, XLA's own are, up to 128 x 128.
    "convolutions of many features": (0, 11),
    # Before, exp(a) * exp(b) becomes exp(a + b), log(exp(a)) becomes a, and so on: they overflow elsewhere.
    "exponentials one by one": (0, 11),
}


def compiler_has(fact: str, version: str | None = None) -> bool:
    """Whether the compiler of a jaxlib has what is called ``fact``.

    Args:
      fact: such as ``"unreduced shardings"``; the error for a name that is none lists them all.
      version: of jaxlib, such as ``"0.10.2"``; None: of the one that is installed.

    Raises:
      KeyError: for a name that is none of these.

    Example:
      >>> from rabbet.extend.native import compiler_has
      >>> compiler_has("unreduced shardings", "0.12.0.1"), compiler_has("unreduced shardings", "0.11.2")
      (True, False)
    """
    if fact not in SINCE:
        raise KeyError(f"no fact of the compiler is called {fact!r}; there are {', '.join(map(repr, SINCE))}")
    numbers = (adapter.version() if version is None else version).split(".")[:2]
    return tuple(map(int, numbers)) >= SINCE[fact]


__all__ = ["SINCE", "compiler_has"]
