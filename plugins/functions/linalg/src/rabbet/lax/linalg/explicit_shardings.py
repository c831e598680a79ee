"""How results lie where axes are of type ``Explicit``: batches of matrices are cut along the batch alone."""

from rabbet.lax.linalg import primitives as p


def along_the_batch(op, operands, inner, outs):
    """Entries of results whose leading dimensions are those of the operands; ``inner`` and ``outs`` count the
    dimensions behind the batch, of operands and results.
    """
    batches = []
    for x, own in zip(operands, inner, strict=True):
        lead = len(x.entries) - own
        if any(e is not None for e in x.entries[lead:]):
            raise ValueError("it works on matrices that are cut")
        batches.append(x.entries[:lead])
    made = []
    for entries in zip(*batches, strict=True):
        said = {e for e in entries if e is not None}
        if len(said) > 1:
            raise ValueError("the batches are cut differently")
        made.append(said.pop() if said else None)
    found = [(*made, *[None] * own) for own in outs]
    return found if op.primitive.multiple_results else found[0]


def give(primitive, inner, outs):
    """A primitive of matrices gets its rule: how many dimensions behind the batch its operands and its
    results have; the latter may depend on the parameters.
    """

    @primitive.rule("explicit")
    def laid(op, *operands):
        return along_the_batch(op, operands, inner, outs(op.params) if callable(outs) else outs)


def spectra(params):
    """Eigenvalues and the vectors that are asked for."""
    sides = (params["compute_left_eigenvectors"], params["compute_right_eigenvectors"])
    return (1, *[2 for asked in sides if asked])


def give_to_all():
    """The rules of all primitives of this package."""
    give(p.cholesky.cholesky, (2,), (2,))
    give(p.lu.lu, (2,), (2, 1, 1))
    give(p.lu.lu_pivots_to_permutation, (1,), (1,))
    give(p.triangular.triangular_solve, (2, 2), (2,))
    give(p.eigh.eigh, (2,), (2, 1))
    give(p.svd.svd, (2,), lambda params: (2, 1, 2) if params["compute_uv"] else (1,))
    give(p.qr.qr, (2,), lambda params: (2, 2, 1) if params.get("pivoting") else (2, 2))
    give(p.qr.geqrf, (2,), (2, 1))
    give(p.qr.householder_product, (2, 1), (2,))
    give(p.qr.ormqr, (2, 1, 2), (2,))
    give(p.eig.eig, (2,), spectra)
    give(p.reductions.hessenberg, (2,), (2, 1))
    give(p.reductions.schur, (2,), lambda params: (2,) * (2 if params["compute_schur_vectors"] else 1))
    give(p.reductions.tridiagonal, (2,), (2, 1, 1, 1))
    give(p.tridiagonal.tridiagonal_solve, (1, 1, 1, 2), (2,))


__all__ = ["along_the_batch", "give", "give_to_all"]
