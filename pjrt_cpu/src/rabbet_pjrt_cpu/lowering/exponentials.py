"""``exp`` of what the compiler knows to be NaN, as in ``exp(x + nan)``.

With jaxlib 0.10 the result was whatever lay in memory, where a NaN is known while the program is compiled. So
there a NaN is handed on beside it.
"""

from rabbet import lax
from rabbet.extend import primitive
from rabbet.extend.native import compiler_has
from rabbet.extend.transform import lower

HANDS_ON = not compiler_has("exp of a known NaN")


def exp(op, x):
    """The rule of core, and on old versions the operand where it is NaN."""
    out = lower.lookup(primitive.exp)(op, x)
    if not HANDS_ON or op.out.kind != "f":
        return out
    (name,) = op.write(lambda x, out: [lax.select(lax.ne(x, x), x, out)], [op.out.strong()] * 2, [x, out])
    return name


__all__ = ["exp"]
