"""The base of all errors, and how their messages end."""

from __future__ import annotations


class RabbetError(Exception):
    """Base of all errors raised by Rabbet on purpose.

    A subclass whose docstring explains a failing program and its repair sets ``explained``; its messages
    then end with a pointer to that text. ``afterword`` is a text that all its messages get: another package's
    words, for programs that look for them. Both are added when the message is shown, so ``args`` stays what
    the raiser wrote.

    Example:
      >>> try:
      ...     rb.config.update('debug_nans', 'perhaps')
      ... except rb.errors.RabbetError as error:
      ...     print(type(error).__name__)
      ConfigError
    """

    explained = False
    afterword = ""

    def __str__(self) -> str:
        message = super().__str__() + type(self).afterword
        if type(self).explained:
            message += f"\n  causes and repairs: help(rabbet.errors.{type(self).__name__})"
        return message


RabbetError.__module__ = "rabbet.errors"  # where programs find it
