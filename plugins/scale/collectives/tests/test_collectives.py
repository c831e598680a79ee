"""Collectives under vmap: what each member gets, by NumPy on the whole batch."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import stage
from rabbet.extend.transform import bind_axes, typeof

vmap = pytest.importorskip("rabbet_vmap").vmap

N = 4
R = np.random.RandomState(1)
X = R.randn(N, 4, 6).astype("f4")
EVEN = [[0, 3], [2, 1]]
UNEVEN = [[3, 0, 1], [2]]


def mapped(fun, *args, **options):
    return vmap(fun, axis_name="i", **options)(*args)


def close(got, wanted):
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def groups_of(groups):
    return [range(N)] if groups is None else groups


def per_member(groups, of_group):
    """``of_group(members' values, own place) -> value`` for each member, stacked."""
    out = [None] * N
    for group in groups_of(groups):
        for place, i in enumerate(group):
            out[i] = of_group(X[list(group)], place)
    return np.stack(out)


# ------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("groups", [None, EVEN, UNEVEN], ids=["all", "even", "uneven"])
@pytest.mark.parametrize("name,reduce", [("psum", np.sum), ("pmax", np.max), ("pmin", np.min)])
def test_reductions(name, reduce, groups):
    got = mapped(lambda x: getattr(lax, name)(x, "i", axis_index_groups=groups), X)
    close(got, per_member(groups, lambda xs, _: reduce(xs, axis=0)))


def test_means():
    close(mapped(lambda x: lax.pmean(x, "i"), X), np.broadcast_to(X.mean(0), X.shape))
    close(
        mapped(lambda x: lax.pmean(x, "i", axis_index_groups=EVEN), X),
        per_member(EVEN, lambda v, _: v.mean(0)),
    )
    assert mapped(lambda x: lax.pmean(x, "i"), np.arange(4, dtype="i4")).tolist() == [1.5] * 4


@pytest.mark.parametrize("groups", [None, EVEN], ids=["all", "even"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(groups, axis):
    options = {"axis": axis, "axis_index_groups": groups}
    got = mapped(lambda x: lax.all_gather(x, "i", **options), X)
    close(got, per_member(groups, lambda v, _: np.stack(list(v), axis)))
    got = mapped(lambda x: lax.all_gather(x, "i", tiled=True, **options), X)
    close(got, per_member(groups, lambda v, _: np.concatenate(list(v), axis)))


@pytest.mark.parametrize("to", ["varying", "reduced", "invarying"])
def test_all_gather_takes_what_typed_axes_say_of_the_result(to):
    close(mapped(lambda x: lax.all_gather(x, "i", to=to), X), mapped(lambda x: lax.all_gather(x, "i"), X))


def test_all_gather_to_something_unknown():
    with pytest.raises(ValueError, match=r"all_gather: to must be 'varying', .* got 'all'"):
        mapped(lambda x: lax.all_gather(x, "i", to="all"), X)


@pytest.mark.parametrize("groups", [None, EVEN], ids=["all", "even"])
def test_psum_scatter(groups):
    count = len(groups_of(groups)[0])
    got = mapped(lambda x: lax.psum_scatter(x[:count], "i", axis_index_groups=groups), X)
    close(got, per_member(groups, lambda v, k: v[:, :count].sum(0)[k]))
    options = {"axis_index_groups": groups, "tiled": True}
    for dimension in (0, -2):
        got = mapped(lambda x, d=dimension: lax.psum_scatter(x, "i", scatter_dimension=d, **options), X)
        close(got, per_member(groups, lambda v, k: np.split(v.sum(0), count, axis=0)[k]))


@pytest.mark.parametrize("groups", [None, EVEN], ids=["all", "even"])
@pytest.mark.parametrize("split,concat", [(0, 0), (0, 1), (1, 0), (-1, -2)])
def test_all_to_all(groups, split, concat):
    count = len(groups_of(groups)[0])
    square = X[:, :count, :count]

    def untiled(v, k):
        parts = np.stack([np.take(one[:count, :count], k, axis=split) for one in v])
        return np.moveaxis(parts, 0, concat)

    got = mapped(lambda x: lax.all_to_all(x, "i", split, concat, axis_index_groups=groups), square)
    close(got, per_member(groups, untiled))

    def tiled(v, k):
        return np.concatenate([np.split(one[:, :4], count, axis=split)[k] for one in v], axis=concat)

    got = mapped(
        lambda x: lax.all_to_all(x, "i", split, concat, axis_index_groups=groups, tiled=True), X[:, :, :4]
    )
    close(got, per_member(groups, tiled))


def test_pswapaxes():
    x = X[:, :, 0]
    close(mapped(lambda x: lax.pswapaxes(x, "i", 0), x), x.T)


def test_permutations():
    x = X[:, 0]
    wanted = np.zeros_like(x)
    wanted[1], wanted[3], wanted[2] = x[0], x[1], x[2]
    close(mapped(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 3), (2, 2)]), x), wanted)
    close(mapped(lambda x: lax.pshuffle(x, "i", [2, 0, 3, 1]), x), x[[2, 0, 3, 1]])
    close(mapped(lambda x: lax.pbroadcast(x, "i", 2), x), np.broadcast_to(x[2], x.shape))
    assert mapped(lambda x: lax.pbroadcast(x, "i", x * 0 + 3), np.arange(4)).tolist() == [3] * 4
    assert mapped(lambda b: lax.pbroadcast(b, "i", 1), np.array([0, 1, 0, 0], bool)).dtype == bool


