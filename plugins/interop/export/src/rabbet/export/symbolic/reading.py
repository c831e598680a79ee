"""One dimension from a text."""

from __future__ import annotations

import re
from typing import Any

from rabbet.export.symbolic.bounds import extreme, max_dim

TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*)|(//|\*\*|\.\.\.|[-+*^%(),]))")
FUNCTIONS = ("floordiv", "mod", "max", "min")


def dimension(text: str, scope: Any) -> Any:
    """One dimension, of a ``SymbolicScope``."""
    reader = Reader(text, scope)
    found = reader.sum()
    if not reader.done():
        raise reader.error("an operator")
    return found


class Reader:
    """A text, read from the left."""

    def __init__(self, text, scope):
        self.text, self.scope, self.place = text, scope, 0
        self.tokens = []
        at = 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"the shape {text!r} cannot be read from {text[at:].strip()!r} on")
            self.tokens.append((found[1] or found[2] or found[3], found.start()))
            at = found.end()

    def done(self):
        return self.place >= len(self.tokens)

    def at(self, *tokens):
        return not self.done() and self.tokens[self.place][0] in tokens

    def take(self, *tokens):
        if not self.at(*tokens):
            raise self.error(" or ".join(map(repr, tokens)))
        self.place += 1
        return self.tokens[self.place - 1][0]

    def error(self, wanted):
        where = self.text[self.tokens[self.place][1] :].strip() if not self.done() else ""
        found = f"{where!r}" if where else "its end"
        return ValueError(f"the shape {self.text!r} has {found} where {wanted} should be")

    def closes_at_end(self):
        """Whether the parenthesis that begins here ends with the text."""
        depth = 0
        for i, (token, _) in enumerate(self.tokens[self.place :]):
            depth += {"(": 1, ")": -1}.get(token, 0)
            if depth == 0:
                return self.place + i == len(self.tokens) - 1
        return False

    def sum(self):
        total = -self.product() if self.at("-") and self.take("-") else self.product()
        while self.at("+", "-"):
            total = total + self.product() if self.take("+", "-") == "+" else total - self.product()
        return total

    def product(self):
        value = self.power()
        while self.at("*", "//", "%"):
            sign = self.take("*", "//", "%")
            other = self.power()
            value = value * other if sign == "*" else value // other if sign == "//" else value % other
        return value

    def power(self):
        value = self.one()
        while self.at("^", "**"):
            self.take("^", "**")
            token = self.take(*[t for t, _ in self.tokens if t.isdigit()] or ["a number"])
            value = value ** int(token)
        return value

    def one(self):
        if self.done():
            raise self.error("a number or a name")
        token = self.tokens[self.place][0]
        if token.isdigit():
            self.place += 1
            return int(token)
        if token == "-":
            self.place += 1
            return -self.one()
        if token == "(":
            self.take("(")
            value = self.sum()
            self.take(")")
            return value
        if not re.fullmatch(r"[A-Za-z_]\w*", token) or token == "_":
            raise self.error("a number or a name")
        self.place += 1
        if not self.at("("):
            return self.scope.known(token)
        if token == "non_negative":
            self.take("(")
            value = self.sum()
            self.take(")")
            return max_dim(value, 0)
        if token not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise ValueError(f"the shape {self.text!r} has the function {token}; there are {known}")
        self.take("(")
        left = self.sum()
        self.take(",")
        right = self.sum()
        self.take(")")
        if token == "floordiv":
            return left // right
        return left % right if token == "mod" else extreme(token, left, right)


__all__ = ["Reader", "dimension"]
