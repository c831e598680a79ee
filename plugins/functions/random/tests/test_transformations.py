"""A key draws the same numbers wherever it is used: compiled, mapped, differentiated."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax, random

KEYS = random.split(random.key(5), 4)
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)

DRAWS = {
    "bits": lambda k: random.bits(k, (3,), "uint8"),
    "uniform": lambda k: random.uniform(k, (2, 3), minval=-1.0, maxval=2.0),
    "normal": lambda k: random.normal(k, (2, 3), "float64"),
    "complex normal": lambda k: random.normal(k, (3,), "complex64"),
    "randint": lambda k: random.randint(k, (5,), 0, 100),
    "permutation": lambda k: random.permutation(k, GRID),
    "permutation, independent": lambda k: random.permutation(k, GRID, 1, independent=True),
    "choice": lambda k: random.choice(k, GRID, (2,), axis=1),
    "choice by weight": lambda k: random.choice(k, 4, (6,), p=np.float32([0.1, 0.2, 0.3, 0.4])),
    "choice without replacement": lambda k: random.choice(k, 4, (3,), replace=False),
    "categorical": lambda k: random.categorical(k, GRID),
    "categorical without replacement": lambda k: random.categorical(k, GRID, shape=(2, 3), replace=False),
    "bernoulli": lambda k: random.bernoulli(k, 0.4, (5,)),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 1.0, (3,)),
    "triangular": lambda k: random.triangular(k, 0.0, 0.5, 1.0, (3,)),
    "split": lambda k: random.key_data(random.split(k, 3)),
    "fold_in": lambda k: random.key_data(random.fold_in(k, 3)),
    "scalar": lambda k: random.gumbel(k),
}
of_each = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def same(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if got.dtype.kind in "biu":
        assert got.tolist() == wanted.tolist()
    else:
        np.testing.assert_allclose(
            got, wanted, rtol=8 * np.finfo(got.dtype).eps, atol=np.finfo(got.dtype).eps
        )


@of_each
@pytest.mark.needs("jit")
def test_compiled(draw):
    same(rb.jit(draw)(KEYS[0]), draw(KEYS[0]))


@of_each
@pytest.mark.needs("vmap")
def test_mapped(draw):
    same(rb.vmap(draw)(KEYS), np.stack([np.asarray(draw(k)) for k in KEYS]))


@of_each
@pytest.mark.needs("vmap")
def test_mapped_over_older_keys(draw):
    same(rb.vmap(draw)(random.key_data(KEYS)), rb.vmap(draw)(KEYS))


@of_each
@pytest.mark.needs("jit")
def test_one_by_one(draw):
    """Without compiling whole functions, operation by operation."""
    with rb.config.override(disable_jit=True):
        one_by_one = draw(KEYS[0])
    same(one_by_one, draw(KEYS[0]))


@of_each
@pytest.mark.needs("jit")
def test_programs_are_well_typed(draw):
    from rabbet.extend.passes import check

    check(rb.make_jaxpr(draw)(KEYS[0]))


@pytest.mark.needs("jit", "vmap")
def test_nested():
    grid = KEYS.reshape(2, 2)
    mapped = rb.jit(rb.vmap(rb.vmap(lambda k: random.normal(k, (3,)))))(grid)
    same(mapped, np.stack([np.asarray(random.normal(k, (3,))) for k in KEYS]).reshape(2, 2, 3))
    counters = rb.vmap(random.fold_in, in_axes=(None, 0))(KEYS[0], np.arange(3))
    assert bool(counters[2] == random.fold_in(KEYS[0], 2))
    same(random.key_data(rb.vmap(random.key)(np.arange(3))), np.uint32([[0, 0], [0, 1], [0, 2]]))


@pytest.mark.needs("jit")
def test_keys_as_arguments_and_results():
    step = rb.jit(lambda state: {"key": random.fold_in(state["key"], state["i"]), "i": state["i"] + 1})
    state = {"key": KEYS[0], "i": 0}
    for _ in range(3):
        state = step(state)
    wanted = random.fold_in(random.fold_in(random.fold_in(KEYS[0], 0), 1), 2)
    assert bool(state["key"] == wanted)
    captured = rb.jit(lambda scale: scale * random.normal(KEYS[1], ()))
    same(captured(2.0), 2 * np.asarray(random.normal(KEYS[1], ())))
    assert bool(rb.jit(random.key)(-1) == random.key(-1))


@pytest.mark.needs("jit")
def test_the_program_says_what_is_drawn():
    text = str(rb.make_jaxpr(lambda k: random.bits(k, (3,)))(KEYS[0]))
    assert "a:key<fry>[]" in text
    assert "b:u32[2] = to_physical a" in text
    assert text.count("threefry2x32") == 1


@pytest.mark.needs("grad")
def test_derivatives_with_a_fixed_key():
    key = KEYS[2]
    noise = float(random.normal(key, ()))
    assert float(rb.grad(lambda s: s * random.normal(key, ()))(2.0)) == pytest.approx(noise)
    u = float(random.uniform(key, ()))
    assert float(rb.grad(lambda low: random.uniform(key, (), minval=low, maxval=3.0))(1.0)) == pytest.approx(
        1 - u
    )


@pytest.mark.needs("grad")
def test_keys_among_what_is_differentiated():
    loss = lambda params: params["w"] * random.normal(params["key"], ())
    params = {"w": 2.0, "key": KEYS[0]}
    grads = rb.grad(loss, allow_int=True)(params)
    assert float(grads["w"]) == pytest.approx(float(random.normal(KEYS[0], ())))
    assert (grads["key"].shape, grads["key"].dtype) == ((), dtypes.float0)
    with pytest.raises(TypeError, match=r"key<fry>\[\].*allow_int"):
        rb.grad(loss)(params)


@pytest.mark.needs("grad", "vmap", "jit")
def test_gradients_per_key():
    def loss(w, key):
        return lax.reduce_sum(lax.square(lax.mul(w, random.normal(key, (3,)))), (0,))

    per_key = rb.jit(rb.vmap(rb.grad(loss), in_axes=(None, 0)))(2.0, KEYS)
    wanted = [4 * np.sum(np.square(np.asarray(random.normal(k, (3,))))) for k in KEYS]
    np.testing.assert_allclose(np.asarray(per_key), wanted, rtol=1e-5)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_shapes_are_static():
    with pytest.raises(TypeError, match=r"index|integer|shape"):
        rb.jit(lambda n: random.normal(KEYS[0], (n,)))(3)


@pytest.mark.needs("jit")
@pytest.mark.narrow
def test_more_elements_than_a_word_counts():
    """Past 2**32 elements the position needs both words; only traced here, for it would fill 16 GiB."""
    from rabbet.extend.passes import check

    program = rb.make_jaxpr(lambda k: random.bits(k, (2**17, 2**16)))(KEYS[0])
    check(program)
    assert "u64[131072,65536]" in str(program)
    assert "u64" not in str(rb.make_jaxpr(lambda k: random.bits(k, (2**16, 2**16)))(KEYS[0]))


@pytest.mark.needs("jit", "vmap")
def test_gamma_numbers_for_many_keys_are_drawn_as_one_vector():
    function = rb.vmap(lambda key: random.gamma(key, np.float32([0.5, 2.0, 3.0])))
    text = rb.jit(function).lower(KEYS).as_text()
    roots = [line for line in text.splitlines() if "stablehlo.sqrt" in line]  # one is in the loops
    assert roots and all("tensor<12xf32>" in line for line in roots)
    found = np.asarray(function(KEYS))
    np.testing.assert_array_equal(found, [random.gamma(key, np.float32([0.5, 2.0, 3.0])) for key in KEYS])


@pytest.mark.needs("jit", "vmap")
def test_one_key_beside_mapped_parameters():
    # The compiler made one kernel of it that draws anew for each use: it did not end in minutes.
    means, key = np.float32([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]]), KEYS[1]
    found = rb.jit(rb.vmap(lambda mean: random.wald(key, mean)))(means)
    np.testing.assert_allclose(found, [random.wald(key, mean) for mean in means], rtol=1e-4)
