"""Programs for trying transformations: each with control flow, beside the same thing written out.

All take and return one float array of any shape, and are made of additions, subtractions and products by
positive numbers, which every transformation is likely to know.
"""

from collections.abc import Callable
from typing import NamedTuple

import rabbet
from rabbet import lax


class Program(NamedTuple):
    """A function with control flow, and one without it that computes the same.

    Args:
      name: for reports.
      fn: from an array to an array.
      plain: the same, in straight lines of operations.
      needs: plugins without which ``fn`` cannot run.
      reverse: whether reverse mode can go through ``fn``.
    """

    name: str
    fn: Callable
    plain: Callable
    needs: tuple = ()
    reverse: bool = True


def _step(x):
    return lax.add(lax.mul(x, 0.5), 1.0)


def _steps(n):
    def run(x):
        for _ in range(n):
            x = _step(x)
        return x

    return run


def _scanned(x):
    carry, outs = lax.scan(lambda c, i: (_step(c), c), x, None, length=3)
    return lax.add(carry, lax.index_in_dim(outs, 1, 0, keepdims=False))


def _scanned_plain(x):
    return lax.add(_steps(3)(x), _steps(1)(x))


def _while(x):
    return lax.while_loop(lambda s: lax.lt(s[0], 3), lambda s: (lax.add(s[0], 1), _step(s[1])), (0, x))[1]


def _switch(x):
    return lax.switch(1, [lambda v: v, _step, lambda v: lax.sub(v, 1.0)], x)


def _branch_in_loop(x):
    def body(i, c):
        return lax.cond(lax.eq(i, 1), _step, lambda v: lax.add(v, 1.0), c)

    return lax.fori_loop(0, 3, body, x)


def _branch_in_loop_plain(x):
    return lax.add(_step(lax.add(x, 1.0)), 1.0)


def _compiled(x):
    import rabbet

    return lax.sub(rabbet.jit(_step)(x), 1.0)


@rabbet.custom_rules
def _ruled(x):
    return _step(x)


@_ruled.def_rule("jvp")
def _ruled_jvp(primals, tangents):
    return _ruled(*primals), lax.mul(tangents[0], 0.5)


@rabbet.custom_rules
def _ruled_for_both(x):
    return _step(x)


@_ruled_for_both.def_rule("jvp")
def _forwards(primals, tangents):
    return _ruled_for_both(*primals), lax.mul(tangents[0], 0.5)


@_ruled_for_both.def_rule("vjp")
def _backwards(x):
    return _ruled_for_both(x), lambda ct: (lax.mul(ct, 0.5),)


def _ruled_in_loop(x):
    return lax.fori_loop(0, 2, lambda i, c: _ruled(c), x)


PROGRAMS = (
    Program("straight", _step, _step),
    Program("jit", _compiled, lambda x: lax.sub(_step(x), 1.0), ("jit",)),
    Program("cond", lambda x: lax.cond(True, _step, lambda v: v, x), _step),
    Program("switch", _switch, _step),
    Program("fori_loop", lambda x: lax.fori_loop(0, 3, lambda i, c: _step(c), x), _steps(3)),
    Program("while_loop", _while, _steps(3), reverse=False),
    Program("scan", _scanned, _scanned_plain),
    Program("cond in fori_loop", _branch_in_loop, _branch_in_loop_plain),
    Program("custom rules", _ruled, _step),
    Program("custom rules for both modes", _ruled_for_both, _step),
    Program("custom rules in fori_loop", _ruled_in_loop, _steps(2)),
)

__all__ = ["PROGRAMS", "Program"]
