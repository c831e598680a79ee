"""Functions of Rabbet for PyTorch: tensors in, tensors out, and autograd goes through.

A function becomes programs over flat lists of arrays, one for each structure of arguments and each choice
of those that need gradients. The node that autograd sees holds the pullback that Rabbet made in the forward
pass; where autograd differentiates the backward pass, too, that is a program of the same kind, of arguments
and cotangents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.extend.functions import array_or_tracer, describe_function, folded
from rabbet.torch.tensors import array_of, library, place, tensor_of


def as_torch(fun: Callable, *, jit: bool = True) -> Callable:
    """A function of Rabbet as a function of tensors, with gradients.

    It is a ``torch.autograd.Function`` at work: ``backward()``, ``torch.autograd.grad``, with
    ``create_graph`` too, use Rabbet's derivative. Memory is shared both ways, and the function has finished
    when it returns, so tensors may be written to afterwards. Autograd notices if that is done between the
    ways forward and back.

    Args:
      fun: takes and returns pytrees of arrays.
      jit: whether ``fun`` is compiled; without it may branch on values.

    Returns:
      a function of the same arguments. Tensors among them, and arrays, are arrays for ``fun``; anything
      else is passed on as it is and, with ``jit``, must be hashable: each value has a program of its own.
      Its results are tensors where those of ``fun`` are arrays. Tensors of integers, and arrays, have no
      gradient.

    Example:
      >>> import torch
      >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
      >>> rb.torch.as_torch(lambda x: rnp.sum(x**2))(x).backward()
      >>> x.grad
      tensor([2., 4.])
    """
    library()
    if not callable(fun):
        raise TypeError(f"as_torch takes a function of Rabbet, got {type(fun).__name__}")
    programs: dict[Any, tuple] = {}

    @functools.wraps(fun, updated=())
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        torch = library()
        leaves, structure = tree.flatten((args, kwargs))
        moving = tuple([isinstance(x, (torch.Tensor, rb.Array, np.ndarray)) for x in leaves])
        constants = tuple([x for x, moves in zip(leaves, moving, strict=True) if not moves])
        arrays = [x for x, moves in zip(leaves, moving, strict=True) if moves]
        types = tuple([(tuple(x.shape), x.dtype) for x in arrays])  # structures may depend on them
        key: Any = (structure, moving, constants, tuple(map(type, constants)), types)
        try:
            program, results = programs.get(key) or (None, None)
        except TypeError:
            if jit:
                raise TypeError(
                    f"as_torch: {describe_function(fun)} got an argument that is neither array nor hashable, "
                    "so no program can be kept for it\n  to fix: bind it with functools.partial, or "
                    "as_torch(f, jit=False)"
                ) from None
            key, program, results = None, None, None
        if program is None:
            results = {}
            program = ModuleProgram(flat(fun, structure, moving, constants, results), jit)
            if key is not None:
                programs[key] = program, results
        outs = program.call(tuple(map(as_tensor, arrays)))
        return tree.unflatten(results["structure"], results["put"](outs))

    return on_tensors


def flat(fun, structure, moving, constants, results):
    """``fun`` from a list of arrays to a list of arrays. What its result looks like is left in
    ``results``."""

    def of_arrays(arrays):
        given, fixed = iter(arrays), iter(constants)
        args, kwargs = tree.unflatten(structure, [next(given if moves else fixed) for moves in moving])
        pairs, results["structure"] = tree.flatten_with_path(fun(*args, **kwargs))
        is_array = [
            isinstance(x, (rb.Array, np.ndarray, np.generic, bool, int, float, complex)) for _, x in pairs
        ]
        rest = [x for (_, x), array in zip(pairs, is_array, strict=True) if not array]

        def put(outs):
            tensors, others = iter(outs), iter(rest)
            return [next(tensors if array else others) for array in is_array]

        results["put"] = put
        for path, x in pairs:
            if not isinstance(x, (rb.Array, np.ndarray, np.generic, bool, int, float, complex, str)):
                raise TypeError(
                    f"as_torch: {describe_function(fun)} returned{place(path)} {type(x).__name__} {x!r:.60}, "
                    "which is not an array"
                )
        return [array_or_tracer(x) for (_, x), array in zip(pairs, is_array, strict=True) if array]

    return of_arrays


class ModuleProgram:
    """A function from a list of arrays to a list of arrays, called on tensors."""

    def __init__(self, fun, jit):
        self.fun, self.jit = fun, jit
        self.plain = rb.jit(fun) if jit else fun
        self.pull = rb.jit(lambda pullback, cotangents: pullback(cotangents)[0]) if jit else pull
        self.forwards: dict[tuple, Callable] = {}
        self.derivatives: dict[tuple, ModuleProgram] = {}

    @folded
    def call(self, tensors):
        """The results as tensors, in the graph if one is being recorded."""
        torch = library()
        if torch.is_grad_enabled() and any(differentiable(x) and x.requires_grad for x in tensors):
            return list(node().apply(self, *tensors))
        return [tensor_of(x) for x in finished(self.plain([array_of(x) for x in tensors]))]

    def forward(self, needed):
        """``arrays -> (results, pullback)`` for gradients of the arguments that are ``needed``."""
        if needed not in self.forwards:

            def run(arrays):
                outs, pullback, others = rb.vjp(
                    split(self.fun, arrays, needed), chosen(arrays, needed), has_aux=True
                )
                return outs, pullback, others

            self.forwards[needed] = rb.jit(run) if self.jit else run
        return self.forwards[needed]

    def derivative(self, needed):
        """The backward pass as a program: of the arguments and the cotangents of results that have some."""
        if needed not in self.derivatives:

            def run(given):
                arrays, cotangents = given[: len(needed)], given[len(needed) :]
                _, pullback, _ = rb.vjp(split(self.fun, arrays, needed), chosen(arrays, needed), has_aux=True)
                return pullback(list(cotangents))[0]

            self.derivatives[needed] = ModuleProgram(run, self.jit)
        return self.derivatives[needed]


def pull(pullback, cotangents):
    return pullback(cotangents)[0]


def chosen(arrays, needed):
    return [x for x, need in zip(arrays, needed, strict=True) if need]


def split(fun, arrays, needed):
    """``fun`` of the needed arrays: the results that have derivatives, and a list of all, with None for
    those."""

    def of_needed(moving):
        given = iter(moving)
        outs = fun([next(given) if need else x for x, need in zip(arrays, needed, strict=True)])
        smooth = [inexact(x.dtype) for x in outs]
        return chosen(outs, smooth), [None if yes else x for x, yes in zip(outs, smooth, strict=True)]

    return of_needed


def inexact(dtype):
    return dtypes.issubdtype(dtype, np.inexact)


def differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def as_tensor(x):
    return x if isinstance(x, library().Tensor) else tensor_of(x)


def finished(arrays):
    """The arrays, when the program that makes them no longer reads its arguments, whose memory is
    PyTorch's."""
    for x in arrays:
        x.block_until_ready()
    return arrays


