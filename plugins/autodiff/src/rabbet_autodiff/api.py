"""The public functions: arguments and pytrees around the two modes."""

import functools

import numpy as np

from rabbet import dtypes, tree
from rabbet.extend import (
    ShapedArray, Zero, describe_function, evaluate, folded, full_of, instantiate, tangent_aval, traceable, typeof,
)  # fmt: skip
from rabbet_autodiff import checks, modes
from rabbet_autodiff.jacobians import hessian, jacfwd, jacobian, jacrev


def stop_gradient(x):
    """``x`` (a pytree of arrays) as a constant to differentiation: its derivative is zero."""
    from rabbet import lax

    return lax.stop_gradient(x)


class Flat:
    """A function of pytrees as one of flat lists; remembers the structure of its result (and auxiliary results)."""

    def __init__(self, fun, treedef, has_aux=False):
        self.fun, self.treedef, self.has_aux = fun, treedef, has_aux
        self.out_tree = self.aux = None

    def __call__(self, *leaves):
        out = self.fun(*tree.unflatten(self.treedef, list(leaves)))
        if self.has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise TypeError(
                    f"has_aux=True: {describe_function(self.fun)} must return a pair (output, auxiliary results), it returned "
                    f"{type(out).__name__}"
                )
            out, self.aux = out
        outs, self.out_tree = tree.flatten(out)
        return [traceable(x) for x in outs]

    def settled_aux(self, interpreter_outs):
        """The auxiliary results as plain values: tracers of finished differentiation replaced by their values."""
        return tree.map(interpreter_outs, self.aux)


def plain(x):
    """The value of a tracer of a finished differentiation (auxiliary outputs); any other leaf as it is."""
    from rabbet.extend import Dual, Tracer

    while type(x) is Tracer and not x.interpreter.alive and type(x.payload) is Dual:
        x = x.payload.primal
    return x


def _with_arguments(fun, args, kwargs, argnums):
    """``fun`` as a function of the chosen positional arguments alone."""

    def of_chosen(*chosen):
        full = list(args)
        for n, x in zip(argnums, chosen, strict=True):
            full[n] = x
        return fun(*full, **kwargs)

    of_chosen.__wrapped__ = fun
    return of_chosen


def value_and_grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()):
    """The function that returns both the value and the gradient of ``fun``.

    Args:
      fun: returns a real floating point scalar of shape (); with ``has_aux`` a pair (scalar, auxiliary results).
      argnums: an int, or a sequence of ints: which positional arguments to differentiate. They may be pytrees.
      has_aux: whether ``fun`` returns auxiliary results besides.
      holomorphic: whether ``fun`` is complex differentiable; then inputs and output are complex.
      allow_int: whether to accept integer arguments, whose gradient has the dtype float0.

    Returns:
      a function of the same arguments returning ``(value, gradient)``, or ``((value, aux), gradient)``. The gradient has the structure, shapes and
      dtypes of the chosen argument, or is a tuple of them.

    Raises:
      TypeError: for an output that is no scalar or inputs that cannot be differentiated.
    """
    return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad")


def _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, what):
    if not callable(fun):
        raise TypeError(f"{what} takes a function, got {type(fun).__name__}")

    @functools.wraps(fun)
    @folded
    def valued(*args, **kwargs):
        numbers = checks.as_tuple(argnums, fun, len(args), what)
        chosen = tuple([args[n] for n in numbers])
        leaves, treedef = checks.differentiable_leaves(
            fun, chosen, numbers, holomorphic=holomorphic, allow_int=allow_int, what=what
        )
        flat = Flat(_with_arguments(fun, args, kwargs, numbers), treedef, has_aux)
        outs, recording = modes.record(flat, leaves)
        value = checks.scalar_output(fun, outs, holomorphic, what)
        grads = recording.pull([full_of(typeof(value).strong(), 1)])
        grads = [_cotangent(g, x) for g, x in zip(grads, leaves, strict=True)]
        gradient = tree.unflatten(treedef, grads)
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        if has_aux:
            return (value, tree.map(plain, flat.aux)), gradient
        return value, gradient

    return valued