def test_indices_and_sizes():
    assert mapped(lambda x: lax.axis_index("i"), X).tolist() == [0, 1, 2, 3]
    assert mapped(lambda x: x + lax.axis_size("i"), np.arange(4)).tolist() == [4, 5, 6, 7]
    seen = []
    mapped(lambda x: seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.axis_size("i"))) or x, X)
    assert seen == [(4, 10.0, 4)]
    assert [type(v) for v in seen[0]] == [int, float, int]
    assert (
        mapped(lambda x: lax.psum(1, "i", axis_index_groups=EVEN) + 0 * x, np.arange(4)).tolist() == [2] * 4
    )


def test_operands_that_are_not_mapped():
    """The members all hold the value: sums are multiples of it."""
    y = rb.device_put(X[0])

    def f(x):
        return (
            lax.psum(y, "i"), lax.pmax(y, "i"), lax.all_gather(y, "i"), lax.psum_scatter(y, "i"),
            lax.ppermute(y, "i", [(0, 1)]), lax.psum(y, "i", axis_index_groups=UNEVEN),
            lax.all_to_all(y, "i", 0, 0),
        )  # fmt: skip

    outs = mapped(f, X)
    y = X[0]
    none = np.zeros_like(y)
    wanted = [
        np.stack([y * 4] * N), np.stack([y] * N), np.stack([np.stack([y] * N)] * N), y * 4,
        np.stack([none, y, none, none]), np.stack([y * 3, y * 3, y, y * 3]),
        np.stack([np.stack([y[k]] * N) for k in range(N)]),
    ]  # fmt: skip
    for got, w in zip(outs, wanted, strict=True):
        close(got, w)


def test_what_all_members_share_needs_no_axis():
    assert mapped(lambda x: lax.psum(x, "i"), np.arange(4), out_axes=None) == 6
    assert mapped(lambda x: lax.all_gather(x, "i"), np.arange(4), out_axes=None).tolist() == [0, 1, 2, 3]


def test_pytrees_and_dtypes():
    out = mapped(lambda t: lax.psum(t, "i"), {"a": np.arange(4), "b": [X > 0, X.astype("f2")]})
    assert out["a"].tolist() == [6] * 4
    assert out["b"][0].dtype == np.int32
    np.testing.assert_array_equal(out["b"][0][1], (X > 0).sum(0))
    assert out["b"][1].dtype == np.float16


