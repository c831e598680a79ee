"""What the public functions refuse, and how they say it."""

from rabbet import dtypes, tree
from rabbet.extend import describe_function, traceable, typeof
from rabbet.tree_util import keystr


def as_tuple(argnums, fun, count, what="grad"):
    """``argnums`` as a tuple of non-negative ints, checked against the number of positional arguments."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    out = []
    for n in numbers:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f"{what} of {describe_function(fun)}: argnums must be ints, got {argnums!r}")
        if not -count <= n < count:
            raise ValueError(
                f"{what} of {describe_function(fun)}: argnums={argnums} asks for argument {n}, but the function was called "
                f"with {count} positional argument{'s' if count != 1 else ''}; keyword arguments cannot be differentiated, "
                f"pass the argument by position"
            )
        out.append(n % count)
    if len(set(out)) != len(out):
        raise ValueError(f"{what} of {describe_function(fun)}: argnums={argnums} names an argument twice")
    return tuple(out)


def differentiable_leaves(fun, arguments, argnums, *, holomorphic, allow_int, what):
    """The leaves of the chosen arguments as arrays, after checking that they can be differentiated."""
    leaves, treedef = [], None
    pairs, treedef = tree.flatten_with_path(arguments)
    for path, x in pairs:
        name = f"argument {argnums[path[0].idx]}{keystr(path[1:])}"
        try:
            leaf = traceable(x)
        except TypeError as error:
            raise TypeError(f"{what} of {describe_function(fun)}: {name} cannot be differentiated: {error}") from None
        aval = typeof(leaf)
        kind = dtypes.kind(aval.dtype)
        if holomorphic:
            if kind != "c":
                raise TypeError(
                    f"{what} of {describe_function(fun)} with holomorphic=True needs complex inputs, {name} has the type "
                    f"{aval.str_short()}"
                )
        elif kind == "c" and what in ("grad", "value_and_grad", "jacrev", "jacfwd", "hessian"):
            if what == "jacfwd":
                raise TypeError(_complex_hint(what, fun, name, aval))
        elif kind != "f" and not allow_int and kind != "c":
            raise TypeError(
                f"{what} of {describe_function(fun)} needs floating point or complex inputs, {name} has the type "
                f"{aval.str_short()}; convert it with astype, choose other arguments with argnums, or pass allow_int=True "
                f"for tangents of dtype float0"
            )
        leaves.append(leaf)
    return leaves, treedef


def _complex_hint(what, fun, name, aval):
    return (
        f"{what} of {describe_function(fun)}: {name} is complex ({aval.str_short()}); pass holomorphic=True if the function "
        f"is complex differentiable"
    )


def scalar_output(fun, outs, holomorphic, what):
    """Check that a function to be ``grad``ed returned one real scalar; return it."""
    if len(outs) != 1:
        raise TypeError(
            f"{what} of {describe_function(fun)}: the function must return one scalar, it returned {len(outs)} arrays; use "
            f"has_aux=True for (loss, other results), or rb.jacrev for derivatives of several outputs"
        )
    aval = typeof(outs[0])
    if aval.shape:
        raise TypeError(
            f"{what} of {describe_function(fun)}: the function must return a scalar, it returned an array of type "
            f"{aval.str_short()}; reduce it (as by rabbet.numpy.sum or mean), or use rb.jacrev or rb.vjp"
        )
    kind = dtypes.kind(aval.dtype)
    if holomorphic:
        if kind != "c":
            raise TypeError(
                f"{what} of {describe_function(fun)} with holomorphic=True needs a complex output, got {aval.str_short()}"
            )
    elif kind == "c":
        raise TypeError(
            f"{what} of {describe_function(fun)}: the function must return a real scalar, it returned {aval.str_short()}; "
            f"take its real part, or pass holomorphic=True if it is complex differentiable"
        )
    elif kind != "f":
        raise TypeError(
            f"{what} of {describe_function(fun)}: the function must return a floating point scalar, it returned "
            f"{aval.str_short()}; convert the result with astype"
        )
    return outs[0]


def same_structure(what, fun, given, wanted, names):
    """Refuse two pytrees of different structure."""
    if given != wanted:
        raise TypeError(
            f"{what} of {describe_function(fun)}: {names[0]} must have the same structure as {names[1]}, "
            f"got {given} and {wanted}"
        )


def same_types(what, fun, given, wanted, names):
    """Refuse lists of arrays whose shapes or dtypes differ; the first pair that does is named."""
    for i, (a, b) in enumerate(zip(given, wanted, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise TypeError(
                f"{what} of {describe_function(fun)}: {names[0]} number {i} has the type {a.str_short()}, its {names[1]} needs "
                f"{b.str_short()}"
            )