@functools.cache
def node():
    """The node of autograd's graphs; made when it is first needed, since PyTorch is imported then."""
    torch = library()

    class RabbetFunction(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx, program, *tensors):
            needed = ctx.needs_input_grad[1:]
            outs, pullback, others = program.forward(needed)([array_of(x) for x in tensors])
            smooth = iter(finished(outs))
            results = [tensor_of(next(smooth) if other is None else other) for other in others]
            ctx.save_for_backward(*tensors)  # by which autograd sees whether they are written to
            ctx.program, ctx.needed, ctx.pullback = program, needed, pullback
            ctx.smooth = [other is None for other in others]
            ctx.mark_non_differentiable(*[t for t, yes in zip(results, ctx.smooth, strict=True) if not yes])
            return tuple(results)

        @staticmethod
        def backward(ctx, *cotangents):
            tensors = ctx.saved_tensors
            cotangents = chosen(cotangents, ctx.smooth)
            if torch.is_grad_enabled():
                given = [*tensors, *map(conjugate, cotangents)]
                found = ctx.program.derivative(ctx.needed).call(tuple(given))
            else:
                arrays = [array_of(conjugate(x)) for x in cotangents]
                found = [tensor_of(x) for x in finished(ctx.program.pull(ctx.pullback, arrays))]
            gradients = iter(map(conjugate, found))
            return None, *[next(gradients) if need else None for need in ctx.needed]

    return RabbetFunction


def conjugate(tensor):
    """Between the two conventions for derivatives by complex numbers: PyTorch's is the conjugate of JAX's."""
    return tensor.conj() if tensor.is_complex() else tensor


__all__ = ["ModuleProgram", "as_tensor", "as_torch", "conjugate", "differentiable"]
