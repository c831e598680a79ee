"""What public names say that are objects of NumPy, jaxlib or Python itself, whose docstrings are not ours."""

from __future__ import annotations

import functools
import importlib
from typing import Any

DOCS = {
    "rabbet.numpy.generic": (
        "NumPy's base of all scalar types; in ``isinstance`` and ``issubdtype``.",
        ">>> rnp.issubdtype(rnp.float32, rnp.generic)\nTrue",
    ),
    "rabbet.numpy.number": (
        "NumPy's base of the scalar types of numbers: integers, floats and complex ones.",
        ">>> rnp.issubdtype(rnp.bfloat16, rnp.number), rnp.issubdtype(bool, rnp.number)\n(True, False)",
    ),
    "rabbet.numpy.integer": (
        "NumPy's base of the scalar types of integers.",
        ">>> rnp.issubdtype(rnp.arange(3).dtype, rnp.integer)\nTrue",
    ),
    "rabbet.numpy.signedinteger": (
        "NumPy's base of the scalar types of integers with a sign.",
        '>>> rnp.issubdtype("uint8", rnp.signedinteger)\nFalse',
    ),
    "rabbet.numpy.unsignedinteger": (
        "NumPy's base of the scalar types of integers without a sign.",
        '>>> rnp.issubdtype("uint8", rnp.unsignedinteger)\nTrue',
    ),
    "rabbet.numpy.inexact": (
        "NumPy's base of the scalar types of floats and complex numbers: what has derivatives.",
        ('>>> [rnp.issubdtype(name, rnp.inexact) for name in ("float32", "complex64", "int32")]\n'
        "[True, True, False]"),
    ),
    "rabbet.numpy.floating": (
        "NumPy's base of the scalar types of floats; `issubdtype` counts the narrow ones among them.",
        ">>> rnp.issubdtype(rnp.bfloat16, rnp.floating)\nTrue",
    ),
    "rabbet.numpy.complexfloating": (
        "NumPy's base of the scalar types of complex numbers.",
        ">>> rnp.issubdtype(rnp.fft.fft(rnp.ones(2)).dtype, rnp.complexfloating)\nTrue",
    ),
    "rabbet.numpy.flexible": (
        "NumPy's base of scalar types without a fixed size, such as texts. No array here has one.",
        ">>> rnp.issubdtype(rnp.ones(2).dtype, rnp.flexible)\nFalse",
    ),
    "rabbet.numpy.character": (
        "NumPy's base of the scalar types of texts. No array here has one.",
        ">>> rnp.issubdtype(rnp.ones(2).dtype, rnp.character)\nFalse",
    ),
    "rabbet.numpy.object_": (
        "NumPy's scalar type of Python objects. No array here has it.",
        (">>> try:\n...     rnp.array([{}, {}], rnp.object_)\n... except TypeError as error:\n"
        "...     print(type(error).__name__)\nTypeError"),
    ),
    "rabbet.numpy.dtype": (
        "NumPy's class of dtypes; each array has one.",
        '>>> rnp.ones(2).dtype == rnp.dtype("float32")\nTrue',
    ),
    "rabbet.numpy.ComplexWarning": (
        "NumPy's warning that a conversion to reals drops imaginary parts.",
        (">>> import warnings\n>>> with warnings.catch_warnings():\n"
        '...     warnings.simplefilter("ignore", rnp.ComplexWarning)\n'
        "...     np.array([1 + 2j]).astype(np.float32).tolist()\n[1.0]"),
    ),
    "rabbet.numpy.get_printoptions": (
        "How arrays are printed: NumPy's options, a dict.",
        '>>> "precision" in rnp.get_printoptions()\nTrue',
    ),
    "rabbet.numpy.set_printoptions": (
        "Set how arrays are printed, here and by NumPy: `precision`, `suppress`, `linewidth`, ...",
        (">>> before = rnp.get_printoptions()\n>>> rnp.set_printoptions(precision=2)\n"
        ">>> print(rnp.array([1 / 3]))\n[0.33]\n>>> rnp.set_printoptions(**before)"),
    ),
    "rabbet.numpy.printoptions": (
        "Context manager: how arrays are printed, here and by NumPy.",
        ">>> with rnp.printoptions(precision=2):\n...     print(rnp.array([1 / 3]))\n[0.33]",
    ),
    "rabbet.errors.JaxRuntimeError": (
        "Python's ``RuntimeError``: what the compiler and the runtime raise is of this class.",
        (">>> issubclass(rb.errors.OutOfMemoryError, rb.errors.JaxRuntimeError)\nTrue"),
    ),
    "rabbet.lax.DotDimensionNumbers": (
        ("The type of the argument that says which dimensions `dot_general` contracts and which it maps "
        "over, a tuple: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``."),
        (">>> rows_by_columns = (((1,), (0,)), ((), ()))\n"
        ">>> lax.dot_general(rnp.ones((2, 3)), rnp.ones((3, 4)), rows_by_columns).shape\n(2, 4)"),
    ),
    "rabbet.tree.PyTreeDef": (
        "The structure of a pytree: what is left without its leaves. It can be compared and hashed.",
        ('>>> structure = tree.structure({"a": 1, "b": (2, 3)})\n'
        ">>> structure.num_leaves, tree.unflatten(structure, [4, 5, 6])\n(3, {'a': 4, 'b': (5, 6)})"),
    ),
    "rabbet.tree.DictKey": (
        "An entry of a path: the key of a dict.",
        ('>>> ((path, leaf),), _ = tree.flatten_with_path({"a": 1})\n'
        '>>> path[0] == tree.DictKey("a"), path[0].key\n(True, \'a\')'),
    ),
    "rabbet.tree.SequenceKey": (
        "An entry of a path: a place in a list or tuple.",
        (">>> ((path, leaf),), _ = tree.flatten_with_path([1])\n"
        ">>> path[0] == tree.SequenceKey(0), path[0].idx\n(True, 0)"),
    ),
    "rabbet.tree.GetAttrKey": (
        "An entry of a path: an attribute of an object, such as a field of a named tuple.",
        ('>>> import collections\n>>> Point = collections.namedtuple("Point", "x")\n'
        ">>> ((path, leaf),), _ = tree.flatten_with_path(Point(1))\n>>> path[0].name\n'x'"),
    ),
    "rabbet.tree.FlattenedIndexKey": (
        "An entry of a path: a child of an object whose class was registered without names for its children.",
        (">>> class Pair:\n...     def __init__(self, *parts):\n...         self.parts = parts\n"
        ">>> _ = tree.register_node(Pair, lambda p: (p.parts, None), lambda _, parts: Pair(*parts))\n"
        ">>> (first, second), _ = tree.flatten_with_path(Pair(1, 2))\n>>> second[0][0].key\n1"),
    ),
    "rabbet.tree.unflatten": (
        ("The pytree of a structure and its leaves.\n\nArgs:\n  treedef: a ``PyTreeDef``, as `flatten` and "
        "`structure` return it.\n  leaves: an iterable of as many leaves as it has.\n\nRaises:\n"
        "  ValueError: for another number of leaves."),
        ('>>> leaves, treedef = tree.flatten({"a": 1, "b": (2, 3)})\n'
        ">>> tree.unflatten(treedef, [10 * x for x in leaves])\n{'a': 10, 'b': (20, 30)}"),
    ),
}


@functools.cache
def by_object() -> dict[int, str]:
    """The docstrings by the identity of what they are about."""
    found = {}
    for name, (text, example) in DOCS.items():
        module, _, last = name.rpartition(".")
        indented = "\n".join([f"  {line}" for line in example.split("\n")])
        found[id(getattr(importlib.import_module(module), last))] = f"{text}\n\nExample:\n{indented}"
    return found


def doc_of(thing: Any) -> str | None:
    """The docstring of an object that is not ours, or None."""
    return by_object().get(id(thing))
