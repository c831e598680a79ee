"""Values that are the same along a dimension are kept once on the CPU: what becomes narrow, and what not."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.pallas import tpu, triton
from rabbet_pallas import narrow_values

pytestmark = pytest.mark.needs("jit", "numpy")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 6)).astype("float32")
ROWS = pl.BlockSpec((4, 6), lambda i: (i, 0))
STRUCT = rb.ShapeDtypeStruct((12, 6), "float32")


def call_of(f, *args):
    """The call of the only kernel of a function."""
    (e,) = [e for e in rb.make_jaxpr(f)(*args).jaxpr.equations if e.primitive.name == "pallas_call"]
    return e.params["call"]


def scratch_of(f, *args):
    """The shapes of its scratch as the CPU has it."""
    return [s.state.shape for s in narrow_values.narrowed(call_of(f, *args)).scratch]


def over_rows(kernel, *scratch, out=STRUCT, out_specs=ROWS):
    shapes = [tpu.VMEM(s, "float32") for s in scratch]
    return pl.pallas_call(kernel, out, grid=3, in_specs=[ROWS], out_specs=out_specs, scratch_shapes=shapes)


def statistics(x, out, most, total):
    """A softmax over rows whose statistics stand in 8 lanes, as kernels for TPUs have them."""
    most[...] = rnp.full((4, 8), -1e30, "float32")
    total[...] = rnp.zeros((4, 8), "float32")

    def step(j, _):
        part = x[:, pl.ds(2 * j, 2)]
        now = rnp.maximum(most[...], part.max(1, keepdims=True))
        total[...] = total[...] * rnp.exp(most[...] - now) + rnp.exp(part - now[:, :2]).sum(1)[:, None]
        most[...] = now

    lax.fori_loop(0, 3, step, None)
    out[...] = rnp.exp(x[...] - most[:, :1]) / rnp.tile(total[...], (1, 2))[:, :6]


def test_statistics_in_lanes():
    f = over_rows(statistics, (4, 8), (4, 8))
    assert scratch_of(f, X) == [(4, 1), (4, 1)]
    e = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(rb.jit(f)(X), e / e.sum(1, keepdims=True), rtol=1e-5)


def lanes(value):
    """A kernel that keeps something in scratch of 6 lanes, and reads it back."""

    def kernel(x, out, kept):
        kept[...] = rnp.zeros((4, 6), "float32")
        value(x, kept)
        out[...] = kept[...] + x[...]

    return kernel


def whole(x, kept):
    kept[...] = rnp.broadcast_to(x[:, :1], (4, 6))


def one_lane(x, kept):
    kept[:, 2] = x[:, 2]


def two_lanes(x, kept):
    kept[:, 1:3] = rnp.broadcast_to(x[:, :1], (4, 2))


def one_row(x, kept):
    kept[1, :] = rnp.full((6,), 5.0, "float32")


def a_row_that_is_computed(x, kept):
    kept[pl.program_id(0), :] = rnp.full((6,), 5.0, "float32")


def a_lane_that_is_computed(x, kept):
    kept[:, pl.program_id(0)] = rnp.full((4,), 5.0, "float32")


def masked(x, kept):
    triton.store(kept, rnp.full((4, 6), 5.0, "float32"), mask=x[...] > 0)


def a_row_of_numbers(x, kept):
    kept[...] = rnp.broadcast_to(rnp.arange(6.0, dtype="float32"), (4, 6))


def in_a_branch(x, kept):
    @pl.when(pl.program_id(0) == 1)
    def _():
        kept[...] = x[...]


def in_a_branch_by_rows(x, kept):
    @pl.when(pl.program_id(0) == 1)
    def _():
        kept[...] = x[:, 3:4] * rnp.ones((4, 6), "float32")


def in_a_loop(x, kept):
    def step(i, y):
        kept[...] += rnp.broadcast_to(y[:, None], (4, 6))
        return y * 2

    lax.fori_loop(0, 3, step, x[:, 0])


def in_a_loop_in_the_end(x, kept):
    """Only the third step tells lanes apart."""
    start = rnp.zeros((4, 6), "float32"), rnp.zeros((4, 6), "float32"), x[...]
    last = lax.fori_loop(0, 3, lambda i, c: (c[1] + 1, c[2] * 1, c[2]), start)
    kept[...] = last[0] + 0 * last[1]


def turned_around(x, kept):
    kept[...] = rnp.broadcast_to(x[0, :4], (6, 4)).T + rnp.zeros((4, 1), "float32")


def reshaped(x, kept):
    kept[...] = rnp.broadcast_to(x[:, :1][:, :, None], (4, 2, 3)).reshape(4, 6)


def reshaped_across(x, kept):
    kept[...] = rnp.broadcast_to(x[:2, :1], (2, 12)).reshape(4, 6)


def put_together(x, kept):
    half = rnp.broadcast_to(x[:, :1], (4, 3))
    kept[...] = rnp.concatenate([half, half + 1], 1)


CASES = {
    whole: (4, 1), one_lane: (4, 6), two_lanes: (4, 6), one_row: (4, 1), a_row_that_is_computed: (4, 1),
    a_lane_that_is_computed: (1, 6), masked: (4, 6), a_row_of_numbers: (1, 6), in_a_branch: (4, 6),
    in_a_branch_by_rows: (4, 1), in_a_loop: (4, 1), in_a_loop_in_the_end: (4, 6), turned_around: (4, 1),
    reshaped: (4, 1), reshaped_across: (4, 6), put_together: (4, 6),
}  # fmt: skip


@pytest.mark.parametrize("value", CASES, ids=lambda f: f.__name__)
def test_lanes(value):
    """Narrow where every lane holds the same; the same numbers as with all lanes in any case."""
    f = over_rows(lanes(value), (4, 6))
    assert scratch_of(f, X) == [CASES[value]]
    plain = pl.pallas_call(
        lanes(value), STRUCT, grid=3, in_specs=[ROWS], out_specs=ROWS,
        scratch_shapes=[tpu.VMEM((4, 6), "float32")],
    )  # fmt: skip
    with narrow_values_off():
        wanted = rb.jit(plain)(X)
    np.testing.assert_array_equal(rb.jit(f)(X), wanted)


class narrow_values_off:
    """Nothing becomes narrow."""

    def __enter__(self):
        self.kept = narrow_values.narrowed
        narrow_values.narrowed = lambda call: call

    def __exit__(self, *_):
        narrow_values.narrowed = self.kept


def test_from_one_program_to_the_next():
    """Scratch that is never filled by the first program holds what the last one left."""

    def kernel(x, out, kept):
        @pl.when(pl.program_id(0) == 0)
        def _():
            kept[...] = rnp.zeros((1, 6), "float32")

        kept[...] += x[...].sum()
        out[...] = kept[...] + x[...]

    f = over_rows(kernel, (1, 6))
    assert scratch_of(f, X) == [(1, 1)]
    sums = np.cumsum(X.reshape(3, 24).sum(1))
    np.testing.assert_allclose(rb.jit(f)(X), X + np.repeat(sums, 4)[:, None], rtol=1e-5, atol=1e-5)


def test_factors_of_shapes():
    pairs = lambda a, b: [(tuple(x), tuple(y)) for x, y in narrow_values.factors(a, b)]
    assert pairs((4, 6), (4, 2, 3)) == [((0,), (0,)), ((1,), (1, 2))]
    assert pairs((1, 4, 1, 6), (4, 6)) == [((0,), ()), ((1,), (0,)), ((2,), ()), ((3,), (1,))]
    assert pairs((2, 12), (4, 6)) == [((0, 1), (0, 1))]
    assert pairs((), (1, 1)) == [((), (0,)), ((), (1,))]


def test_loops_within_loops_are_looked_at_once():
    """Twelve programs within one another: each is staged for each way in which its inputs are narrow."""

    def nested(depth, c):
        if not depth:
            return c * 2
        inner = lambda c: nested(depth - 1, c)
        return lax.fori_loop(0, 2, lambda i, c: lax.cond(i > 0, inner, lambda c: c, c), c)

    def kernel(x, out):
        out[...] = nested(6, x[...])

    call, staged = call_of(over_rows(kernel), X), []
    stage = narrow_values.stage
    narrow_values.stage = lambda *args: staged.append(args) or stage(*args)
    try:
        narrow_values.narrowed(call)
    finally:
        narrow_values.stage = stage
    assert len(staged) < 100
