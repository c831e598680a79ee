"""What JAX's sparse arrays say of themselves, as tuples, and a function that maps over leading dimensions."""

import importlib
from typing import Any, NamedTuple

import rabbet as rb


class SparseInfo(NamedTuple):
    """The shape of a sparse array, and what is known of its indices."""

    shape: tuple
    indices_sorted: bool = False
    unique_indices: bool = False


class COOInfo(NamedTuple):
    """The shape of a COO, and along which dimension it is sorted."""

    shape: tuple
    rows_sorted: bool = False
    cols_sorted: bool = False


class BCOOProperties(NamedTuple):
    """The kinds of dimensions of a BCOO, and how many elements it stores."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class BCSRProperties(NamedTuple):
    """The kinds of dimensions of a BCSR, and how many elements it stores."""

    n_batch: int
    n_dense: int
    nse: int


def nfold_vmap(fun: Any, N: int, *, broadcasted: bool = True, in_axes: Any = 0) -> Any:
    """``fun`` mapped over ``N`` leading dimensions; ``broadcasted``: those of size 1 are repeated."""
    for _ in range(N):
        fun = broadcasting_vmap(fun, in_axes) if broadcasted else rb.vmap(fun, in_axes)
    return fun


def broadcasting_vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """``vmap`` of arrays whose mapped dimensions may be of size 1, which is repeated."""

    def mapped(*args: Any) -> Any:
        axes = (in_axes,) * len(args) if isinstance(in_axes, int) or in_axes is None else tuple(in_axes)
        sizes = {x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None} - {1}
        if len(sizes) > 1:
            raise ValueError(f"broadcasting_vmap: mapped dimensions of the sizes {sorted(sizes)}")
        if sizes:
            alone = [a is not None and x.shape[a] == 1 for x, a in zip(args, axes, strict=True)]
            squeezed = lambda x, a, s: rb.numpy.squeeze(x, a) if s else x
            args = tuple([squeezed(*each) for each in zip(args, axes, alone, strict=True)])
            axes = tuple([None if s else a for a, s in zip(axes, alone, strict=True)])
        return rb.vmap(fun, axes, out_axes)(*args)

    return mapped


def cusparse_warning() -> type:
    """The class of warnings that a GPU's library for sparse arrays is not used."""
    base = importlib.import_module("rabbet.experimental.sparse").SparseEfficiencyWarning
    home = {"__module__": "jax.experimental.sparse"}
    return type("CuSparseEfficiencyWarning", (base,), home)


NAMES = {each.__name__: each for each in (
    SparseInfo, COOInfo, BCOOProperties, BCSRProperties, nfold_vmap, broadcasting_vmap,
)}  # fmt: skip


def inner(name: str) -> Any:
    """One of these by its name.

    Raises:
      AttributeError: where there is none.
    """
    if name == "CuSparseEfficiencyWarning":
        NAMES[name] = NAMES.get(name) or cusparse_warning()
    if name not in NAMES:
        raise AttributeError(name)
    return NAMES[name]
