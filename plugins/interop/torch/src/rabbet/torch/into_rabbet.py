"""Functions and modules of PyTorch for Rabbet: arrays in, arrays out, under ``jit``, ``grad`` and ``vmap``.

A program calls PyTorch on the host. Its derivative is such a call, too: it runs the function once more under
autograd and pulls the cotangents back, so that nothing of PyTorch lives from one call to the next. The
derivative is itself a function of PyTorch, of arguments and cotangents, which is how there are second ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import tree
from rabbet.extend.functions import describe_function, folded, is_python_scalar
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import Tracer, typeof
from rabbet.extend.wrapping import is_of_handler
from rabbet.torch.host_calls import HostCall, pulled_back
from rabbet.torch.tensors import from_torch, library, place, torch_dtype, type_of

VMAP_METHODS = ("sequential", "sequential_unrolled", "broadcast_all")


def as_rabbet(
    fun: Callable, result_shape_dtypes: Any = None, *, vmap_method: str | None = "sequential"
) -> Callable:
    """A function of PyTorch as a function of arrays, with gradients, of any order, in reverse mode.

    Programs call it on the host while they run, by ``rb.pure_callback``, so on the CPU only. The backward
    pass runs ``fun`` once more. Random numbers that it draws from PyTorch's generator are the same in both;
    between calls they differ, and calls that are alike within one program may become one.

    Args:
      fun: takes pytrees with tensors and returns one; it must not write into its arguments, and what it
        writes elsewhere happens whenever it is called. A module is such a function with its parameters as
        constants; ``from_module`` makes them arguments.
      result_shape_dtypes: what it returns, a pytree of ``rb.ShapeDtypeStruct``, or a function of the
        arguments that returns one. None: found by running ``fun`` on tensors without values, once for each
        type of the arguments.
      vmap_method: ``"sequential"``: one call for each example; ``"sequential_unrolled"``;
        ``"broadcast_all"``: one for all, where every array among the arguments and the results has another
        dimension in front; None: ``vmap`` is refused.

    Returns:
      a function of the same arguments. Arrays among them are tensors for ``fun``; Python numbers and anything
      that is not an array are passed on as they are.

    Raises:
      TypeError: what ``fun`` returns cannot be found without values, or is not made of tensors.
      RuntimeError: ``fun`` wrote into an argument.

    Example:
      >>> import torch
      >>> f = rb.torch.as_rabbet(lambda x: torch.cumsum(x, 0)[-1] ** 2)
      >>> rb.jit(rb.grad(f))(rnp.array([1.0, 2.0]))
      Array([6., 6.], dtype=float32)
    """
    library()
    if not callable(fun):
        raise TypeError(f"as_rabbet takes a function of PyTorch, got {type(fun).__name__}")
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"as_rabbet: vmap_method is one of {', '.join(map(repr, VMAP_METHODS))} or None, "
            f"got {vmap_method!r}"
        )
    found: dict[Any, tuple] = {}

    @folded
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        is_array = tuple(map(is_array_like, leaves))
        arrays = [x for x, yes in zip(leaves, is_array, strict=True) if yes]
        constants = [x for x, yes in zip(leaves, is_array, strict=True) if not yes]
        outer: dict[str, Any] = {}

        def of_tensors(tensors):
            given, fixed = iter(tensors), iter(constants)
            args, kwargs = tree.unflatten(structure, [next(given if yes else fixed) for yes in is_array])
            outs, outer["structure"] = tree.flatten_with_path(fun(*args, **kwargs))
            return tensors_of(outs, fun)

        if result_shape_dtypes is not None:
            promised = result_shape_dtypes
            if callable(promised):
                promised = promised(*args, **kwargs)
            outs, out_structure = tree.flatten(promised)
            out_avals = tuple([ShapedArray(tuple(x.shape), np.dtype(x.dtype)) for x in outs])
        else:
            avals = tuple([plain(typeof(x)) for x in arrays])
            key = hashable((structure, is_array, tuple(constants), tuple(map(type, constants)), avals))
            if key is None or key not in found:
                out_avals = types_without_values(of_tensors, avals, fun)
                out_structure = outer["structure"]
                if key is not None:
                    found[key] = out_avals, out_structure
            else:
                out_avals, out_structure = found[key]
        call = HostCall(of_tensors, describe_function(fun), vmap_method)
        return tree.unflatten(out_structure, differentiable_call(call, out_avals)(*arrays))

    on_arrays.__name__ = getattr(fun, "__name__", type(fun).__name__)
    on_arrays.__doc__ = getattr(fun, "__doc__", None)
    return on_arrays


def differentiable_call(call, out_avals):
    """The function of arrays that makes a host call, with the rule for its derivative."""

    @rb.custom_vjp
    def calling(*arrays):
        return call.results(arrays, out_avals)

    @rb.custom_vjp
    def calling_with_state(*arrays):
        return call.results_and_state(arrays, out_avals)

    # What runs on the way forward is differentiated by the transformations around, so it has the rule, too.
    def forward(*leaves):
        (outs, _), kept = forward_with_state(*leaves)
        return outs, kept

    def forward_with_state(*leaves):
        arrays = tuple([leaf.value for leaf in leaves])
        outs, state = calling_with_state(*arrays)
        # In the structure, where no transformation changes it: () for what is differentiated by, else None.
        # PyTorch refuses to be asked for more, such as the derivative by a batch normalization's means.
        asked = tuple([() if leaf.perturbed else None for leaf in leaves])
        return (outs, state), (arrays, state, asked)

    def backward(kept, cotangents):
        arrays, state, asked = kept
        smooth_in = tuple([inexact(typeof(x)) and a is not None for x, a in zip(arrays, asked, strict=True)])
        smooth_out = tuple([inexact(aval) for aval in out_avals])
        if not any(smooth_in) or not any(smooth_out):
            return (None,) * len(arrays)
        unmoved = rb.custom_derivatives.SymbolicZero
        given = [
            rb.lax.full(c.aval.shape, 0, c.aval.dtype) if isinstance(c, unmoved) else c
            for c, yes in zip(cotangents, smooth_out, strict=True)
            if yes
        ]
        back = HostCall(
            pulled_back(call.fun, len(arrays), smooth_in, smooth_out),
            f"the derivative of {call.name}",
            call.vmap_method,
        )
        avals = tuple([plain(typeof(x)) for x, yes in zip(arrays, smooth_in, strict=True) if yes])
        gradients = iter(differentiable_call(back, avals)(*arrays, state, *given))
        return tuple([next(gradients) if yes else None for yes in smooth_in])

    backward_with_state = lambda kept, cotangents: backward(kept, cotangents[0])
    calling.defvjp(forward, backward, symbolic_zeros=True)
    calling_with_state.defvjp(forward_with_state, backward_with_state, symbolic_zeros=True)
    return calling


def from_module(module: Any, *, buffers: bool = False) -> tuple:
    """A ``torch.nn.Module`` as a function of its parameters.

    Args:
      module: is not changed by the function; whether it is in training or evaluation mode is asked at each
      call. buffers: whether what the module keeps beside parameters, such as the running means of a batch
        normalization, goes through the function, too. Without, they are constants, and changes are dropped.

    Returns:
      ``(apply, params)``, where ``apply(params, *args, **kwargs)`` is as ``module(*args, **kwargs)`` for
      arrays, and ``params`` a dict of arrays by the module's names, copied from it. With ``buffers``
      ``(apply, params, state)``, and ``apply(params, state, *args, **kwargs)`` returns ``(result, state)``.

    Example:
      >>> import torch
      >>> apply, params = rb.torch.from_module(torch.nn.Linear(3, 2))
      >>> rb.grad(lambda p: apply(p, rnp.ones((4, 3))).sum())(params)["bias"]
      Array([4., 4.], dtype=float32)
    """
    torch = library()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(
            f"from_module takes a torch.nn.Module, got {type(module).__name__}; functions go to as_rabbet"
        )

    def arrays(named):
        return {name: from_torch(x.detach(), copy=True) for name, x in named}

    params, state = arrays(module.named_parameters()), arrays(module.named_buffers())

    def run(params, state, args, kwargs):
        state = {name: x.clone() for name, x in (state or dict(module.named_buffers())).items()}
        out = torch.func.functional_call(module, (params, state), args, kwargs)
        return (out, state) if buffers else out

    run.__name__ = type(module).__name__
    called = as_rabbet(run)

    def apply(params: Mapping, *args: Any, **kwargs: Any) -> Any:
        return called(named("params", params, module.named_parameters()), None, args, kwargs)

    def apply_with_state(params: Mapping, state: Mapping, *args: Any, **kwargs: Any) -> Any:
        params = named("params", params, module.named_parameters())
        return called(params, named("state", state, module.named_buffers()), args, kwargs)

    return (apply_with_state, params, state) if buffers else (apply, params)


def named(what, given, wanted):
    """A dict of arrays with exactly the module's names: what is missing would silently be the module's
    own."""
    names = {name for name, _ in wanted}
    if not isinstance(given, Mapping) or set(given) != names:
        have = sorted(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise ValueError(f"apply: {what} is a dict with the names {sorted(names)}, got {have}")
    return dict(given)


def is_array_like(x):
    if is_python_scalar(x):
        return False
    return isinstance(x, (rb.Array, Tracer, np.ndarray, np.generic))


def plain(aval):
    """The type without what only promotion asks for."""
    return ShapedArray(aval.shape, aval.dtype)


def inexact(aval):
    return rb.dtypes.issubdtype(aval.dtype, np.inexact)


def hashable(key):
    try:
        hash(key)
    except TypeError:
        return None
    return key


def tensors_of(pairs, fun):
    """The leaves of a result, which are to be tensors."""
    torch = library()
    for path, x in pairs:
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"as_rabbet: {describe_function(fun)} returned{place(path)} {type(x).__name__} {x!r:.60}; "
                "only tensors go back into a program"
            )
    return [x for _, x in pairs]


def types_without_values(of_tensors, avals, fun):
    """The types of the results, found by PyTorch on tensors that have none but a shape and a dtype."""
    torch = library()
    kinds = [torch_dtype(a.dtype) for a in avals]
    from torch._subclasses.fake_tensor import FakeTensorMode  # where its documentation imports it from

    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            outs = of_tensors(
                [torch.empty(a.shape, dtype=kind) for a, kind in zip(avals, kinds, strict=True)]
            )
            return tuple([type_of(x) for x in outs])
    except Exception as error:
        if is_of_handler(error):
            raise
        reason = (str(error).splitlines() or [""])[0]
        raise TypeError(
            f"as_rabbet: what {describe_function(fun)} returns could not be found without values "
            f"({type(error).__name__}: {reason})\n  to fix: say it, as in "
            "as_rabbet(f, rb.ShapeDtypeStruct((2, 3), 'float32'))"
        ) from error


__all__ = ["as_rabbet", "from_module"]
