"""What is said of arguments that no function can use: who, with what, and nothing of Rabbet's own ways."""

import inspect
import re

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax, nn, random

MODULES = {
    "lax": lax,
    "numpy": rnp,
    "numpy.linalg": rnp.linalg,
    "numpy.fft": rnp.fft,
    "nn": nn,
    "random": random,
}
X = rnp.arange(6.0).reshape(2, 3)
WRONG = [None, {}, "abc", 2.5, (None,)]
# Words of Python's, NumPy's and jaxlib's, which know nothing of the function that was called.
BARE = re.compile(
    r"object cannot be interpreted|object is not (callable|iterable|subscriptable)|not supported between"
    r"|object has no attribute|has no len\(\)|unsupported operand|division by zero|modulo by zero"
    r"|index out of range|only integer scalar arrays|unhashable|values to unpack"
)


def functions():
    for home, module in MODULES.items():
        for name in getattr(module, "__all__", None) or dir(module):
            function = getattr(module, name, None)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                yield pytest.param(function, id=f"{home}.{name}")


def wrong_calls(function):
    """Lists of arguments of which one, or all, are of no use."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return
    required = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    count = max(1, len(required))
    for wrong in WRONG:
        yield [wrong] * count, {}
        for i in range(count):
            yield [X] * i + [wrong] + [X] * (count - i - 1), {}
    for p in parameters:
        if p.default is not p.empty and p.kind != p.VAR_KEYWORD:
            yield [X] * count, {p.name: {}}


def error_of(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return error


def shown(error):
    """What a traceback says of the error that is told first."""
    while error is not None:
        first = error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return first


@pytest.mark.parametrize("function", [*functions()])
def test_an_error_of_pythons_own_says_which_function_it_came_from(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # `save` and `savez` take "abc" for a file's name
    for args, kwargs in wrong_calls(function):
        error = error_of(function, args, kwargs)
        if error is None:
            continue
        called = f"{function.__name__}(*{args}, **{kwargs}): {type(error).__name__}: {error}"
        assert not isinstance(shown(error), KeyError) or shown(error) is error, called
        if BARE.search(str(error)) and function.__name__ not in str(error):
            notes = getattr(error, "__notes__", ())
            assert any(re.match(r"in [\w.]+\(.*\)$", note) for note in notes), called


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lax.top_k(X, None), "in top_k(operand=f32[2,3], k=None, "),
        (lambda: nn.one_hot(X, None), "in one_hot(x=f32[2,3], num_classes=None, "),
        (lambda: rb.jit(lambda x: lax.top_k(x, None))(X), "in top_k(operand=f32[2,3], k=None, "),
        (lambda: lax.scan(None, 0, X), "in scan(f=None, init=0, xs=f32[2,3], "),
        (lambda: rb.tree.map(None, [X]), "in map(f=None, tree=[f32[2,3]], "),
    ],
    ids=["lax", "a library function", "in a traced function", "no function", "no arrays"],
)
def test_the_function_and_its_arguments_are_told(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert caught.value.__notes__[0].startswith(words)


def test_what_users_raise_gets_no_note():
    def body(carry, x):
        return carry, (carry,)[len(x.shape)]

    with pytest.raises(IndexError) as caught:
        lax.scan(body, 0.0, X)
    assert not any(note.startswith("in ") for note in getattr(caught.value, "__notes__", ()))


def test_numbers_of_pieces():
    for split in (rnp.split, rnp.array_split):
        for pieces in (0, -1):
            with pytest.raises(
                ValueError, match=f"split: the number of pieces must be positive, got {pieces}"
            ):
                split(X, pieces)


def test_a_size_that_is_negative_is_told_without_what_was_looked_up():
    for call in (lambda: rnp.zeros((-1,)), lambda: rnp.full((2, -1), 1.0), lambda: lax.broadcast(X, (-1,))):
        error = error_of(call, (), {})
        assert isinstance(error, ValueError | TypeError)
        assert shown(error) is error
