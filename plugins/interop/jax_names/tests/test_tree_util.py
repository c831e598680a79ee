"""The longer names of trees: classes as nodes in every way, levels, ``Partial``, and messages."""

import dataclasses
import functools
from collections import OrderedDict, namedtuple

import pytest
from rabbet import tree, tree_util
from rabbet.errors import TreeError

Point = namedtuple("Point", ["x", "y"])


@functools.partial(tree_util.register_dataclass, data_fields=["weight", "bias"], meta_fields=["name"])
@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = "layer"


@tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    layers: list
    depth: int = tree.static(default=1)


@tree_util.register_pytree_node_class
class Box:
    def __init__(self, content):
        self.content = content

    def tree_flatten(self):
        return (self.content,), None

    @classmethod
    def tree_unflatten(cls, metadata, children):
        return cls(*children)


@tree_util.register_pytree_with_keys_class
class Named:
    def __init__(self, x):
        self.x = x

    def tree_flatten_with_keys(self):
        return ((tree.GetAttrKey("x"), self.x),), None

    @classmethod
    def tree_unflatten(cls, metadata, children):
        return cls(*children)


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


@pytest.mark.parametrize(
    "example, leaves",
    [
        (Layer(1, None), [1]),
        (Model([1, 2], 3), [1, 2]),
        (Box((1, 2)), [1, 2]),
        (Named(4), [4]),
        ((Mode("train"), 1), [1]),
        (tree_util.Partial(max, 1, key=2), [1, 2]),
    ],
)
def test_leaves_of_every_kind_of_node(example, leaves):
    assert tree.leaves(example) == leaves
    rebuilt = tree.map(lambda x: x, example)
    assert type(rebuilt) is type(example)
    assert tree.flatten(rebuilt) == tree.flatten(example)


def test_what_is_not_a_leaf_is_part_of_the_structure():
    assert tree.structure(Model([1], 2)) != tree.structure(Model([1], 3))
    assert tree.structure(Mode("train")) != tree.structure(Mode("test"))
    assert tree_util.keystr(tree.leaves_with_path(Named(1))[0][0]) == ".x"


def test_a_class_is_registered_once():
    with pytest.raises(
        TreeError, match=r"Layer is a node of trees already, registered at .*test_tree_util.py:\d+"
    ):
        tree_util.register_dataclass(Layer)


def test_partial():
    p = tree_util.Partial(pow, 2, mod=5)
    assert p(3) == 3
    assert tree.map(lambda x: x + 1, p)(3) == 27 % 6
    assert tree_util.keystr(tree.leaves_with_path(p)[0][0]) == ".args[0]"
    assert tree.structure(p) == tree.structure(tree_util.Partial(pow, 3, mod=7))


def test_the_arguments_of_a_functools_partial_inside_a_partial_are_static():
    inner = functools.partial(pow, 2)
    p = tree_util.Partial(inner, 3)
    assert p() == 8
    assert tree.leaves(p) == [3]
    assert tree.structure(p) == tree.structure(tree_util.Partial(inner, 4))
    assert tree.leaves(tree_util.Partial(tree_util.Partial(pow, 2), 3)) == [2, 3]


def test_dataclass_fields_that_are_dropped():
    @functools.partial(tree_util.register_dataclass, data_fields=["x"], meta_fields=[], drop_fields=["cache"])
    @dataclasses.dataclass
    class Cached:
        x: int
        cache: object = None

    assert tree.map(lambda x: x, Cached(1, "big")) == Cached(1, None)


def test_the_two_modules_agree():
    for name in (
        "all",
        "flatten",
        "leaves",
        "map",
        "reduce",
        "structure",
        "transpose",
        "broadcast",
    ):
        longer = getattr(tree_util, f"tree_{name}")
        assert longer.__code__ is getattr(tree, name).__code__ and longer.__name__ == f"tree_{name}"


def test_levels_and_structures():
    treedef = tree.structure({"a": (1, 2), "b": None})
    assert tree_util.treedef_children(treedef) == [tree.structure((1, 2)), tree.structure(None)]
    assert [tree_util.treedef_is_leaf(tree.structure(t)) for t in (1, None, ())] == [True, False, False]
    assert tree_util.treedef_tuple([treedef, treedef]) == tree.structure(({"a": (1, 2), "b": None},) * 2)
    assert tree_util.flatten_one_level({"b": [1], "a": 2}) == ((2, [1]), ("a", "b"))
    pairs, metadata = tree_util.flatten_one_level_with_keys(Point(1, 2))
    assert (pairs, metadata) == ([(tree.GetAttrKey("x"), 1), (tree.GetAttrKey("y"), 2)], Point)
    assert tree_util.all_leaves([1, "a"])
    assert not tree_util.all_leaves([1, None])
    assert tree_util.all_leaves([1, [2]], is_leaf=lambda x: isinstance(x, list))
    assert [tree_util.is_tree_node(c) for c in (dict, Layer, OrderedDict, int)] == [True, True, True, False]
    with pytest.raises(TreeError, match="int is a leaf"):
        tree_util.flatten_one_level(3)


def test_register_dataclass_says_which_fields_are_wrong():
    @dataclasses.dataclass
    class D:
        a: int
        b: int

    with pytest.raises(TreeError, match="left out: b"):
        tree_util.register_dataclass(D, data_fields=["a"], meta_fields=[])
    with pytest.raises(TreeError, match="it has not: c"):
        tree_util.register_dataclass(D, data_fields=["a", "b", "c"], meta_fields=[])
    with pytest.raises(TreeError, match="named twice: a"):
        tree_util.register_dataclass(D, data_fields=["a", "b"], meta_fields=["a"])
    with pytest.raises(TypeError, match="both data_fields and meta_fields"):
        tree_util.register_dataclass(D, data_fields=["a"])
    with pytest.raises(TypeError, match="not a dataclass"):
        tree_util.register_dataclass(int)
