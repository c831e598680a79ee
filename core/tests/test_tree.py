"""Trees: round trips and the laws of map, every kind of node, paths, and the messages where structures
differ.
"""

import dataclasses
import operator
import pickle
import string
from collections import OrderedDict, defaultdict, namedtuple

import jaxlib._jax
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rabbet import tree
from rabbet.errors import TreeError

# A busy machine is no fault of what is tested.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Pair:
    def __init__(self, a, b, label="p"):
        self.a, self.b, self.label = a, b, label

    def __eq__(self, other):
        return type(other) is Pair and (self.a, self.b, self.label) == (other.a, other.b, other.label)


tree.register_node(Pair, lambda p: ((p.a, p.b), p.label), lambda label, children: Pair(*children, label))


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = "layer"


@dataclasses.dataclass
class Model:
    layers: list
    depth: int = tree.static(default=1)


@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


tree.register_dataclass_node(Layer, ["weight", "bias"], ["name"])
tree.register_dataclass_node(Model, ["layers"], ["depth"])
tree.register_node(Mode, lambda mode: ((), mode), lambda mode, children: mode)
Point = namedtuple("Point", ["x", "y"])
leaf = st.integers()
trees = st.recursive(
    leaf | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(string.ascii_lowercase), inner, max_size=3)
        | st.dictionaries(st.sampled_from(string.ascii_lowercase), inner, max_size=3).map(OrderedDict)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner, st.sampled_from("pq"))
        | st.builds(Layer, inner, inner)
    ),
    max_leaves=8,
)

EXAMPLES = {
    "leaf": (3, [3]),
    "none": (None, []),
    "tuple": ((1, (2, 3)), [1, 2, 3]),
    "empty": ([(), {}, []], []),
    "dict is sorted": ({"b": 1, "a": 2}, [2, 1]),
    "ordered dict is not": (OrderedDict(b=1, a=2), [1, 2]),
    "defaultdict": (defaultdict(list, b=1, a=2), [2, 1]),
    "named tuple": (Point(1, [2]), [1, 2]),
    "registered": (Pair(1, (2, 3)), [1, 2, 3]),
    "dataclass": (Layer(1, None), [1]),
    "static": ((Mode("train"), 1), [1]),
}
examples = pytest.mark.parametrize("example, leaves", EXAMPLES.values(), ids=EXAMPLES)


# Laws ---------------------------------------------------------------------------------------------


@unhurried
@given(trees)
def test_unflatten_undoes_flatten(t):
    leaves, treedef = tree.flatten(t)
    assert tree.unflatten(treedef, leaves) == t
    assert tree.structure(tree.unflatten(treedef, leaves)) == treedef


@unhurried
@given(trees)
def test_map_keeps_structure_and_composes(t):
    double, shift = lambda x: 2 * x, lambda x: x + 1
    assert tree.structure(tree.map(double, t)) == tree.structure(t)
    assert tree.map(shift, tree.map(double, t)) == tree.map(lambda x: shift(double(x)), t)
    assert tree.map(operator.add, t, t) == tree.map(double, t)


@unhurried
@given(trees)
def test_paths_lead_to_their_leaves(t):
    pairs = tree.leaves_with_path(t)
    assert [x for _, x in pairs] == tree.leaves(t)
    assert len({path for path, _ in pairs}) == len(pairs)
    assert tree.map_with_path(lambda path, x: x, t) == t


@unhurried
@given(trees)
def test_one_leaf_is_a_prefix_of_everything_and_a_tree_is_of_itself(t):
    assert tree.broadcast_prefix(7, t) == [7] * tree.structure(t).num_leaves
    assert tree.broadcast_prefix(t, t) == tree.leaves(t)
    assert tree.broadcast(t, t) == t
    assert tree.difference(t, t) is None


@unhurried
@given(trees, trees)
def test_difference_agrees_with_jaxlib(a, b):
    try:
        tree.structure(a).flatten_up_to(b)
    except ValueError:
        assert tree.difference(a, b) is not None
    else:
        assert tree.difference(a, b) is None


@unhurried
@given(trees, trees)
def test_transposing_twice_changes_nothing(a, b):
    outer, inner = tree.structure(a), tree.structure(b)
    n = outer.num_leaves * inner.num_leaves
    t = outer.compose(inner).unflatten(range(n))
    turned = tree.transpose(outer, inner, t)
    assert tree.structure(turned) == inner.compose(outer)
    assert tree.transpose(inner, outer, turned) == t


@unhurried
@given(trees)
def test_structures_survive_pickling(t):
    treedef = tree.structure(t)
    again = pickle.loads(pickle.dumps(treedef))
    assert again == treedef
    assert hash(again) == hash(treedef)


@unhurried
@given(trees)
def test_one_level_is_the_first_step_of_flatten_with_path(t):
    level = tree.one_level(t)
    if level is None:
        assert tree.leaves(t) == [t]
        return
    steps = [
        ((key, *path), x)
        for key, child in zip(level[0], level[1])
        for path, x in tree.leaves_with_path(child)
    ]
    assert steps == tree.leaves_with_path(t)


