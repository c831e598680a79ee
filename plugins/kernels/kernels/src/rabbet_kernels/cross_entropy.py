"""The cross entropy of a softmax over many classes, without an array of all logits."""

import functools

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def softmax_cross_entropy(hidden, weights, labels, *, block=2048):
    """For each row ``-log(softmax(hidden @ weights)[label])``.

    The logits are made of ``block`` classes at a time, and again for the derivatives, so that memory grows
    with ``block`` and not with the number of classes. Sums are taken in float32.

    Args:
      hidden: ``(rows, size)``.
      weights: ``(size, classes)``.
      labels: ``(rows,)``, integers from 0 to ``classes - 1``.
      block: how many classes are taken at once.

    Returns:
      ``(rows,)``, of float32.

    Raises:
      ValueError: for shapes that do not fit.

    Example:
      >>> from rabbet_kernels.cross_entropy import softmax_cross_entropy
      >>> softmax_cross_entropy(rnp.zeros((2, 3)), rnp.zeros((3, 4)), rnp.array([0, 1])).round(4)
      Array([1.3863, 1.3863], dtype=float32)
    """
    hidden, weights, labels = [rnp.asarray(x) for x in (hidden, weights, labels)]
    shapes = hidden.shape, weights.shape, labels.shape
    if (
        [len(s) for s in shapes] != [2, 2, 1]
        or hidden.shape[1] != weights.shape[0]
        or labels.shape != hidden.shape[:1]
    ):
        raise ValueError(
            f"softmax_cross_entropy: hidden, weights, labels of shapes {shapes}\n"
            "  to fix: (rows, size), (size, classes), (rows,)"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"softmax_cross_entropy: labels of dtype {labels.dtype}\n  to fix: integers")
    return losses(min(block, weights.shape[1]), hidden, weights, labels.astype("int32"))


@functools.partial(rb.custom_rules, nondiff_argnums=(0,))
def losses(block, hidden, weights, labels):
    return parts(block, hidden, weights, labels)[0]


@losses.def_rule("vjp")
def losses_vjp(block, hidden, weights, labels):
    out, logs = parts(block, hidden, weights, labels)
    return out, functools.partial(cotangents, block, hidden, weights, labels, logs)


@losses.def_rule("jvp")
def losses_jvp(block, primals, tangents):
    hidden, weights, labels = primals
    return rb.jvp(lambda h, w: plain(h, w, labels), (hidden, weights), tuple(tangents[:2]))


def plain(hidden, weights, labels):
    """The same with all logits, for forward mode."""
    logits = lax.dot(hidden, weights, preferred_element_type="float32")
    greatest = lax.stop_gradient(rnp.max(logits, 1))
    logs = greatest + rnp.log(rnp.sum(rnp.exp(logits - greatest[:, None]), 1))
    return logs - rnp.take_along_axis(logits, labels[:, None], 1)[:, 0]


def columns(block, weights, i):
    """(the first class of block ``i``, its weights, which of them no block before it had)."""
    classes = weights.shape[1]
    first = lax.min(i * block, np.int32(classes - block))
    taken = lax.dynamic_slice_in_dim(weights, first, block, 1)
    return first, taken, first + rnp.arange(block, dtype="int32") >= i * block


def parts(block, hidden, weights, labels):
    """The losses, and the logarithms of the sums of exponentials."""

    def step(carry, i):
        greatest, total, own = carry
        first, taken, fresh = columns(block, weights, i)
        logits = lax.dot(hidden, taken, preferred_element_type="float32")
        logits = rnp.where(fresh, logits, -np.inf)
        now = rnp.maximum(greatest, rnp.max(logits, 1))
        total = total * rnp.exp(greatest - now) + rnp.sum(rnp.exp(logits - now[:, None]), 1)
        hit = (first + rnp.arange(block, dtype="int32")) == labels[:, None]
        own = own + rnp.sum(rnp.where(rnp.logical_and(hit, fresh), logits, 0.0), 1)
        return (now, total, own), None

    column = lambda x: rnp.full(labels.shape, x, "float32")
    count = -(-weights.shape[1] // block)
    init = column(-np.inf), column(0.0), column(0.0)
    (greatest, total, own), _ = lax.scan(step, init, rnp.arange(count, dtype="int32"))
    logs = greatest + rnp.log(total)
    return logs - own, logs


def cotangents(block, hidden, weights, labels, logs, given):
    """The cotangents of hidden and weights, by logits that are made once more."""

    def step(carry, i):
        to_hidden, to_weights = carry
        first, taken, fresh = columns(block, weights, i)
        logits = lax.dot(hidden, taken, preferred_element_type="float32")
        hit = (first + rnp.arange(block, dtype="int32")) == labels[:, None]
        change = (rnp.exp(logits - logs[:, None]) - hit) * given[:, None]
        change = rnp.where(fresh, change, 0.0).astype(hidden.dtype)
        to_hidden = to_hidden + lax.dot_general(
            change, taken, (((1,), (1,)), ((), ())), preferred_element_type="float32"
        )
        new = lax.dot_general(hidden, change, (((0,), (0,)), ((), ())), preferred_element_type="float32")
        old = lax.dynamic_slice_in_dim(to_weights, first, block, 1)
        return (to_hidden, lax.dynamic_update_slice_in_dim(to_weights, old + new, first, 1)), None

    count = -(-weights.shape[1] // block)
    init = rnp.zeros(hidden.shape, "float32"), rnp.zeros(weights.shape, "float32")
    (to_hidden, to_weights), _ = lax.scan(step, init, rnp.arange(count, dtype="int32"))
    return to_hidden.astype(hidden.dtype), to_weights.astype(weights.dtype), None


__all__ = ["softmax_cross_entropy"]
