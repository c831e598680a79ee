"""Symbolic dimensions: arithmetic is that of integers, and what is decided is true for all sizes."""

import itertools
import operator
import pickle
import random

import numpy as np
import pytest
import rabbet as rb
from rabbet import export
from rabbet.errors import InconclusiveDimensionOperation
from rabbet.export import symbolic_shape

SIZES = list(itertools.product(range(1, 6), repeat=2))


def value(d, a, b):
    """The value of a dimension for sizes: its own text as a Python expression."""
    text = str(d).replace("^", "**")
    names = {"a": a, "b": b, "floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}
    return eval(text, {"__builtins__": {}}, names)


def draw(rng, a, b, depth=3):
    """A random dimension and the function of sizes that it is."""
    if depth == 0 or rng.random() < 0.2:
        numbers = [(n, lambda x, y, n=n: n) for n in (1, 2, 3)]
        return rng.choice([(a, lambda x, y: x), (b, lambda x, y: y), *numbers])
    (x, f), (y, g) = draw(rng, a, b, depth - 1), draw(rng, a, b, depth - 1)
    sign = rng.choice(["+", "-", "*", "//", "%", "max", "min"])
    if sign in ("//", "%"):
        n = rng.choice([2, 3, -2])
        op = operator.floordiv if sign == "//" else operator.mod
        return op(x, n), lambda p, q: op(f(p, q), n)
    if sign in ("max", "min"):
        pick, of = (export.max_dim, max) if sign == "max" else (export.min_dim, min)
        return pick(x, y), lambda p, q: of(f(p, q), g(p, q))
    op = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]
    return op(x, y), lambda p, q: op(f(p, q), g(p, q))


@pytest.fixture(scope="module")
def drawn():
    rng = random.Random(0)
    a, b = symbolic_shape("a, b")
    return [draw(rng, a, b) for _ in range(200)]


def test_arithmetic_is_that_of_integers(drawn):
    for d, f in drawn:
        assert all(value(d, x, y) == f(x, y) for x, y in SIZES), d


def test_a_text_reads_back_as_the_same(drawn):
    scope = export.SymbolicScope()
    for d, _ in drawn:
        (again,) = symbolic_shape(str(d), scope=scope)
        assert str(again) == str(d)
        assert all(value(again, x, y) == value(d, x, y) for x, y in SIZES)


def test_bounds_hold_for_all_sizes(drawn):
    for d, f in drawn:
        low, high = export.symbolic_dim_bounds(d)
        assert all(low <= f(x, y) <= high for x, y in SIZES), d


def test_comparisons_that_are_decided_are_true(drawn):
    decided = 0
    for (d, f), (e, g) in itertools.pairwise(drawn):
        for op in (operator.lt, operator.le, operator.gt, operator.ge):
            try:
                answer = op(d, e)
            except InconclusiveDimensionOperation:
                continue
            decided += 1
            assert all(op(f(x, y), g(x, y)) == answer for x, y in SIZES), (d, op, e)
        if d == e:
            assert all(f(x, y) == g(x, y) for x, y in SIZES)
    assert decided > 100


