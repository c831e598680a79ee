"""Optimizers as triples of functions, and step sizes as functions.

``init, update, params_of = adam(1e-3)``: ``init(params)`` makes a state, ``update(i, gradients, state)``
makes step ``i``, ``params_of(state)`` reads the parameters. New programs use optax.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import rabbet as rb
import rabbet.numpy as rnp

Array = Params = State = Updates = Any
Step = int
InitFn = Callable[[Any], Any]
ParamsFn = Callable[[Any], Any]
UpdateFn = Callable[[int, Any, Any], Any]
Schedule = Callable[[int], Any]


class Optimizer(NamedTuple):
    """What an optimizer is: three functions."""

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


class OptimizerState(NamedTuple):
    """For each parameter the leaves of its state, the tree of the parameters, and the trees of the states."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


rb.tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


class JoinPoint:
    """Marks where, in a tree of states, the state of one parameter begins."""

    def __init__(self, subtree):
        self.subtree = subtree

    def __iter__(self):
        yield self.subtree


def _packed(states, tree):
    leaves, trees = [], []
    for state in states:
        flat, structure = rb.tree.flatten(state)
        leaves.append(flat)
        trees.append(structure)
    return OptimizerState(tuple(map(tuple, leaves)), tree, tuple(trees))


def _states(packed):
    return [
        rb.tree.unflatten(structure, leaves)
        for structure, leaves in zip(packed.subtree_defs, packed.packed_state, strict=True)
    ]


def unpack_optimizer_state(opt_state):
    """The state as a tree like that of the parameters, with a ``JoinPoint`` for each of them."""
    return rb.tree.unflatten(opt_state.tree_def, [JoinPoint(state) for state in _states(opt_state)])


def pack_optimizer_state(marked_pytree):
    """The state that ``unpack_optimizer_state`` took apart."""
    points, tree = rb.tree.flatten(marked_pytree)
    if not all(isinstance(point, JoinPoint) for point in points):
        raise TypeError("pack_optimizer_state takes a tree of JoinPoints, as unpack_optimizer_state returns")
    return _packed([point.subtree for point in points], tree)


