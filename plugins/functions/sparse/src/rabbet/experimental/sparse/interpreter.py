"""The interpreter: in ``sparsify(f)`` a sparse array goes through the operations of ``f`` as a payload.

The payload is a ``BCOO`` or another sparse array itself, a tree whose structure says its shape and layout.
What becomes dense becomes a plain value. Rules for single primitives are in ``rules``.
"""

from collections.abc import Callable, Iterable
from typing import Any

from rabbet import tree
from rabbet.experimental.sparse import rules
from rabbet.experimental.sparse.base import DensifyError, JAXSparse, is_sparse, to_dense
from rabbet.experimental.sparse.payloads import Dense, densified
from rabbet.extend.bodies import is_tracer_of
from rabbet.extend.functions import folded, named_like
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import Interpreter, payload_of, run_traced, typeof
from rabbet.extend.wrapping import wraps


class Sparsify(Interpreter):
    """Payload: a sparse array, or ``Dense``. ``densify``: True, or the primitives that may make sparse
    arrays dense, by name.
    """

    table = rules.rules
    lifts_typed = False

    def __init__(self, densify):
        self.densify = densify

    def key(self):
        return Sparsify, self.densify

    def allows(self, op):
        return self.densify is True or op.primitive.name in self.densify

    def lift(self, value):
        return Dense(value)

    def type_of(self, payload):
        if is_sparse(payload):
            return ShapedArray(payload.shape, payload.dtype)
        return typeof(payload.value)

    def wrap(self, payload):
        return super().wrap(payload) if is_sparse(payload) else payload.value

    def process(self, op, args):
        try:
            return super().process(op, args)
        except DensifyError:
            if not self.allows(op):
                raise
            return self.at_parent(lambda: op(*[self.made_dense(x) for x in args]))

    def made_dense(self, x):
        return to_dense(x.payload) if is_tracer_of(x, self) else x

    def join(self, a, b):
        """One layout with the promises of both."""
        return a._joined(b)

    def force(self, payload, like):
        if is_sparse(payload):
            return payload._promising(like)
        raise DensifyError(
            f"{self.describe()}: a loop or branch brings together a dense array and a {type(like).__name__} "
            "for one value; make the sparse one dense with sparse.todense(x), before the loop or within"
        )

    def sliced(self, payload):
        """A sparse array is scanned along its first batch dimension."""
        if is_sparse(payload) and not payload.n_batch:
            raise ValueError(
                f"{self.describe()}: scan goes over the first dimension of a {type(payload).__name__} that "
                "has no batch dimensions; make it one first: x.update_layout(n_batch=1)"
            )
        return payload, payload

    def observed(self, payload):
        return payload if is_sparse(payload) else payload.value

    def describe(self):
        return "sparsify" + super().describe().removeprefix("Sparsify")


def sparsify(
    f: Callable, use_tracer: bool = False, *, densify: bool | str | Iterable[str] = False
) -> Callable:
    """A function of arrays as one that takes sparse arrays too.

    Args:
      f: a function of arrays, or trees of them, of which any may be sparse. It sees arrays of the same
        shapes. ``jit``, ``grad``, ``vmap``, ``scan``, ``cond`` and functions of ``rabbet.numpy``
        may be in it, and around the result.
      use_tracer: accepted, without effect.
      densify: operations that may make a sparse array dense, which is an error else: True for all, or names
        of primitives, as the error says them.

    Returns:
      a function like ``f``, whose results are sparse where its operations keep them so.

    Raises:
      DensifyError: where an operation would make a dense array. It says which, and how to allow it.

    Example:
      >>> x = BCOO.fromdense(rnp.eye(3))
      >>> sparsify(lambda x: rnp.sin(x).T * 2)(x)
      BCOO(float32[3, 3], nse=3)
      >>> sparsify(lambda x: x + 1.0, densify=("add",))(x).shape
      (3, 3)
    """
    del use_tracer
    if isinstance(densify, str):
        densify = (densify,)
    allowed = densify if isinstance(densify, bool) else frozenset(densify)
    @wraps(f)
    def sparse_f(*args, **kwargs):
        leaves, structure = tree.flatten((args, kwargs), is_leaf=is_sparse)
        places = [i for i, x in enumerate(leaves) if is_sparse(x)]
        interpreter = Sparsify(allowed or frozenset())

        def on_tracers(*tracers):
            filled = list(leaves)
            for i, tracer in zip(places, tracers):
                filled[i] = tracer
            args, kwargs = tree.unflatten(structure, filled)
            return f(*args, **kwargs)

        out = run_traced(interpreter, named_like(on_tracers, f), [leaves[i] for i in places])
        given = lambda x: payload_of(interpreter, x) if is_tracer_of(x, interpreter) else x
        return tree.map(given, out, is_leaf=is_sparse)

    return folded(sparse_f)


def todense(arr: JAXSparse | Any) -> Any:
    """A sparse array as a dense one, and an array as it is; inside ``sparsify`` too.

    Example:
      >>> todense(BCOO.fromdense(rnp.eye(2)))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return arr.todense() if is_sparse(arr) else densified(arr)
