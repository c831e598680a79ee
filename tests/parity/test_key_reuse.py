"""Programs that use a random key twice, or do not: what ``debug_key_reuse`` says of them, here and in JAX."""

import jax
import pytest
import rabbet as rb
import rabbet.numpy

PROGRAMS = {}
# JAX does not see that the key is the same, or takes for a second use what the gradient computes again.
OTHERWISE = {"through_a_compiled_function": True, "a_gradient_that_computes_again": False}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def draw(f, key):
    return f.random.normal(key)


@program
def two_draws(f):
    key = f.random.key(0)
    draw(f, key)
    draw(f, key)


@program
def a_draw_and_a_split(f):
    key = f.random.key(0)
    draw(f, key)
    f.random.split(key)


@program
def two_splits(f):
    key = f.random.key(0)
    f.random.split(key)
    f.random.split(key, 3)


@program
def halves_of_a_split(f):
    for key in f.random.split(f.random.key(0)):
        draw(f, key)


@program
def one_half_twice(f):
    first, _ = f.random.split(f.random.key(0))
    draw(f, first)
    draw(f, first)


@program
def an_element_twice_by_its_index(f):
    keys = f.random.split(f.random.key(0), 3)
    draw(f, keys[1])
    draw(f, keys[1])


@program
def another_shape(f):
    key = f.random.key(0)
    draw(f, key)
    draw(f, key.reshape(1)[0])


@program
def a_clone(f):
    key = f.random.key(0)
    draw(f, key)
    draw(f, f.random.clone(key))


@program
def numbers_folded_in(f):
    key = f.random.key(0)
    draw(f, key)
    for i in range(3):
        draw(f, f.random.fold_in(key, i))


@program
def the_bits_wrapped_again(f):
    key = f.random.key(0)
    draw(f, key)
    draw(f, f.random.wrap_key_data(f.random.key_data(key)))


@program
def two_keys_of_one_seed(f):
    draw(f, f.random.key(0))
    draw(f, f.random.key(0))


@program
def keys_that_are_numbers(f):
    key = f.random.PRNGKey(0)
    draw(f, key)
    draw(f, key)


@program
def a_compiled_function_twice(f):
    compiled, key = f.jit(lambda k: draw(f, k)), f.random.key(0)
    compiled(key)
    compiled(key)


@program
def twice_in_a_compiled_function(f):
    f.jit(lambda k: draw(f, k) + draw(f, k))(f.random.key(0))


@program
def twice_of_a_key_that_is_made_inside(f):
    def made():
        key = f.random.key(0)
        return draw(f, key) + draw(f, key)

    f.jit(made)()


@program
def through_a_compiled_function(f):
    key = f.random.key(0)
    same = f.jit(lambda k: k)(key)
    draw(f, key)
    draw(f, same)


@program
def mapped_and_then_one_of_them(f):
    keys = f.random.split(f.random.key(0), 3)
    f.vmap(lambda k: draw(f, k))(keys)
    draw(f, keys[0])


@program
def one_key_for_all_examples(f):
    key = f.random.key(0)
    f.vmap(lambda x: x + draw(f, key))(f.numpy.arange(3.0))


@program
def a_scan_that_captures(f):
    key = f.random.key(0)
    f.lax.scan(lambda c, _: (c, draw(f, key)), 0.0, None, length=3)


@program
def a_scan_that_carries_one_key(f):
    f.lax.scan(lambda k, _: (k, draw(f, k)), f.random.key(0), None, length=3)


@program
def a_scan_that_splits(f):
    def step(key, _):
        key, now = f.random.split(key)
        return key, draw(f, now)

    f.lax.scan(step, f.random.key(0), None, length=3)


@program
def a_scan_over_keys(f):
    keys = f.random.split(f.random.key(0), 3)
    f.lax.scan(lambda c, k: (c, draw(f, k)), 0.0, keys)


@program
def one_branch_and_then_a_draw(f):
    key = f.random.key(0)
    f.lax.cond(True, lambda k: draw(f, k), lambda k: 0.0, key)
    draw(f, key)


@program
def both_branches(f):
    f.lax.cond(True, lambda k: draw(f, k), lambda k: 1.0 + draw(f, k), f.random.key(0))


@program
def a_while_that_captures(f):
    key = f.random.key(0)
    f.lax.while_loop(lambda c: c < 3.0, lambda c: c + 1.0 + 0.0 * draw(f, key), 0.0)


@program
def a_gradient(f):
    key = f.random.key(0)
    f.grad(lambda x: f.numpy.sin(x * draw(f, key)))(1.0)


@program
def a_gradient_that_computes_again(f):
    key = f.random.key(0)
    f.grad(f.checkpoint(lambda x: f.numpy.sin(x * draw(f, key))))(1.0)


def reuses(package, name):
    try:
        with package.debug_key_reuse(True):
            PROGRAMS[name](package)
    except package.errors.KeyReuseError:
        return True
    return False


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_reuse_keys_as_in_jax(name):
    here, there = reuses(rb, name), reuses(jax, name)
    if name in OTHERWISE:
        assert here == OTHERWISE[name] != there
    else:
        assert here == there