def _cotangent(g, primal):
    """A cotangent as users see it: zeros for None, float0 for integer inputs."""
    if g is None:
        return full_of(tangent_aval(typeof(primal)), 0) if typeof(primal).shape or not _inexact(primal) else _zero(primal)
    return traceable(g)


def _inexact(x):
    return tangent_aval(typeof(x)).dtype == typeof(x).dtype


def _zero(x):
    return traceable(np.zeros((), typeof(x).dtype))


def grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()):
    """The gradient of a scalar function; see ``value_and_grad`` for the arguments.

    Returns:
      a function of the same arguments returning the gradient, or ``(gradient, aux)`` with ``has_aux``.

    Example:
      >>> rb.grad(rnp.tanh)(1.0)
      Array(0.41997433, dtype=float32)
    """
    with_value = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "grad")

    @functools.wraps(fun)
    @folded
    def gradient(*args, **kwargs):
        value, g = with_value(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return gradient


def jvp(fun, primals, tangents, has_aux=False):
    """The value of ``fun`` and its derivative in a direction (forward mode).

    Args:
      fun: a function of ``len(primals)`` positional arguments.
      primals: a tuple of arguments, pytrees of arrays.
      tangents: a tuple of the same structure, shapes and dtypes (float0 for integers).

    Returns:
      ``(out, out_tangent)``, with ``has_aux`` also the auxiliary results.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"jvp of {describe_function(fun)}: primals and tangents must be tuples of arguments, got "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    return _jvp(fun, tuple(primals), tuple(tangents), has_aux)


@folded
def _jvp(fun, primals, tangents, has_aux):
    leaves, treedef = tree.flatten(primals)
    directions, tangent_tree = tree.flatten(tangents)
    checks.same_structure("jvp", fun, tangent_tree, treedef, ("tangents", "primals"))
    leaves = [traceable(x) for x in leaves]
    directions = [_tangent_in(t, x) for t, x in zip(directions, leaves, strict=True)]
    wanted = [tangent_aval(typeof(x)) for x in leaves]
    checks.same_types("jvp", fun, [_aval_of(t) for t in directions], wanted, ("tangent", "primal"))
    flat = Flat(fun, treedef, has_aux)
    outs, out_tangents = modes.forward(flat, leaves, directions)
    out = tree.unflatten(flat.out_tree, outs)
    out_tangent = tree.unflatten(flat.out_tree, [_tangent_out(t) for t in out_tangents])
    return (out, out_tangent, tree.map(plain, flat.aux)) if has_aux else (out, out_tangent)


def _aval_of(t):
    return t.aval if type(t) is Zero else typeof(t)


def _tangent_in(t, x):
    if getattr(t, "dtype", None) == dtypes.float0:
        return Zero(ShapedArray(t.shape, dtypes.float0))
    return traceable(t)


def _tangent_out(t):
    return traceable(instantiate(t)) if t is not None and _aval_of(t).dtype != dtypes.float0 else instantiate(t)


def vjp(fun, *primals, has_aux=False, reduce_axes=()):
    """The value of ``fun`` and the function that pulls cotangents back (reverse mode).

    Returns:
      ``(out, pull)``, with ``has_aux`` also the auxiliary results. ``pull(cotangent)`` takes a pytree like ``out`` and returns a tuple of cotangents, one
      for each argument; it may be called several times.
    """
    return _vjp(fun, primals, has_aux)


@folded
def _vjp(fun, primals, has_aux):
    leaves, treedef = tree.flatten(primals)
    leaves = [traceable(x) for x in leaves]
    flat = Flat(fun, treedef, has_aux)
    outs, recording = modes.record(flat, leaves)
    pull = Pullback(fun, recording, flat.out_tree, treedef, [typeof(o) for o in outs], leaves)
    out = tree.unflatten(flat.out_tree, outs)
    return (out, pull, tree.map(plain, flat.aux)) if has_aux else (out, pull)


class Pullback:
    """What ``vjp`` returns to pull cotangents back with."""

    def __init__(self, fun, recording, out_tree, in_tree, out_avals, primals):
        self.fun, self.recording, self.out_tree, self.in_tree = fun, recording, out_tree, in_tree
        self.out_avals, self.primals = out_avals, [typeof(p) for p in primals]

    @folded
    def __call__(self, cotangent):
        given, treedef = tree.flatten(cotangent)
        checks.same_structure("vjp", self.fun, treedef, self.out_tree, ("the cotangent", "the output"))
        cotangents = [_tangent_in(ct, None) for ct in given]
        wanted = [tangent_aval(a) for a in self.out_avals]
        checks.same_types("vjp", self.fun, [_aval_of(c) for c in cotangents], wanted, ("cotangent", "output"))
        results = self.recording.pull(cotangents)
        full = [
            full_of(tangent_aval(a), 0) if g is None else g for g, a in zip(results, self.primals, strict=True)
        ]
        return tree.unflatten(self.in_tree, [g if _is_float0(g) else traceable(g) for g in full])


def _is_float0(x):
    return getattr(x, "dtype", None) == dtypes.float0


def linearize(fun, *primals, has_aux=False):
    """The value of ``fun`` and its derivative there as a linear function, computed once for many directions.

    Returns:
      ``(out, push)``, with ``has_aux`` also the auxiliary results; ``push(*tangents)`` returns the tangent of the output.
    """
    return _linearize(fun, primals, has_aux)


@folded
def _linearize(fun, primals, has_aux):
    leaves, treedef = tree.flatten(primals)
    leaves = [traceable(x) for x in leaves]
    flat = Flat(fun, treedef, has_aux)
    outs, recording = modes.record(flat, leaves)
    jaxpr, consts = recording.program()
    out_avals = [tangent_aval(typeof(o)) for o in outs]

    @folded
    def push(*tangents):
        given, tangent_tree = tree.flatten(tangents)
        checks.same_structure("linearize", fun, tangent_tree, treedef, ("tangents", "primals"))
        given = [_tangent_in(t, None) for t in given]
        wanted = [tangent_aval(typeof(x)) for x in leaves]
        checks.same_types("linearize", fun, [_aval_of(t) for t in given], wanted, ("tangent", "primal"))
        moving = [instantiate(t) for v, t in zip(recording.inputs, given, strict=True) if v is not None]
        results = iter(evaluate(jaxpr, moving, consts))
        pushed = [
            full_of(a, 0) if v is None else next(results) for v, a in zip(recording.outputs, out_avals, strict=True)
        ]
        return tree.unflatten(flat.out_tree, [t if _is_float0(t) else traceable(t) for t in pushed])

    out = tree.unflatten(flat.out_tree, outs)
    return (out, push, tree.map(plain, flat.aux)) if has_aux else (out, push)


def linear_transpose(fun, *primals, reduce_axes=()):
    """The transpose of a linear function.

    Args:
      fun: linear in all its arguments.
      primals: arrays or ``ShapeDtypeStruct``, for their types only.

    Returns:
      a function from a cotangent like the output to a tuple of cotangents, one for each argument.

    Raises:
      MissingRule: if ``fun`` uses an operation that is not linear.
    """
    leaves, treedef = tree.flatten(primals)
    avals = [typeof(x).strong() for x in leaves]

    @folded
    def transposed(cotangent):
        flat = Flat(fun, treedef)
        recording, outs = modes.transposed(flat, avals)
        given, ct_tree = tree.flatten(cotangent)
        checks.same_structure("linear_transpose", fun, ct_tree, flat.out_tree, ("the cotangent", "the output"))
        given = [traceable(ct) for ct in given]
        checks.same_types(
            "linear_transpose", fun, [typeof(c) for c in given], [typeof(o) for o in outs], ("cotangent", "output")
        )
        results = recording.pull(given)
        full = [full_of(a, 0) if g is None else g for g, a in zip(results, avals, strict=True)]
        return tree.unflatten(treedef, [traceable(g) for g in full])

    return transposed


__all__ = [
    "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize", "stop_gradient",
    "value_and_grad", "vjp",
]  # fmt: skip
