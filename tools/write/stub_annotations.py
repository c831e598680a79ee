"""What a stub says of a parameter or of a result: the annotation in the source, in words that every stub has.

``Value``, what library functions compute with, is ``ArrayLike`` where a caller gives it and ``Array`` where a
caller gets it. A name that stubs do not have, such as a class of one package, is ``Any``.
"""

import ast
import inspect
import re

# The names that the head of each stub defines or imports.
HERE = frozenset(
    """Any Callable Iterable Iterator Mapping Sequence bool bytes complex float int str None tuple list dict
    set frozenset type object Array ArrayLike Device DTypeLike""".split()
)
GIVEN = {"Value": "ArrayLike", "ArrayOrTracer": "ArrayLike", "Array": "ArrayLike", "DType": "DTypeLike"}
RETURNED = {"Value": "Array", "ArrayOrTracer": "Array", "DType": "Any", "DTypeLike": "Any"}
GENERIC = (
    "Callable", "Iterable", "Iterator", "Mapping", "Sequence", "tuple", "list", "dict", "set", "frozenset",
)  # fmt: skip


def of(annotation, words, known=frozenset()):
    """The text of an annotation for a stub.

    Args:
      annotation: a string, an object, or ``inspect.Parameter.empty``.
      words: ``GIVEN`` or ``RETURNED``.
      known: further names that the stub has.
    """
    if annotation is inspect.Parameter.empty:
        return "Any"
    if annotation is None:
        return "None"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:typing|collections\.abc)\.", "", text)
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return "Any"
    return written(tree, words, HERE | known)


def written(node, words, known):
    """The text of a part of an annotation."""
    match node:
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=ellipsis) if ellipsis is ...:
            return "..."
        case ast.Constant(value=str(text)):
            return of(text, words, known)
        case ast.Name(id=name):
            name = words.get(name, name)
            return name if name in known else "Any"
        case ast.Attribute(value=ast.Name(id="np"), attr=attr):
            return {"ndarray": "np.ndarray[Any, Any]", "dtype": "np.dtype[Any]"}.get(attr, f"np.{attr}")
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="np"), attr=attr)):
            return ast.unparse(node)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = dict.fromkeys([*alternatives(left, words, known), *alternatives(right, words, known)])
            if "ArrayLike" in sides:  # which numbers are part of
                sides = {side: None for side in sides if side not in ("bool", "int", "float", "complex")}
            return " | ".join(sides) if "Any" not in sides else "Any"
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in GENERIC:
            # What a function that is given returns is got, and what it takes is given.
            inside = RETURNED if name == "Callable" and words is GIVEN else words
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return f"{name}[{', '.join([written(part, inside, known) for part in parts])}]"
        case ast.List(elts=elts):
            return f"[{', '.join([written(one, words, known) for one in elts])}]"
    return "Any"


def alternatives(node, words, known):
    """The members of a union."""
    return written(node, words, known).split(" | ") if isinstance(node, ast.BinOp) else [
        written(node, words, known)
    ]  # fmt: skip


def bare(text):
    """A generic without its arguments, as the source may have it, with them: ``list`` is ``list[Any]``."""
    full = {"list": "list[Any]", "tuple": "tuple[Any, ...]", "dict": "dict[Any, Any]", "type": "type[Any]",
            "Callable": "Callable[..., Any]", "Sequence": "Sequence[Any]", "Iterator": "Iterator[Any]",
            "set": "set[Any]", "frozenset": "frozenset[Any]", "Mapping": "Mapping[Any, Any]",
            "Iterable": "Iterable[Any]"}  # fmt: skip
    return re.sub(r"\b(" + "|".join(full) + r")\b(?!\[)", lambda m: full[m[1]], text)


def given(annotation, known=frozenset()):
    """What callers give."""
    return bare(of(annotation, GIVEN, known))


def returned(annotation, known=frozenset()):
    """What callers get. One of several is ``Any``: whoever asks knows which of them comes."""
    text = bare(of(annotation, RETURNED, known))
    sides = [side for side in text.split(" | ") if side != "None"]
    return text if len(sides) <= 1 else "Any"