# ------------------------------------------------------------------------------------------------- names
def test_nested_maps_have_names_of_their_own():
    x = X[:, :3, 0]

    def f(v):
        return (
            v / lax.psum(v, "i"), v / lax.psum(v, "j"), v - lax.pmean(v, ("i", "j")),
            lax.axis_index("i") * 10 + lax.axis_index("j"), lax.axis_index(("i", "j")),
        )  # fmt: skip

    a, b, c, d, e = vmap(vmap(f, axis_name="j"), axis_name="i")(x)
    close(a, x / x.sum(0))
    close(b, x / x.sum(1, keepdims=True))
    close(c, x - x.mean())
    assert d.tolist() == [[10 * i + j for j in range(3)] for i in range(4)]
    assert e.tolist() == [[3 * i + j for j in range(3)] for i in range(4)]


def test_several_names_are_one_axis():
    x = R.randn(2, 3, 6, 12).astype("f4")
    flat = x.reshape(6, 6, 12)
    calls = [
        lambda v, name: lax.all_gather(v, name, axis=1),
        lambda v, name: lax.all_gather(v, name, axis=1, tiled=True),
        lambda v, name: lax.psum_scatter(v, name),
        lambda v, name: lax.psum_scatter(v, name, scatter_dimension=1, tiled=True),
        lambda v, name: lax.all_to_all(v, name, 0, 1),
        lambda v, name: lax.all_to_all(v, name, 1, 0, tiled=True),
        lambda v, name: lax.pmax(v, name),
        lambda v, name: lax.psum(1, name) * v,
    ]
    for call in calls:
        got = vmap(vmap(lambda v, c=call: c(v, ("i", "j")), axis_name="j"), axis_name="i")(x)
        wanted = mapped(lambda v, c=call: c(v, "i"), flat)
        close(got, np.asarray(wanted).reshape(2, 3, *wanted.shape[1:]))


def test_an_unnamed_map_stays_outside():
    x = X[:, :, 0]
    f = vmap(vmap(lambda v: v - lax.pmax(v, "i"), axis_name="i"))
    close(f(x), x - x.max(1, keepdims=True))
    g = vmap(vmap(lambda v: v - lax.pmax(v, "i")), axis_name="i")
    close(g(x), x - x.max(0))
    wide = R.randn(5, 4, 4, 3).astype("f4")
    calls = [
        lambda v: lax.all_gather(v, "i", axis=1), lambda v: lax.psum_scatter(v, "i"),
        lambda v: lax.all_to_all(v, "i", 0, 1), lambda v: lax.ppermute(v, "i", [(0, 2), (2, 0)]),
    ]  # fmt: skip
    for call in calls:
        wanted = np.stack([np.asarray(mapped(call, w)) for w in wide])
        close(vmap(vmap(call, axis_name="i"))(wide), wanted)
        turned = vmap(vmap(call, in_axes=2), axis_name="i", out_axes=1)(np.moveaxis(wide, 0, 3))
        close(turned, wanted)


def test_the_inner_one_of_equal_names_counts():
    got = vmap(vmap(lambda v: lax.psum(v, "i"), axis_name="i"), axis_name="i")(X[:, :, 0])
    close(got, np.repeat(X[:, :, 0].sum(1, keepdims=True), 4, 1))


def test_names_are_any_hashable():
    assert vmap(lambda v: lax.psum(v, 7), axis_name=7)(np.arange(3)).tolist() == [3] * 3


def test_a_map_of_one():
    one = mapped(lambda x: (lax.psum(x, "i"), lax.all_gather(x, "i"), lax.axis_index("i")), X[:1])
    close(one[0], X[:1])
    close(one[1], X[None, :1])


def test_ragged_exchange():
    def f(*args):
        return lax.ragged_all_to_all(*args, axis_name="i")

    args = (
        np.array([[1, 2, 2], [3, 4, 0]]), np.zeros((2, 4), int), np.array([[0, 1], [0, 1]]),
        np.array([[1, 2], [1, 1]]), np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]]),
    )  # fmt: skip
    assert mapped(f, *args).tolist() == [[1, 3, 0, 0], [2, 2, 4, 0]]


