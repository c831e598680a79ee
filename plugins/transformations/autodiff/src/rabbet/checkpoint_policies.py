"""What ``rb.checkpoint`` keeps: policies, to be given as ``policy=``.

A policy is a function ``(primitive, *avals, **params) -> bool``: whether the results of an operation on
inputs of these types may be kept for the backward pass. What may not be kept is computed again, from the
inputs of the checkpointed function and from what is kept.

It may return an ``Offloadable`` instead: then the results are kept in another memory, such as the host's,
moved there when they are computed and moved back when the backward pass comes to them. On the CPU, which has
one memory, they stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet_autodiff.primitives.checkpoint import name as name_p

from rabbet.extend.functions import folded, public_module
from rabbet.extend.primitive import dot_general

if TYPE_CHECKING:
    from rabbet.extend.primitive import Primitive, ShapedArray

__all__ = [
    "Offloadable", "checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable",
    "dots_with_no_batch_dims_saveable", "everything_saveable", "nothing_saveable",
    "offload_dot_with_no_batch_dims", "save_and_offload_only_these_names", "save_any_names_but_these",
    "save_anything_except_these_names", "save_from_both_policies", "save_only_these_names",
]  # fmt: skip

class Offloadable(NamedTuple):
    """What a policy returns for results that are kept in another memory.

    Attributes:
      src: the memory in which they are computed, ``"device"``.
      dst: that in which they are kept, such as ``"pinned_host"``.

    Example:
      >>> def policy(primitive, *avals, **params):
      ...     return primitive.name == "sin" and rb.checkpoint_policies.Offloadable("device", "pinned_host")
      >>> f = rb.checkpoint(lambda x: rnp.cos(rnp.sin(x)), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """

    src: str
    dst: str


def everything_saveable(*_: ShapedArray | Primitive, **__: Any) -> bool:
    """Keep all that the backward pass needs, as without ``checkpoint``.

    Example:
      >>> f = rb.checkpoint(lambda x: rnp.sin(x @ x), policy=rb.checkpoint_policies.everything_saveable)
      >>> rb.grad(lambda x: f(x).sum())(rnp.ones((1, 1)))
      Array([[1.0806046]], dtype=float32)
    """
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep the inputs only; what ``checkpoint`` does without a policy.

    Example:
      >>> f = rb.checkpoint(lambda x: rnp.sin(x @ x), policy=rb.checkpoint_policies.nothing_saveable)
      >>> rb.grad(lambda x: f(x).sum())(rnp.ones((1, 1)))
      Array([[1.0806046]], dtype=float32)
    """
    return False


def dots_saveable(primitive: Any, *_: ShapedArray, **__: Any) -> bool:
    """Keep the results of products of matrices and of convolutions: of all primitives that declare to be
    bilinear, but for elementwise products.

    Example:
      >>> f = rb.checkpoint(lambda x: rnp.sin(x @ x), policy=rb.checkpoint_policies.dots_saveable)
      >>> rb.grad(lambda x: f(x).sum())(rnp.ones((1, 1)))
      Array([[1.0806046]], dtype=float32)
    """
    return "bilinear" in primitive.kinds and "elementwise" not in primitive.kinds


def dots_with_no_batch_dims_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
    """Keep the results of products of matrices that have no batch dimensions, such as those with weights.

    Example:
      >>> policy = rb.checkpoint_policies.dots_with_no_batch_dims_saveable
      >>> f = rb.checkpoint(lambda x: rnp.sin(x @ x), policy=policy)
      >>> rb.grad(lambda x: f(x).sum())(rnp.ones((1, 1)))
      Array([[1.0806046]], dtype=float32)
    """
    if primitive is not dot_general:
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


@folded
def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable[..., Any]:
    """A policy like ``dots_with_no_batch_dims_saveable``, which keeps the products in the memory
    ``offload_dst``.

    Example:
      >>> f = rb.checkpoint(
      ...     lambda x: rnp.sin(x @ x),
      ...     policy=rb.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
      ... )
      >>> rb.grad(lambda x: f(x).sum())(rnp.ones((1, 1)))
      Array([[1.0806046]], dtype=float32)
    """
    there = _memories("offload_dot_with_no_batch_dims", offload_src, offload_dst)

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Any:
        return there if dots_with_no_batch_dims_saveable(primitive, *avals, **params) else False

    return policy


@folded
def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., Any]:
    """A policy: keep everything but what ``checkpoint_name`` gave one of these names.

    Example:
      >>> from rabbet.ad_checkpoint import checkpoint_name
      >>> policy = rb.checkpoint_policies.save_anything_except_these_names("inner")
      >>> f = rb.checkpoint(lambda x: rnp.sin(checkpoint_name(rnp.sin(x), "inner")), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    names = _names("save_anything_except_these_names", names_not_to_save)
    return lambda primitive, *_, **params: primitive is not name_p or params["name"] not in names


@folded
def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., Any]:
    """A policy: keep what ``checkpoint_name`` gave a name, except for these names.

    Example:
      >>> from rabbet.ad_checkpoint import checkpoint_name
      >>> policy = rb.checkpoint_policies.save_any_names_but_these("outer")
      >>> f = rb.checkpoint(lambda x: rnp.sin(checkpoint_name(rnp.sin(x), "inner")), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    names = _names("save_any_names_but_these", names_not_to_save)
    return lambda primitive, *_, **params: primitive is name_p and params["name"] not in names


@folded
def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., Any]:
    """A policy: keep what ``checkpoint_name`` gave one of these names.

    Example:
      >>> from rabbet.ad_checkpoint import checkpoint_name
      >>> policy = rb.checkpoint_policies.save_only_these_names("inner")
      >>> f = rb.checkpoint(lambda x: rnp.sin(checkpoint_name(rnp.sin(x), "inner")), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    names = _names("save_only_these_names", names_which_can_be_saved)
    return lambda primitive, *_, **params: primitive is name_p and params["name"] in names


def save_from_both_policies(policy_1: Callable[..., Any], policy_2: Callable[..., Any]) -> Callable[..., Any]:
    """A policy: keep what either of two policies keeps.

    Example:
      >>> from rabbet.ad_checkpoint import checkpoint_name
      >>> policy = rb.checkpoint_policies.save_from_both_policies(
      ...     rb.checkpoint_policies.save_only_these_names("inner"), rb.checkpoint_policies.dots_saveable
      ... )
      >>> f = rb.checkpoint(lambda x: rnp.sin(checkpoint_name(rnp.sin(x), "inner")), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Any:
        return policy_1(primitive, *avals, **params) or policy_2(primitive, *avals, **params)

    return policy


@folded
def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Any,
    names_which_can_be_offloaded: Any,
    offload_src: str,
    offload_dst: str,
) -> Callable[..., Any]:
    """A policy: keep what has a name of either list, that of the second in the memory ``offload_dst``.

    Raises:
      ValueError: if a name stands in both lists.

    Example:
      >>> from rabbet.ad_checkpoint import checkpoint_name
      >>> policy = rb.checkpoint_policies.save_and_offload_only_these_names(
      ...     names_which_can_be_saved=["inner"], names_which_can_be_offloaded=[],
      ...     offload_src="device", offload_dst="pinned_host",
      ... )
      >>> f = rb.checkpoint(lambda x: rnp.sin(checkpoint_name(rnp.sin(x), "inner")), policy=policy)
      >>> rb.grad(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    what = "save_and_offload_only_these_names"
    there = _memories(what, offload_src, offload_dst)
    saved, offloaded = _names(what, names_which_can_be_saved), _names(what, names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            f"{what}: {sorted(saved & offloaded)} stand in both lists; a value is kept in one memory"
        )

    def policy(primitive: Primitive, *_: Any, **params: Any) -> Any:
        if primitive is not name_p:
            return False
        return there if params["name"] in offloaded else params["name"] in saved

    return policy


def _names(what: str, names: list[str] | tuple[str, ...]) -> frozenset[Any]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} takes names (strings), got {type(name).__name__}: {name!r:.60}")
    return frozenset(names)


def _memories(what: str, source: str, target: str) -> Offloadable:
    for kind in (source, target):
        if not isinstance(kind, str):
            raise TypeError(
                f"{what}: offload_src and offload_dst name kinds of memory, such as 'device' and "
                f"'pinned_host'; got {kind!r:.60}"
            )
    if source != "device" or target == "device":
        raise ValueError(
            f"{what}: values are computed in the memory 'device' and kept in another one, such as "
            f"'pinned_host'; got offload_src={source!r} and offload_dst={target!r}"
        )
    return Offloadable(source, target)


public_module(globals())
