"""Errors that depend on values, in programs that are compiled: user's checks, NaN, division by zero, indices.

``checkify`` turns a function that checks into one that returns an ``Error`` beside its result. Written
against ``rabbet`` and ``rabbet.extend`` alone.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.experimental.checkify.api import check, check_error, checkify, debug_check
from rabbet.experimental.checkify.interpreter import Checked, Fault
from rabbet.experimental.checkify.error_sites import (
    CheckError,
    DivisionByZeroError,
    FailedCheckError,
    JaxRuntimeError,
    NaNError,
    OOBError,
    all_checks,
    automatic_checks,
    div_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)
from rabbet.experimental.checkify.state import Error, init_error

__all__ = [
    "CheckError",
    "Checked",
    "DivisionByZeroError",
    "Error",
    "FailedCheckError",
    "Fault",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]

_public_module(globals())