def optimizer(opt_maker):
    """Make an optimizer of trees from one of single arrays.

    Args:
      opt_maker: returns ``(init, update, params_of)``: ``init(x)`` the state of one parameter,
        ``update(i, gradient, state)`` the next, ``params_of(state)`` the parameter.
    """

    @functools.wraps(opt_maker)
    def make(*args, **kwargs):
        init, update, params_of = opt_maker(*args, **kwargs)

        def init_tree(params):
            flat, tree = rb.tree.flatten(params)
            return _packed([init(x) for x in flat], tree)

        def update_tree(i, gradients, opt_state):
            flat, tree = rb.tree.flatten(gradients)
            if tree != opt_state.tree_def:
                raise TypeError(
                    f"the gradients are no tree like that of the parameters: {tree} and {opt_state.tree_def}"
                )
            states = _states(opt_state)
            for path, g, state in zip(rb.tree.leaf_paths(tree), flat, states, strict=True):
                sizes = rnp.shape(g), rnp.shape(params_of(state))
                if sizes[0] != sizes[1]:
                    where = rb.tree.keystr(path)
                    raise TypeError(f"the gradient{where} has the shape {sizes[0]}, the parameter {sizes[1]}")
            new = _packed([update(i, g, state) for g, state in zip(flat, states, strict=True)], tree)
            for before, after in zip(opt_state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(f"update returned a state of another structure: {before} and {after}")
            return new

        def params_tree(opt_state):
            return rb.tree.unflatten(opt_state.tree_def, [params_of(state) for state in _states(opt_state)])

        return Optimizer(init_tree, update_tree, params_tree)

    return make


# Optimizers -------------------------------------------------------------------------------------------
@optimizer
def sgd(step_size):
    """Gradient descent."""
    step_size = make_schedule(step_size)
    return (lambda x: x), (lambda i, g, x: x - step_size(i) * g), (lambda x: x)


def _with_one_slot(update):
    return (lambda x: (x, rnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def momentum(step_size, mass):
    """Gradient descent with momentum (Polyak 1964)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return _with_one_slot(update)


@optimizer
def nesterov(step_size, mass):
    """Momentum that looks one step ahead (Nesterov 1983)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return _with_one_slot(update)


def _inverse_root(x):
    """``1 / sqrt(x)``, and 0 where ``x`` is 0."""
    return rnp.where(x > 0, rb.lax.rsqrt(rnp.where(x > 0, x, 1.0)), 0.0)


@optimizer
def adagrad(step_size, momentum=0.9):
    """AdaGrad (Duchi, Hazan, Singer 2011) with momentum."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, rnp.zeros_like(x), rnp.zeros_like(x)

    def update(i, g, state):
        x, total, velocity = state
        total = total + g * g
        velocity = (1 - momentum) * (g * _inverse_root(total)) + momentum * velocity
        return x - step_size(i) * velocity, total, velocity

    return init, update, lambda state: state[0]


@optimizer
def rmsprop(step_size, gamma=0.9, eps=1e-8):
    """RMSProp (Tieleman, Hinton 2012)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean = state
        mean = mean * gamma + g * g * (1 - gamma)
        return x - step_size(i) * g / rnp.sqrt(mean + eps), mean

    return _with_one_slot(update)


@optimizer
def rmsprop_momentum(step_size, gamma=0.9, eps=1e-8, momentum=0.9):
    """RMSProp with momentum; the step size is part of the velocity."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, rnp.zeros_like(x), rnp.zeros_like(x)

    def update(i, g, state):
        x, mean, velocity = state
        mean = mean * gamma + g * g * (1 - gamma)
        velocity = momentum * velocity + step_size(i) * g / rnp.sqrt(mean + eps)
        return x - velocity, mean, velocity

    return init, update, lambda state: state[0]


@optimizer
def adam(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Adam (Kingma, Ba 2014)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, rnp.zeros_like(x), rnp.zeros_like(x)

    def update(i, g, state):
        x, first, second = state
        first = (1 - b1) * g + b1 * first
        second = (1 - b2) * g * g + b2 * second
        unbiased = first / (1 - rnp.asarray(b1, first.dtype) ** (i + 1))
        square = second / (1 - rnp.asarray(b2, first.dtype) ** (i + 1))
        return x - step_size(i) * unbiased / (rnp.sqrt(square) + eps), first, second

    return init, update, lambda state: state[0]


@optimizer
def adamax(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Adam with the largest gradient in place of the second moment (Kingma, Ba 2014)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, rnp.zeros_like(x), rnp.zeros_like(x)

    def update(i, g, state):
        x, first, largest = state
        first = (1 - b1) * g + b1 * first
        largest = rnp.maximum(b2 * largest, rnp.abs(g))
        scale = step_size(i) / (1 - rnp.asarray(b1, first.dtype) ** (i + 1))
        return x - scale * first / (largest + eps), first, largest

    return init, update, lambda state: state[0]


@optimizer
def sm3(step_size, momentum=0.9):
    """SM3 (Anil, Gupta, Koren, Singer 2019): one accumulator for each index of each dimension."""
    step_size = make_schedule(step_size)

    def spread(x, accumulators):
        return [
            rnp.reshape(a, [-1 if axis == k else 1 for k in range(x.ndim)])
            for axis, a in enumerate(accumulators)
        ]

    def init(x):
        return x, rnp.zeros_like(x), [rnp.zeros(size, x.dtype) for size in x.shape or ((),)]

    def update(i, g, state):
        x, velocity, accumulators = state
        total = functools.reduce(rnp.minimum, spread(x, accumulators)) + g * g
        velocity = (1 - momentum) * (g * _inverse_root(total)) + momentum * velocity
        accumulators = [
            rnp.max(total, axis=tuple([k for k in range(x.ndim) if k != axis]))
            for axis in range(len(accumulators))
        ]
        return x - step_size(i) * velocity, velocity, accumulators

    return init, update, lambda state: state[0]


# Step sizes -------------------------------------------------------------------------------------------
def constant(step_size) -> Schedule:
    """Always ``step_size``."""
    return lambda i: step_size


def exponential_decay(step_size, decay_steps, decay_rate):
    """``step_size * decay_rate ** (i / decay_steps)``."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size, decay_steps, decay_rate, staircase=False):
    """``step_size / (1 + decay_rate * i / decay_steps)``; ``staircase``: the quotient is rounded down."""

    def schedule(i):
        steps = rnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * steps)

    return schedule


def polynomial_decay(step_size, decay_steps, final_step_size, power=1.0):
    """From ``step_size`` to ``final_step_size``, along ``(1 - i / decay_steps) ** power``."""

    def schedule(i):
        share = 1 - rnp.minimum(i, decay_steps) / decay_steps
        return share**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any):
    """``values[k]`` where ``k`` of the ``boundaries`` are below the step; one value more than boundaries."""
    boundaries, values = rnp.array(boundaries), rnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("piecewise_constant: boundaries and values must be sequences of numbers")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError(
            f"piecewise_constant: there is one value more than boundaries, got {values.shape[0]} values and "
            f"{boundaries.shape[0]} boundaries"
        )
    return lambda i: values[rnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule) -> Schedule:
    """A function of the step: a function as it is, a number as ``constant``."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if rnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"a step size is a number or a function of the step, got {type(scalar_or_schedule)}")


def l2_norm(tree):
    """The Euclidean norm of all leaves together."""
    return rnp.sqrt(sum([rnp.vdot(x, x) for x in rb.tree.leaves(tree)]))


def clip_grads(grad_tree, max_norm):
    """The gradients, made shorter where their norm is above ``max_norm``."""
    norm = l2_norm(grad_tree)
    return rb.tree.map(lambda g: rnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
