"""The structure of a state as the manifest has it: a list of its nodes, each before its children.

A node is a list: its kind, and what the kind needs.

    ["leaf"]  ["none"]  ["list", n]  ["tuple", n]  ["dict", keys]  ["OrderedDict", keys]
    ["defaultdict", keys, name of the factory or None]
    ["namedtuple", "module:name", fields]  ["class", "module:name", steps, metadata]

A step is a pair that leads from a node to a child: ``["item", 0]``, ``["key", "w"]``, ``["attribute", "w"]``,
``["child", 0]``. Metadata that are plain values stand there as ``{"plain": ...}``; of others there is only a
text, ``{"opaque": ...}``, and such a state is loaded with ``like``.
"""

import sys

import numpy as np
from rabbet import tree

from rabbet_store import scalars
from rabbet_store.errors import CheckpointError

SEQUENCES = {"list": list, "tuple": tuple}
FACTORIES = {f.__name__: f for f in (list, dict, set, tuple, int, float, complex, str, bytes, bool)}
CONTAINERS = (*SEQUENCES, "dict", "OrderedDict", "defaultdict", "namedtuple", "class", "unknown")


def taken_apart(state):
    """``(nodes, leaves)``; a leaf is a triple of its steps from the root, its name and the value."""
    tree.flatten(state)  # says what is wrong with a tree that contains itself, or is too deep
    nodes, leaves = [], []
    stack = [((), (), state)]
    while stack:
        way, path, x = stack.pop()
        level = tree.one_level(x)
        if level is None:
            nodes.append(["leaf"])
            leaves.append((way, tree.keystr(path) or "the value", x))
            continue
        keys, children, metadata = level
        node, steps = described(x, keys, metadata)
        nodes.append(node)
        below = [((*way, s), (*path, k), c) for s, k, c in zip(steps, keys, children, strict=True)]
        stack.extend(reversed(below))
    return nodes, leaves


def described(x, keys, metadata):
    """The node for a container, and the steps to its children."""
    kind = type(x)
    steps = [step_of(key) for key in keys]
    if x is None:
        return ["none"], steps
    if kind is list or kind is tuple:
        return [kind.__name__, len(steps)], steps
    if kind.__name__ in ("dict", "OrderedDict", "defaultdict") and all(s[0] == "key" for s in steps):
        from collections import OrderedDict, defaultdict

        if kind in (dict, OrderedDict):
            return [kind.__name__, [s[1] for s in steps]], steps
        if kind is defaultdict:
            made_by = x.default_factory
            name = getattr(made_by, "__name__", "")
            known = None if made_by is None else name if FACTORIES.get(name) is made_by else "?"
            return [kind.__name__, [s[1] for s in steps], known], steps
    name = f"{kind.__module__}:{kind.__qualname__}"
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and metadata is kind:
        return ["namedtuple", name, list(kind._fields)], steps
    try:
        written = {"plain": scalars.encoded(metadata)}
    except TypeError:
        written = {"opaque": f"{metadata!r:.200}"}
    return ["class", name, [list(s) for s in steps], written], steps


def step_of(key):
    """A key of a path as a step, which is hashable where the manifest's are lists."""
    if isinstance(key, tree.SequenceKey):
        return "item", key.idx
    if isinstance(key, tree.DictKey):
        return "key", plain_key(key.key)
    if isinstance(key, tree.GetAttrKey):
        return "attribute", key.name
    if isinstance(key, tree.FlattenedIndexKey):
        return "child", key.key
    return "key", str(key)


def plain_key(key):
    """A key of a dict as JSON.

    Raises:
      TypeError: for one that could not be read again.
    """
    if isinstance(key, np.generic):
        key = key.item()
    try:
        if isinstance(key, (list, dict)):
            raise TypeError
        return scalars.encoded(key)
    except TypeError:
        raise TypeError(
            f"a checkpoint has keys of dicts that are texts, numbers, None, or tuples of these, got "
            f"{key!r:.60}"
        ) from None


def steps_of(node):
    """The steps to the children of a node."""
    kind = node[0]
    if kind in SEQUENCES:
        return [("item", i) for i in range(node[1])]
    if kind in ("dict", "OrderedDict", "defaultdict"):
        return [("key", key) for key in node[1]]
    if kind == "namedtuple":
        return [("attribute", field) for field in node[2]]
    if kind in ("class", "unknown"):
        return [tuple(s) for s in node[2]]
    return []


