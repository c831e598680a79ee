"""Uncommitted arrays follow committed ones, to another device and to several: each time that a function is
called, not only the first time.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import NamedSharding, SingleDeviceSharding
from rabbet.sharding import PartitionSpec as P

HERE = np.arange(16, dtype=np.float32).reshape(4, 4)
THERE = HERE[::-1] / 7 + 1
PLACES = [
    SingleDeviceSharding(rb.devices()[1]),
    NamedSharding(rb.make_mesh((4, 2), ("x", "y")), P("x", "y")),
    NamedSharding(rb.make_mesh((8,), ("z",)), P()),
]
FUNCTIONS = {
    "x + y": lambda x, y: x + y,
    "x / y": lambda x, y: x / y,
    "x ** y": lambda x, y: x**y,
    "x @ y": lambda x, y: x @ y,
    "hypot": rnp.hypot,
    "where": lambda x, y: rnp.where(y > 1.5, x, y),
    "stack": lambda x, y: rnp.stack([x, y]),
    "concatenate": lambda x, y: rnp.concatenate([x, y]),
    "einsum": lambda x, y: rnp.einsum("ij,jk->ki", x, y),
    "x[index]": lambda x, y: x[(y > 1.5).astype(int)[0]],
    "x.at[index].set": lambda x, y: x.at[0].set(y[0]),
    "x.at[index].add": lambda x, y: y.at[0].add(x[0]),
    "searchsorted": lambda x, y: rnp.searchsorted(x[0], y[0]),
    "clip": lambda x, y: rnp.clip(x, y, 3.0),
    "jit": rb.jit(lambda x, y: x @ y),
    "vmap": rb.vmap(lambda x, y: x * y),
    "grad": lambda x, y: rb.grad(lambda x: ((x * x) @ y).sum())(x),
    "fori_loop": lambda x, y: lax.fori_loop(0, 2, lambda i, c: c * y, x),
}


class Given:
    """An object that gives an array, and has all that it has."""

    def __init__(self, array):
        self.array = array

    def __jax_array__(self):
        return self.array

    def __getattr__(self, name):
        return getattr(self.array, name)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("place", PLACES, ids=["device", "mesh", "everywhere"])
def test_what_is_not_committed_follows_every_time(place, name):
    function = FUNCTIONS[name]
    wanted = function(rb.device_put(HERE), rb.device_put(THERE))
    free, bound = rb.device_put(HERE), rb.device_put(THERE, place)
    for _ in range(3):
        for x, y in ((free, bound), (rb.device_put(HERE, place), rb.device_put(THERE))):
            found = function(x, y)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
            assert found.devices() == place.device_set


@pytest.mark.parametrize("place", PLACES, ids=["device", "mesh", "everywhere"])
def test_objects_that_give_arrays_are_where_their_arrays_are(place):
    for _ in range(2):
        for function in (lambda x, y: x @ y, lambda x, y: rnp.matmul(y, x), lambda x, y: x + y):
            found = function(rb.device_put(HERE), Given(rb.device_put(THERE, place)))
            np.testing.assert_allclose(found, function(HERE, THERE), rtol=1e-6)


LIKES = {
    "zeros_like": rnp.zeros_like, "ones_like": rnp.ones_like, "empty_like": rnp.empty_like,
    "full_like": lambda x, **k: rnp.full_like(x, 2, **k),
    "lax.full_like": lambda x, **k: lax.full_like(x, 2, **k),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKES)
@pytest.mark.parametrize("place", PLACES, ids=["device", "mesh", "everywhere"])
def test_arrays_like_one_that_was_put_somewhere_lie_there(place, name):
    like, x = LIKES[name], rb.device_put(HERE, place)
    for out in (like(x), like(x, dtype="int8"), like(x, shape=(4, 4))):
        assert out.sharding == place and out.committed
    for out in (
        like(HERE),
        like(rb.device_put(HERE)),
        like(x, shape=(2, 4)),
        like(rb.device_put(2.0, PLACES[2])),
    ):
        assert not out.committed
    assert like(rb.ShapeDtypeStruct((4, 4), "float32", sharding=place)).sharding == place
    np.testing.assert_array_equal(like(x), like(HERE))
    assert not rb.jit(lambda: like(x))().is_deleted()


def test_compiled_for_the_device_of_the_arguments():
    there, other = rb.devices()[3], rb.devices()[5]
    x = rb.device_put(HERE, there)
    typed = rb.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
    f = rb.jit(lambda x, y: x + y)
    for given in ((x, HERE), (HERE, x), (x, x), (typed, typed)):
        compiled = f.lower(*given).compile()
        assert compiled.input_shardings[0] == (x.sharding, x.sharding)
        for args in ((x, HERE), (HERE, HERE), (x, x)):
            out = compiled(*args)
            assert out.device is there and out.committed
            np.testing.assert_array_equal(out, HERE + HERE)
        with pytest.raises(
            ValueError, match=f"was compiled for {there}, and argument 'x' was put on {other}"
        ):
            compiled(rb.device_put(HERE, other), HERE)
    assert not f.lower(HERE, HERE).compile()(HERE, HERE).committed
    assert f.lower(x, x).compile(device=other)(HERE, HERE).device is other
    with pytest.raises(ValueError, match="argument 'x' lies on cpu:3 and argument 'y' on cpu:5"):
        f.lower(x, rb.device_put(HERE, other))


def test_lowered_for_what_in_shardings_and_out_shardings_say():
    rows, cut = PLACES[1].with_spec(P("x")), rb.device_put(HERE, PLACES[1].with_spec(P(None, "y")))
    f = rb.jit(lambda x: x + 1, in_shardings=rows)
    for given in (cut, rb.device_put(HERE, rb.devices()[3]),
                  rb.ShapeDtypeStruct(cut.shape, cut.dtype, sharding=cut.sharding)):  # fmt: skip
        with pytest.raises(ValueError, match=r"in_shardings asks for .* argument 'x', which was put on"):
            f.lower(given)
    assert f.lower(HERE).compile().input_shardings[0] == (rows,)
    one = SingleDeviceSharding(rb.devices()[1])
    g = rb.jit(lambda x: x + 1, out_shardings=one)
    for x in (cut, HERE, rb.device_put(HERE, rb.devices()[3])):
        for out in (g(x), g.lower(x).compile()(x), g.lower(HERE).compile()(x)):
            assert out.sharding == one and out.committed
            np.testing.assert_array_equal(out, HERE + 1)


MADE = {
    "zeros": (rnp.zeros, (8,)),
    "full": (rnp.full, (8,), 2.5),
    "arange": (rnp.arange, 8),
    "array": (rnp.array, HERE),
    "asarray": (rnp.asarray, HERE),
    "astype": (rnp.astype, HERE, "float16"),
    "eye": (rnp.eye, 8),
    "linspace": (rnp.linspace, 0.0, 1.0, 8),
    "fftfreq": (rnp.fft.fftfreq, 8),
    "rfftfreq": (rnp.fft.rfftfreq, 14),
    "zeros_like": (rnp.zeros_like, HERE),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_where_device_says(name):
    make, *args = MADE[name]
    rows = PLACES[1].with_spec(P("x"))
    for device, sharding in ((rb.devices()[1], PLACES[0]), *[(s, s) for s in (PLACES[0], rows)]):
        made = make(*args, device=device)
        assert made.sharding == sharding and made.committed
        np.testing.assert_array_equal(made, make(*args))
    assert rb.jit(lambda: make(*args, device=rows))().sharding.is_equivalent_to(rows, make(*args).ndim)
    if name == "linspace":
        out, step = make(*args, retstep=True, device=rows)
        assert out.sharding == rows and float(step) == float(np.float32(1 / 7))


def test_keys_of_a_callback():
    keys, rows = rb.random.split(rb.random.key(0), 8), NamedSharding(rb.make_mesh((4, 2), ("x", "y")), P("x"))
    for sharding in (rows, SingleDeviceSharding(rb.devices()[2])):
        made = rb.make_array_from_callback((8,), sharding, lambda index: keys[index])
        assert made.sharding == sharding and made.dtype == keys.dtype
        np.testing.assert_array_equal(rb.random.key_data(made), rb.random.key_data(keys))


def test_shapes_are_checked_against_shardings_without_computing():
    mesh = rb.make_mesh((4, 2), ("x", "y"))
    on = lambda *spec: NamedSharding(mesh, P(*spec))
    double = rb.jit(lambda x: x * 2, in_shardings=on("x"))
    odd = rb.ShapeDtypeStruct((7, 8), "float32")
    assert double.eval_shape(rb.device_put(HERE, on("y"))).shape == (4, 4)  # wherever it lies
    with pytest.raises(ShardingError, match=r"in_shardings for argument 'x':.*size 7 is not divisible by 4"):
        rb.eval_shape(double, odd)
    with pytest.raises(ShardingError, match="in_shardings for argument 'x'"):
        double.eval_shape(1.0)
    with pytest.raises(ShardingError, match=r"out_shardings:.*size 7 is not divisible"):
        rb.jit(lambda x: x, out_shardings=on("x")).eval_shape(odd)


@pytest.mark.parametrize("place", PLACES[:2], ids=["device", "mesh"])
def test_what_was_put_somewhere_has_no_weak_type(place):
    wide = np.ones((8, 8), np.float32)
    weak = lax.full((8, 8), 1.0)
    assert weak.weak_type and rnp.full((8, 8), 1.0).weak_type
    for out in (
        rnp.full((8, 8), 1, device=place),
        rnp.zeros_like(weak, device=place),
        rnp.full_like(weak, 2, device=place),
        lax.full((8, 8), 1.0, sharding=place),
        lax.full_like(weak, 1, sharding=place),
        lax.full_like(wide, 1, sharding=place),
    ):
        assert not out.weak_type and out.sharding == place and out.committed
