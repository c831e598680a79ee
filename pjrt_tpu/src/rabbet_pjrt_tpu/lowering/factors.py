"""Factorizations by what libtpu's compiler knows under these names."""

from rabbet.extend.transform import lower
from rabbet.lax.linalg import matrices


def call(op, target, names, version=1):
    """Write a call of one of the compiler's own expansions; return the names of its results.

    Args:
      op: the lowering site, whose types the expansion has.
      target: its name.
      names: the operands.
      version: the form in which it is called.
    """
    ins = ", ".join([a.mlir for a in op.in_avals])
    outs = ", ".join([a.mlir for a in op.out_avals])
    several = len(op.out_avals) > 1
    text = (
        f"stablehlo.custom_call @{target}({', '.join(names)}) {{api_version = {version} : i32}} : "
        f"({ins}) -> {f'({outs})' if several else outs}"
    )
    return op.emit_many(text, len(op.out_avals)) if several else [op.emit(text)]


def lu(op, x):
    """Both factors, the pivots, and the permutation that they amount to."""
    if not op.in_avals[0].size:  # the lowering for all platforms knows what nothing has
        return lower.lookup(op.primitive, "")(op, x)
    return call(op, "LuDecomposition", [x], version=2)


def householder_product(op, a, taus):
    """The first columns of a product of reflections."""
    if not op.in_avals[1].size:
        return op.write(lambda: [matrices.identity(op.out)], [], [])[0]
    return call(op, "ProductOfElementaryHouseholderReflectors", [a, taus])[0]