def places(nodes):
    """A dict: for each node the steps that lead to it, as something hashable, to its number, its node and for
    a leaf the number of the leaf.
    """
    found, leaf = {}, 0
    stack = [()]
    for number, node in enumerate(nodes):
        way = stack.pop()
        found[way] = number, node, leaf if node[0] == "leaf" else None
        leaf += node[0] == "leaf"
        stack.extend([(*way, hashable(s)) for s in reversed(steps_of(node))])
    return found


def hashable(step):
    """A step that can be a key: what JSON has as lists and dicts as their text."""
    kind, key = step
    return kind, repr(key) if isinstance(key, (dict, list)) else (type(key).__name__, key)


def named(way):
    """The steps to a node, from ``places``, as text."""
    words = []
    for kind, key in way:
        if isinstance(key, str):
            words.append(f"[{key}]")
        elif kind == "attribute":
            words.append(f".{key[1]}")
        else:
            words.append(f"[{key[1]!r}]")
    return "".join(words) or "the state as a whole"


def put_together(nodes, values, plain=False):
    """The state of its nodes and the values of its leaves. With ``plain``, dicts and lists stand for classes.

    Raises:
      CheckpointError: for a class that is not registered in this process; names it.
    """
    made, values = [], list(values)
    for node in reversed(nodes):
        if node[0] == "leaf":
            made.append(values.pop())
            continue
        count = len(steps_of(node))
        children = [made.pop() for _ in range(count)]
        made.append(container(node, children, plain))
    return made[0]


def container(node, children, plain):
    """A node with its children."""
    kind = node[0]
    if kind == "none":
        return None
    if kind in SEQUENCES:
        return SEQUENCES[kind](children)
    keys = (
        [scalars.decoded(key) for _, key in steps_of(node)] if kind not in ("namedtuple", "class") else None
    )
    if kind == "unknown" and node[1] != "dict":
        return children
    if kind in ("dict", "unknown"):
        return dict(zip(keys, children, strict=True))
    if kind in ("OrderedDict", "defaultdict"):
        from collections import OrderedDict, defaultdict

        if kind == "OrderedDict":
            return OrderedDict(zip(keys, children, strict=True))
        if node[2] == "?" and not plain:
            raise CheckpointError(
                "the checkpoint has a defaultdict whose factory is not a type of Python's own; pass "
                "load(like=...), or load(plain=True)"
            )
        factory = FACTORIES.get(node[2])
        return defaultdict(None if plain else factory, zip(keys, children, strict=True))
    if plain:
        return unnamed(node, children)
    return instance(node, children)


def unnamed(node, children):
    """Dicts and lists for a class."""
    steps = steps_of(node)
    if all(kind in ("item", "child") for kind, _ in steps) and steps:
        return list(children)
    return {scalars.decoded(key): child for (_, key), child in zip(steps, children, strict=True)}


def instance(node, children):
    """An instance of a class that this program has; none is imported for it."""
    name = node[1]
    help_ = (
        "import what registers it before, pass a state as load(like=...), or take dicts and lists by "
        "load(plain=True)"
    )
    cls = found_class(name)
    if cls is None:
        raise CheckpointError(f"the checkpoint has a {name}, which this program has not registered; {help_}")
    if node[0] == "namedtuple":
        if list(getattr(cls, "_fields", ())) != list(node[2]):
            raise CheckpointError(
                f"the checkpoint has a {name} of the fields {', '.join(node[2])}, and in this program it has "
                f"{', '.join(getattr(cls, '_fields', ()))}; {help_}"
            )
        return cls._make(children)
    if "plain" not in node[3]:
        raise CheckpointError(
            f"the checkpoint has a {name} with metadata that were not saved ({node[3].get('opaque')}); "
            f"pass a "
            "state as load(like=...), or take dicts and lists by load(plain=True)"
        )
    metadata = scalars.decoded(node[3]["plain"])
    leaf = tree.structure(0)
    try:
        made = tree.PyTreeDef.from_node_data_and_children(
            tree.registry, (cls, metadata), [leaf] * len(children)
        )
        return made.unflatten(children)
    except Exception as error:
        raise CheckpointError(f"a {name} could not be made again: {error}; {help_}") from error


def found_class(name):
    """A class of this program that is a node of trees, or None."""
    named_so = [cls for cls in tree.registered() if f"{cls.__module__}:{cls.__qualname__}" == name]
    if named_so:
        return named_so[-1]
    module, _, path = name.partition(":")
    found = sys.modules.get(module)
    for part in path.split("."):
        found = None if found is None else vars(found).get(part)
    if not isinstance(found, type) or f"{found.__module__}:{found.__qualname__}" != name:
        return None
    return found if tree.registry.is_node(found) else None


__all__ = ["CONTAINERS", "named", "places", "plain_key", "put_together", "steps_of", "taken_apart"]
