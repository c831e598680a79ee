"""``pcast``: what types say of a value along the axes of ``shard_map``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import typeof

from rabbet_collectives.axis_names import names_of
from rabbet_collectives.varying import cast, differs, is_sum, is_typed, refuse_sums, said_of, varied

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


def pcast(x: Value, axis_name: Any, *, to: str) -> Value:
    """``x`` as a value of which types say something else along an axis: what each member holds stays.

    Within ``shard_map`` types say along which axes values differ (*varying*), along which they are sums of
    which each member holds an addend (*unreduced*), and along which their gradients are (*reduced*).
    Derivatives of a value that all members share are the sums over them; ``pcast`` to ``"varying"`` takes
    that sum here, and not where the value is first used. Of a *reduced* value nobody takes it: its gradient
    stays unreduced until ``psum``, or ``reshard`` outside, adds up.

    Args:
      x: a pytree of arrays.
      axis_name: the axis, or a tuple of axes.
      to: ``"varying"``, of what all members share, reduced or not; ``"unreduced"``, of what varies: each
        member's value becomes its addend; ``"reduced"``, of what all members share.

    Raises:
      ShardingError: for another kind of value than is named above. Outside of ``shard_map``, or with
        ``check_vma=False``, types do not speak of axes: there only ``"varying"`` is possible.

    Example:
      >>> rb.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(rnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(f"pcast: to must be 'varying', 'unreduced' or 'reduced', got {to!r}")
    pairs = names_of(axis_name, "pcast")
    return tree.map(lambda leaf: _cast(array_or_tracer(leaf), pairs, to), x)


def _cast(leaf, pairs, to):
    """One array of ``pcast``."""
    aval = typeof(leaf)
    if to == "varying":
        sums = [name for name, _ in pairs if is_sum(aval, name)]
        if sums:
            refuse_sums(aval, sums, "pcast to 'varying'")
        shared = tuple([pair for pair in pairs if pair in said_of(aval)])
        return varied(cast(leaf, axes=shared, to=to) if shared else leaf, pairs)
    for pair in pairs:
        have = "varying" if differs(aval, pair[0]) else "unreduced" if is_sum(aval, pair[0]) else "invarying"
        have = "reduced" if pair in said_of(aval) else have
        if have != {"unreduced": "varying", "reduced": "invarying"}[to] or not is_typed(pair[0]):
            lacks = "" if is_typed(pair[0]) else "; types say nothing of this axis here"
            raise ShardingError(
                f"pcast of {aval.str_short()} along {pair[0]!r} to {to!r}: it is {have}{lacks}\n"
                + {
                    "unreduced": "  to fix: say before that it varies, lax.pcast(x, axis, to='varying'), if "
                    "each member's value is to be an addend",
                    "reduced": "  to fix: make all members share it before, with lax.psum or lax.pmean",
                }[to]
            )
    return cast(leaf, axes=tuple(pairs), to=to)


__all__ = ["pcast"]
