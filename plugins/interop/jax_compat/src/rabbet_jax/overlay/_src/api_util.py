"""``jax._src.api_util``, of which e3nn-jax needs one function."""

import inspect


def infer_argnums_and_argnames(signature, argnums, argnames):
    """The places and the names of the arguments that are meant, as two tuples: where one of them is None, it
    follows from the other.
    """
    if argnums is None and argnames is None:
        return (), ()
    positional = [
        name for name, parameter in signature.parameters.items()
        if parameter.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]  # fmt: skip
    every = list(signature.parameters)
    argnums = (argnums,) if isinstance(argnums, int) else argnums
    argnames = (argnames,) if isinstance(argnames, str) else argnames
    if argnames is None:
        argnames = tuple(every[i] for i in argnums if every[i] in positional)
    if argnums is None:
        argnums = tuple(i for i, name in enumerate(every) if name in argnames and name in positional)
    return tuple(argnums), tuple(argnames)


__all__ = ["infer_argnums_and_argnames"]