# ---------------------------------------------------------------------------------------------- bad input
REFUSED = [
    (
        lambda x: lax.psum(x, "k"),
        NameError,
        r"psum: no axis is called 'k' here; the axes around are 'i' \(size 4\)",
    ),
    (lambda x: lax.axis_index("k"), rb.errors.UnboundAxisError, r"axis_name='k'"),
    (lambda x: lax.psum(x, ["i", {}]), TypeError, "must be hashable"),
    (lambda x: lax.psum(x, ("i", "i")), ValueError, r"an axis is named twice, got \('i', 'i'\)"),
    (lambda x: lax.pmean(x, "k"), NameError, "pmean: no axis is called 'k' here"),
    (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2, 3]]), ValueError, "must cover the indices"),
    (lambda x: lax.all_gather(x, "i", axis_index_groups=UNEVEN), ValueError, "must have one size"),
    (lambda x: lax.all_gather(x, "i", axis=4), ValueError, "axis 4 is out of range for 3 dimensions"),
    (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1),
        ValueError,
        r"dimension 1 of f32\[4,6\] must have",
    ),
    (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), ValueError, "must be divisible by"),
    (lambda x: lax.all_to_all(x, "i", 1, 0), ValueError, "all_to_all: dimension 1"),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "a source occurs twice"),
    (lambda x: lax.ppermute(x, "i", [(0, 4)]), ValueError, "a destination in perm is not an index"),
    (lambda x: lax.ppermute(x, ("i", "i"), [(0, 1)]), ValueError, "an axis is named twice"),
    (lambda x: lax.pshuffle(x, "i", [0, 1, 1, 2]), ValueError, "must hold each index"),
    (lambda x: lax.pmax(x * 1j, "i"), TypeError, "pmax"),
]


@pytest.mark.parametrize("call,kind,message", REFUSED)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        mapped(call, X)


def test_outside_of_any_map():
    with pytest.raises(NameError, match="no axis has a name here"):
        lax.psum(X, "i")


def test_names_end_with_their_map():
    mapped(lambda x: x, X)
    with pytest.raises(NameError):
        lax.axis_size("i")


@pytest.mark.parametrize(
    "options,message",
    [
        ({"axis_name": ["i"]}, "axis_name must be hashable"),
        ({"axis_size": 2.0}, "axis_size must be an int"),
        ({"axis_size": -1}, "axis_size must be an int"),
        ({"spmd_axis_name": 3}, "spmd_axis_name must be a name"),
    ],
)
def test_options_of_vmap(options, message):
    with pytest.raises(TypeError, match=message):
        vmap(lambda x: x, **options)


def test_a_program_by_itself_cannot_communicate():
    with bind_axes([("a", 2)]):
        program = stage(lambda x: [lax.psum(x, "a")], [typeof(np.float32(1))]).jaxpr
    with pytest.raises(NameError, match=r"(?s)along the axis 'a', but nothing around .*rb.jit\(rb.vmap"):
        lower_program(program)


def test_sending_and_receiving():
    perm = [(0, 1), (1, 3)]
    f = lambda x: lax.precv(lax.psend(x, "i", perm), x, "i", perm)
    close(mapped(f, X), mapped(lambda x: lax.ppermute(x, "i", perm), X))
    with pytest.raises(ValueError, match="does not match Sent"):
        mapped(lambda x: lax.precv(lax.psend(x, "i", perm), x, "i", perm[:1]), X)
    with pytest.raises(ValueError, match="is not what was sent, f32"):
        mapped(lambda x: lax.precv(lax.psend(x, "i", perm), x[0], "i", perm), X)
    with pytest.raises(TypeError, match="takes the token of a psend, got int"):
        mapped(lambda x: lax.precv(1, x, "i", perm), X)
