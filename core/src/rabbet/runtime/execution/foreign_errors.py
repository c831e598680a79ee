"""What compiled functions say or throw that jaxlib cannot make an exception of Python's of."""

from rabbet.errors import JaxRuntimeError


def translated(error: Exception, program: str) -> Exception:
    """The error to raise for one that jaxlib made while it translated what a function gave."""
    if isinstance(error, UnicodeDecodeError):
        said = bytes(error.object).decode("utf-8", "backslashreplace")
        return JaxRuntimeError(f"{program!r} failed, with a text that is no UTF-8: {said}")
    if "could not be translated" in str(error):
        return JaxRuntimeError(
            f"{program!r} failed: a compiled function that it calls threw something that is no "
            "std::exception\n  to fix: let the function catch it, and return an ffi::Error that says why"
        )
    return error
