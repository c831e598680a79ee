"""Arrays of an extended dtype: everything that moves elements about moves them, whatever stores them."""

import copy
import pickle

import numpy as np
import pytest
from rabbet import dtypes, lax
from rabbet.dtypes import ExtendedDType
from rabbet.primitives.extended_dtypes import from_physical, to_physical
from rabbet.rules.payloads import tangent_aval
from rabbet.testing.driver import CORE
from rabbet.trace.interpreter import typeof

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]


class Token(ExtendedDType):
    """Pairs of words that are not numbers."""

    type = dtypes.prng_key


TOKEN = Token("token", "uint32", (2,))
STORED = np.arange(12, dtype=np.uint32).reshape(2, 3, 2)


def tokens(stored=STORED):
    return from_physical(stored, dtype=TOKEN)


def stored(keys):
    return np.asarray(to_physical(keys))


# Functions of an array, which do to tokens of shape (2, 3) what they do to their pairs of words.
MOVES = {
    "index": lambda x: x[1],
    "two indices": lambda x: x[1, 2],
    "slice": lambda x: x[:, 1:3],
    "steps back": lambda x: x[:, ::-2],
    "integer array": lambda x: x[:, np.array([2, 0, 2])],
    "mask": lambda x: x[np.array([False, True])],
    "new axis": lambda x: x[:, None],
    "reshape": lambda x: lax.reshape(x, (3, 2, *x.shape[2:])),
    "collapse": lambda x: lax.reshape(x, (6, *x.shape[2:])),
    "transpose": lambda x: lax.transpose(x, (1, 0, *range(2, x.ndim))),
    "concatenate": lambda x: lax.concatenate([x, x], 1),
    "stack": lambda x: lax.stack([x, x], 1),
    "split": lambda x: lax.split(x, (1, 2), 1)[1],
    "tile": lambda x: lax.concatenate([x] * 3, 0),
    "reverse": lambda x: lax.rev(x, (0, 1)),
    "squeeze": lambda x: lax.squeeze(lax.slice_in_dim(x, 1, 2), (0,)),
    "expand_dims": lambda x: lax.expand_dims(x, (0, 2)),
    "strided slice": lambda x: lax.slice_in_dim(x, 0, 3, 2, axis=1),
    "dynamic_slice_in_dim": lambda x: lax.dynamic_slice_in_dim(x, np.int32(1), 2, 1),
    "dynamic_index_in_dim": lambda x: lax.dynamic_index_in_dim(x, np.int32(1), 0, keepdims=False),
    "dynamic_update_index_in_dim": lambda x: lax.dynamic_update_index_in_dim(x, x[1], np.int32(0), 0),
    "at set": lambda x: x.at[0].set(x[1]),
    "at set one": lambda x: x.at[0, 2].set(x[1, 1]),
    "select": lambda x: lax.select(np.True_, x, lax.rev(x, (0,))),
    "broadcast": lambda x: lax.broadcast(x, (4,)),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_moves(move):
    keys = tokens()
    moved = move(keys)
    assert moved.dtype == TOKEN
    assert stored(moved).tolist() == np.asarray(move(to_physical(keys))).tolist()


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_moves_compiled(move):
    (moved,) = CORE.jit(lambda x: (move(x),))(tokens())
    assert stored(moved).tolist() == stored(move(tokens())).tolist()


@pytest.mark.parametrize("name", [n for n in MOVES if n != "mask"])
def test_moves_mapped(name):
    move = MOVES[name]
    batch = np.stack([STORED, STORED + 100, STORED * 7])
    (moved,) = CORE.vmap(lambda x: (move(x),), (0,))(tokens(batch))
    assert stored(moved).tolist() == [stored(move(tokens(b))).tolist() for b in batch]


def test_select_by_an_array():
    x, y = tokens(), tokens(STORED + 100)
    which = np.array([[True, False, True], [False, False, True]])
    chosen = lax.select(which, x, y)
    assert stored(chosen).tolist() == np.where(which[..., None], STORED, STORED + 100).tolist()


def test_pad():
    filler = tokens(np.array([7, 8], np.uint32))
    padded = lax.pad(tokens()[0], filler, [(1, 1, 0)])
    assert stored(padded).tolist() == [[7, 8], [0, 1], [2, 3], [4, 5], [7, 8]]


def test_equality():
    x, y = tokens(), tokens(STORED + (STORED == 5))
    assert np.asarray(x == y).tolist() == [[True, True, False], [True, True, True]]
    assert np.asarray(x != y).tolist() == [[False, False, True], [False, False, False]]
    assert np.asarray(lax.eq(x, x[0, 1])).tolist() == [[False, True, False], [False, False, False]]
    assert bool(x[0, 0] == x[0, 0])


def test_back_and_forth():
    assert stored(tokens()).tolist() == STORED.tolist()
    assert to_physical(tokens()).dtype == np.uint32
    (mapped,) = CORE.vmap(lambda x: (to_physical(from_physical(x, dtype=TOKEN)),), (0,))(STORED)
    assert np.asarray(mapped).tolist() == STORED.tolist()


def test_batch_dimension_among_those_of_storage():
    (keys,) = CORE.vmap(lambda x: (from_physical(x, dtype=TOKEN),), (2,))(np.moveaxis(STORED, 0, 2))
    assert stored(keys).tolist() == STORED.tolist()


def test_tangents_are_float0():
    assert tangent_aval(typeof(tokens())).dtype == dtypes.float0


def test_copies():
    keys = tokens()
    assert stored(pickle.loads(pickle.dumps(keys))).tolist() == STORED.tolist()
    assert pickle.loads(pickle.dumps(keys)).dtype == TOKEN
    assert stored(copy.deepcopy(keys)).tolist() == STORED.tolist()


def test_repr():
    assert repr(tokens()[0]) == "Array((3,), dtype=token) overlaying:\n[[0 1]\n [2 3]\n [4 5]]"


def test_no_numbers():
    keys = tokens()
    with pytest.raises(TypeError, match=r"no NumPy form.*key_data"):
        np.asarray(keys)
    with pytest.raises(TypeError, match="no common dtype for token, int32"):
        keys + 1
    with pytest.raises(TypeError, match=r"lt takes .* arrays, got token\[2,3\]"):
        lax.lt(keys, keys)
    with pytest.raises(TypeError, match=r"an extended dtype .*converts to no other"):
        keys.astype("float32")


def test_what_stores_them_is_checked():
    with pytest.raises(TypeError, match=r"an element of token is stored as u32\[2\], got an array u32\[3\]"):
        from_physical(np.zeros(3, np.uint32), dtype=TOKEN)
    with pytest.raises(TypeError, match=r"stored as u32\[2\], got an array i32\[2\]"):
        from_physical(np.zeros(2, np.int32), dtype=TOKEN)
    with pytest.raises(TypeError, match=r"to_physical takes an array of an extended dtype.*got f32\[\]"):
        to_physical(np.float32(0))
    with pytest.raises(TypeError, match="not of dtype"):
        from_physical(np.zeros(2, np.uint32), dtype=np.dtype("int32"))


def test_storage_of_one_word():
    word = Token("word", "uint32", ())
    keys = from_physical(np.arange(6, dtype=np.uint32).reshape(2, 3), dtype=word)
    assert stored(keys[1, ::2]).tolist() == [3, 5]
    assert stored(lax.transpose(keys, (1, 0))).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_storage_of_a_matrix_is_refused():
    matrix = Token("matrix", "uint32", (2, 2))
    keys = from_physical(np.zeros((3, 2, 2), np.uint32), dtype=matrix)
    with pytest.raises(
        NotImplementedError, match=r"on the extended dtype matrix: storage of rank 2.*\n.*to fix"
    ):
        lax.rev(keys, (0,))