# Nodes --------------------------------------------------------------------------------------------


@examples
def test_leaves_of_every_kind_of_node(example, leaves):
    assert tree.leaves(example) == leaves
    rebuilt = tree.map(lambda x: x, example)
    assert type(rebuilt) is type(example)
    assert tree.flatten(rebuilt) == tree.flatten(example)


def test_metadata_is_part_of_the_structure():
    assert tree.structure(Pair(1, 2, "p")) != tree.structure(Pair(1, 2, "q"))
    assert tree.structure(Model([1], 2)) != tree.structure(Model([1], 3))
    assert tree.structure(Mode("train")) != tree.structure(Mode("test"))
    assert tree.structure(defaultdict(list)) != tree.structure(defaultdict(dict))
    assert tree.structure(OrderedDict(a=1, b=2)) != tree.structure(OrderedDict(b=1, a=2))


def test_subclasses_are_leaves_until_registered():
    class Table(dict):
        pass

    assert tree.leaves([Table(a=1)]) == [Table(a=1)]


def test_is_leaf_stops_at_a_node():
    t = {"a": (1, 2), "b": [3, None]}
    pairs = lambda x: isinstance(x, tuple)
    assert tree.leaves(t, is_leaf=pairs) == [(1, 2), 3]
    assert tree.leaves(t, is_leaf=lambda x: x is None) == [1, 2, 3, None]
    assert tree.map(lambda x: -1 if pairs(x) else x, t, is_leaf=pairs) == {"a": -1, "b": [3, None]}
    found = tree.leaves_with_path(t, is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True)
    assert [x for _, x in found] == [(1, 2), [3, None]]


def test_map_may_meet_subtrees_in_the_other_trees():
    assert tree.map(lambda x, y: (x, y), {"a": 1}, {"a": [2, 3]}) == {"a": (1, [2, 3])}


def test_reductions():
    t = {"a": [1, 2], "b": (3, 4, 5)}
    join = lambda a, b: f"({a}{b})"
    assert tree.reduce(operator.add, t) == 15
    assert tree.reduce(join, t) == "((((12)3)4)5)"
    assert tree.reduce(operator.add, (), 7) == tree.reduce_associative(operator.add, (), identity=7) == 7
    assert tree.reduce(operator.add, t, 1) == 16
    assert tree.reduce_associative(join, t) == "(((12)(34))5)"
    assert tree.all({"a": True, "b": 1}) is True
    assert tree.all([0]) is False
    assert tree.all([]) is True
    with pytest.raises(TypeError, match="needs an identity"):
        tree.reduce_associative(operator.add, [])


def test_transpose_finds_the_inner_structure():
    t = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert tree.transpose(tree.structure([0, 0]), None, t) == {"a": [1, 3], "b": [2, 4]}


def test_keystr():
    path = tree.leaves_with_path({"a": [Layer(Pair(0, 1), None)]})[1][0]
    assert tree.keystr(path) == "['a'][0].weight[<flat index 1>]"
    assert tree.keystr(path, simple=True, separator="/") == "a/0/weight/1"


# Living beside jax --------------------------------------------------------------------------------


def test_the_default_registry_of_jaxlib_is_untouched():
    default = jaxlib._jax.pytree.default_registry()
    assert default is not tree.registry
    assert not default.is_node(Pair)


# Messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b, place, here, there",
    [
        ({"x": [1, (2,)]}, {"x": [1, (2, 3)]}, "['x'][1]", "tuple of length 1", "tuple of length 2"),
        ([1], (1,), "the root", "list of length 1", "tuple of length 1"),
        ([[1]], [2], "[0]", "list of length 1", "a leaf (int)"),
        ({"w": 1, "v": 2}, {"w": 1}, "the root", "keys ['w', 'v'], of which only here: ['v']", "keys ['w']"),
        (Layer((1, 2), 3), Layer((1,), 3), ".weight", "tuple of length 2", "tuple of length 1"),
        (Pair(1, 2), Pair(1, 2, "q"), "the root", "metadata p", "metadata q"),
        ((None, 1), (0, 1), "[0]", "None", "a leaf (int)"),
        (Point(1, (2,)), Point(1, [2]), ".y", "tuple", "list"),
    ],
)
def test_different_structures(a, b, place, here, there):
    with pytest.raises(TreeError) as caught:
        tree.map(operator.add, a, b)
    headline, first, second, _, whole_a, whole_b = str(caught.value).splitlines()
    assert headline == f"tree.map: the trees differ in structure, at {place}"
    assert first.startswith("    the first tree: ")
    assert here in first
    assert second.startswith("    the other tree: ")
    assert there in second
    assert whole_a == f"    the first tree: {tree.structure(a)}"
    assert whole_b == f"    the other tree: {tree.structure(b)}"