def test_forms_that_are_known():
    a, b = symbolic_shape("a, b")
    assert (2 * a + 4) // 2 == a + 2 and (2 * a + 1) // 2 == a and a * b // b == a
    assert (a * b + 2 * b) // b == a + 2 and 2 * a % 2 == 0 and a - a == 0 and a * 0 == 0
    assert divmod(2 * a + 1, 2) == (a, 1) and np.prod((a, b)) == a * b and np.int32(2) * a == a + a
    assert a != b and a != 3 and a != 0 and bool(a - 1) and hash(a + b) == hash(b + a)
    assert str(a * b + 2 * a - 3) == "a*b + 2*a - 3" and str((a + 1) // 2) == "floordiv(a + 1, 2)"
    assert (a // 2) * 2 <= a and a - a // 2 * 2 <= 1 and export.max_dim(a, b) >= b
    with pytest.raises(ZeroDivisionError, match="division of the dimension a by zero"):
        a // 0


@pytest.mark.parametrize("constraints, decided", [
    (["a >= b"], lambda a, b: a >= b and a + 1 > b and 2 * a - 2 * b >= 0),
    (["a >= b", "b >= 4"], lambda a, b: a >= 4 and a + b >= 8),
    (["a <= 8"], lambda a, b: a < 9 and a * 2 <= 16),
    (["a == 2*b"], lambda a, b: a == 2 * b and a % 2 == 0 and a // b == 2),
    (["mod(a, 3) == 0"], lambda a, b: a % 3 == 0),
    (["a <= b + 2", "b <= 5"], lambda a, b: a <= 7),
    (["a >= 4", "a == 2*b"], lambda a, b: a >= 4 and b >= 2),
    (["a == 2*b", "b == 3"], lambda a, b: (a, b) == (6, 3)),
    (["mod(a, 3) == 0", "a == 2*b"], lambda a, b: 2 * b % 3 == 0),
    (["a == b", "b == a", "2*a == a + b"], lambda a, b: a == b),
])  # fmt: skip
def test_constraints(constraints, decided):
    assert decided(*symbolic_shape("a, b", constraints=constraints))


def test_constraints_stay_in_the_order_given():
    scope = export.SymbolicScope(["a >= 4", "a == 2*b"])
    assert scope.constraints == ["a >= 4", "a == 2*b"]
    assert pickle.loads(pickle.dumps(scope)).constraints == scope.constraints


@pytest.mark.parametrize("constraints, words", [
    (["a == a + 1"], "'a == a \\+ 1' has a on both sides"),
    (["mod(a, 3) == max(mod(a, 3), b)"], "has mod\\(a, 3\\) on both sides"),
    (["a == 2*b", "b == a"], "'b == a' has b on both sides"),
    (["a >= 4", "a == 2"], "'a >= 4' is never true"),
    (["a == 3", "a == 4"], "'a == 4' is never true"),
])  # fmt: skip
def test_constraints_that_cannot_hold(constraints, words):
    with pytest.raises(ValueError, match=words):
        symbolic_shape("a, b", constraints=constraints)


def test_shapes_from_texts():
    assert symbolic_shape("(2, 3)") == (2, 3) and symbolic_shape(None, like=(3, 4)) == (3, 4)
    assert list(map(str, symbolic_shape("a, ...", like=(1, 5)))) == ["a", "5"]
    assert list(map(str, symbolic_shape("(a, ...)", like=(1,)))) == ["a"]
    assert symbolic_shape(None, like=()) == symbolic_shape("...", like=()) == ()
    assert symbolic_shape("a, _", like=(3, 4))[1] == 4
    shown = "max(a, 3), 2*b + 1, (a + 1)//2, a % 2, a^2, - a + 9"
    wanted = "max(a, 3), 2*b + 1, floordiv(a + 1, 2), mod(a, 2), a^2, - a + 9"
    assert ", ".join(map(str, symbolic_shape(shown))) == wanted
    specs = export.symbolic_args_specs((np.zeros((3, 4)), {"x": np.zeros(3, np.int32)}), ("b, ...", "b"))
    assert str(specs[0].shape) == "(b, 4)" and specs[1]["x"].dtype == np.int32
    assert specs[0].shape[0] == specs[1]["x"].shape[0]
    matrix, scalar = export.symbolic_args_specs((np.zeros((3, 4)), np.float32(1)), ("b, ...", None))
    assert str(matrix.shape) == "(b, 4)" and scalar.shape == ()
    tree = {"a": np.zeros((3, 4)), "b": np.zeros(2)}
    inside, last = export.symbolic_args_specs((tree, np.zeros(3)), ({"a": None, "b": "n"}, "m"))
    assert [str(x.shape) for x in (inside["a"], inside["b"], last)] == ["(3, 4)", "(n,)", "(m,)"]
    whole = export.symbolic_args_specs((tree, None), (None, None))
    assert whole[0]["a"].shape == (3, 4) and whole[1] is None
    with pytest.raises(TypeError, match=r"symbolic_args_specs: a shape is given by a text.*got 5"):
        export.symbolic_args_specs((np.zeros(3), np.zeros(2)), ("b", 5))
    assert [export.is_symbolic_dim(d) for d in specs[0].shape] == [True, False]


@pytest.mark.parametrize("text, words", [
    ("a+, 3", "has ', 3' where a number or a name should be"),
    ("a, _", "placeholder for dimension 1, and there is no `like`"),
    ("a $ b", "cannot be read from"),
    ("foo(a)", "has the function foo; there are floordiv, mod, max, min"),
    ("a b", "has 'b' where a comma or an operator should be"),
    ("(" * 5000 + "a" + ")" * 5000, "is nested too deeply"),
])  # fmt: skip
def test_texts_that_are_no_shapes(text, words):
    with pytest.raises(ValueError, match=words):
        symbolic_shape(text)


@pytest.mark.parametrize("text, like, words", [
    ("a, ..., 7", (1, 5, 9), "has ', 7' where its end, after '...', should be"),
    ("a, b, ...", (1,), "has '...' for the other dimensions of `like`, which is \\(1,\\)"),
    ("a, ...", None, "has '...' for the other dimensions of `like`, which is None"),
    ("a, ...", (1, None), "placeholder for dimension 1, and there is no `like`"),
])  # fmt: skip
def test_placeholders_that_do_not_fit(text, like, words):
    with pytest.raises(ValueError, match=words):
        symbolic_shape(text, like=like)


def test_what_is_refused():
    a, b = symbolic_shape("a, b")
    with pytest.raises(InconclusiveDimensionOperation, match=r'constraints=\["a >= 6"\].*\["a <= 5"\]'):
        bool(a > 5)
    with pytest.raises(InconclusiveDimensionOperation, match="used where a number is needed"):
        range(a)
    with pytest.raises(ValueError, match="different scopes"):
        a + symbolic_shape("a")[0]
    with pytest.raises(ValueError, match="needs one of '==', '>=' and '<='"):
        symbolic_shape("x", constraints=["x > 2"])
    with pytest.raises(ValueError, match="give scope or constraints"):
        symbolic_shape("x", constraints=["x >= 2"], scope=a.scope)
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        rb.lax.broadcast_shapes((a,), (b,))
    with pytest.raises(TypeError, match="takes a dimension, got str"):
        export.symbolic_dim_bounds("a")


def test_dimensions_are_pickled_with_their_scope():
    a, b = pickle.loads(pickle.dumps(symbolic_shape("a, 2*b", constraints=["a >= b"])))
    assert str(b) == "2*b" and 2 * a >= b
