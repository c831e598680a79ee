"""The interpreter: values are what they are, and errors gather in its state.

A rule of the table computes an operation and may say what can go wrong with it: it returns ``Checked``. What
nobody asked for is not computed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rabbet import lax, tree
from rabbet.experimental.checkify import error_sites, primitive, state
from rabbet.extend.transform import Interpreter, RuleTable, typeof


class Fault(NamedTuple):
    """Something that can go wrong with an operation.

    Attributes:
      kind: the exception class: ``NaNError``, ``DivisionByZeroError``, ``OOBError``, ``FailedCheckError``.
      message: a format string for the values.
      find: ``() -> (boolean scalar, values)``: whether it went wrong, and arrays for the message.

    Example:
      >>> from rabbet.experimental import checkify
      >>> from rabbet.experimental.checkify import Checked, Fault, FailedCheckError
      >>> def checked_sqrt(op, x):
      ...     below = Fault(FailedCheckError, "sqrt of {}", lambda: (x < 0, (x,)))
      ...     return Checked(op(x), (below,))
      >>> checked_sqrt(lax.sqrt, 4.0).faults[0].message
      'sqrt of {}'
    """

    kind: type
    message: str
    find: Callable


class Checked(NamedTuple):
    """A value and the faults that the operation may have.

    Example:
      >>> from rabbet.experimental.checkify import Checked
      >>> Checked(3.0)
      Checked(value=3.0, faults=())
    """

    value: Any
    faults: tuple = ()


rules = RuleTable("checkify", doc="(op, *values) -> value or Checked(value, faults), or a list of them")


class Checkify(Interpreter):
    """Payload: the value itself. State: ``Error``, the first error of the kinds that are asked for."""

    table = rules
    threads = carries = True
    state_moves = False  # the values in messages are what they are
    lifts_typed = False

    def __init__(self, errors):
        self.errors = errors
        self.looks = True
        self.state = state.none_yet()

    def key(self):
        return Checkify, self.errors, self.looks

    def aside(self):
        """Derivative rules get tangents, with which nothing but linear operations may be done."""
        inner = self.fresh()
        inner.looks = False
        return inner

    def lift(self, value):
        return value

    def type_of(self, payload):
        return typeof(payload)

    def wrap(self, payload):
        if type(payload) is not Checked:
            return payload
        for fault in payload.faults:
            if self.looks and fault.kind in self.errors:
                went_wrong, values = fault.find()
                values = [state.strong(v) for v in values]
                structure = tree.structure((tuple(values), {}))
                where = error_sites.where_in_words()
                key = state.key_of(values)
                site = error_sites.ErrorSite(fault.kind, fault.message, structure, key, where)
                self.happened(state.failed(went_wrong, site, values))
        return payload.value

    def happened(self, error):
        """Take an error, of one example or of a batch, into the state."""
        self.state = state.earlier(self.state, state.first_of_batch(error))

    def process(self, op, args):
        if op.primitive is primitive.check:
            self.at_parent(self.met_check, op, args)
            return []
        return super().process(op, args)

    def met_check(self, op, args):
        """A check inside the function. Kinds that were not asked for are left to an outer ``checkify``; where
        there is none, to nobody.
        """
        error = tree.unflatten(op.params["structure"], args)
        asked = [k for k in error.kinds if error_sites.KINDS[k] in self.errors]
        others = [k for k in error.kinds if k not in asked]
        if not others:
            self.happened(error)
            return
        if asked:
            mine = is_of_kinds(error.code, asked)
            zero = lax.full_like(error.code, 0)
            self.happened(state.Error(lax.select_n(mine, zero, error.code), error.slots, asked, error.keys))
            rest = lax.select_n(mine, error.code, zero)
            error = state.Error(rest, error.slots, others, error.keys)
        primitive.check_error(error, debug=True)

    def join_state(self, a, b):
        return state.covering(a, b)

    def force_state(self, error, like):
        return state.widened(error, like)

    def state_of_parts(self, before, states):
        return state.earlier(before, state.first_of_batch(states))

    def describe(self):
        return "checkify" + super().describe().removeprefix("Checkify")


def is_of_kinds(code, kinds):
    """For each code whether its site is of one of these kinds."""
    low = lax.bitwise_and(code, lax.full_like(code, len(error_sites.KINDS) - 1))
    out = lax.full_like(code, False, dtype=np.dtype(bool))
    for kind in kinds:
        out = lax.bitwise_or(out, lax.eq(low, lax.full_like(code, kind)))
    return out