def test_prefix_errors_use_the_callers_words():
    with pytest.raises(TreeError, match=r"in_axes is not a prefix of the arguments, at \[0\]") as caught:
        tree.broadcast_prefix(
            ((0, None),), ((1, 2, 3),), lambda x: x is None, names=("in_axes", "the arguments")
        )
    assert "the arguments: tuple of length 3" in str(caught.value)


def test_none_in_a_prefix_is_a_leaf_only_on_request():
    is_none = lambda x: x is None
    assert tree.broadcast_prefix((0, None), ([1, 2], {"a": 3}), is_leaf=is_none) == [0, 0, None]
    with pytest.raises(TreeError, match="None"):
        tree.broadcast_prefix((0, None), ([1, 2], {"a": 3}))


def test_long_structures_are_shortened():
    with pytest.raises(TreeError) as caught:
        tree.map(operator.add, {f"k{i}": i for i in range(1000)}, {})
    assert " ... " in str(caught.value)
    assert len(str(caught.value)) < 3000


def test_an_error_in_a_class_of_the_user_is_not_hidden():
    class Broken:
        pass

    def flatten(node):
        raise ValueError("the users own mistake")

    tree.register_node(Broken, flatten, lambda metadata, children: Broken())
    with pytest.raises(ValueError, match="the users own mistake"):
        tree.leaves(Broken())


def test_registering_twice_shows_the_first_place():
    with pytest.raises(
        TreeError, match=r"Layer is a node of trees already, registered at .*test_tree.py:\d+"
    ):
        tree.register_dataclass_node(Layer, ["weight"], [])
    with pytest.raises(TreeError, match="dict is a node of trees already, built in"):
        tree.register_node(dict, None, None)


def test_transpose_shows_both_structures():
    with pytest.raises(
        TreeError, match=r"(?s)expected: PyTreeDef\(\(\[\*\],\)\).*got:      PyTreeDef\(\(\*,\)\)"
    ):
        tree.transpose(tree.structure((0,)), tree.structure([0]), (1,))
    with pytest.raises(TreeError, match="must be given"):
        tree.transpose(tree.structure(()), None, ())


class OnlyFloats:
    """A node whose leaves are the floats in a list: of other values it makes another structure."""

    def __init__(self, values):
        self.values = values


def floats_alone(node):
    held = [v for v in node.values if isinstance(v, float)]
    return held, tuple(None if isinstance(v, float) else v for v in node.values)


def with_floats(kept, children):
    floats = iter(children)
    return OnlyFloats([next(floats) if v is None else v for v in kept])


tree.register_node(OnlyFloats, floats_alone, with_floats)


def test_a_leaf_in_a_class_that_takes_no_numbers_is_named_by_its_position():
    structure = tree.structure(({"a": OnlyFloats([1.0, 3, 2.0])}, [4.0]))
    paths = [tree.keystr(tree.leaf_path(structure, i)) for i in range(3)]
    assert paths == ["[0]['a'][<flat index 0>]", "[0]['a'][<flat index 1>]", "[1][0]"]


def test_structures_of_tuples_and_pairs_are_made_without_objects():
    structure = tree.structure(OnlyFloats([1.0, "static"]))
    both = tree.tuple_of([structure, tree.structure({"a": 1})])
    assert both == tree.structure((OnlyFloats([2.0, "static"]), {"a": 1}))
    assert tree.parts_of_pair(both) == (structure, tree.structure({"a": 1}))
    Pair = namedtuple("Pair", "carry rest")
    assert tree.parts_of_pair(tree.structure(Pair(1, (2,)))) == (tree.structure(1), tree.structure((2,)))
    assert tree.parts_of_pair(structure) is None and tree.parts_of_pair(tree.structure((1, 2, 3))) is None


@pytest.mark.parametrize(
    "call",
    [tree.flatten, tree.leaves, tree.structure, tree.flatten_with_path, lambda t: tree.map(lambda x: x, t)],
    ids=["flatten", "leaves", "structure", "flatten_with_path", "map"],
)
def test_keys_that_cannot_be_sorted_are_named_with_their_place(call):
    nested = {"layers": [0, {1: "x", "b": "y"}]}
    with pytest.raises(TreeError) as caught:
        call(nested)
    message = str(caught.value)
    assert "the keys of the dict at ['layers'][1] cannot be sorted" in message
    assert "They are of type int and str: '<' not supported between" in message
    assert "OrderedDict" in message
    assert type(caught.value.__cause__) is TypeError
    assert tree.leaves(OrderedDict(nested["layers"][1])) == ["x", "y"]


def test_what_comparing_keys_raises_is_the_cause():
    class Key:
        def __lt__(self, other):
            raise OSError("no order")

    with pytest.raises(TreeError, match="no order") as caught:
        tree.leaves([{Key(): 1, Key(): 2}])
    assert type(caught.value.__cause__) is OSError
