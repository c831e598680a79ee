"""checkpoint: what is kept and what is computed again, by policies, names, in memory; messages."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.ad_checkpoint import checkpoint_name
from rabbet.extend.passes import bodies_of

policies = rb.checkpoint_policies
W = np.random.RandomState(0).randn(4, 4) * 0.5
X = np.random.RandomState(1).randn(4)
WS = np.random.RandomState(2).randn(3, 4, 4) * 0.5


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def matvec(w, x):
    return lax.dot_general(w, x, (((1,), (0,)), ((), ())))


def layer(w, x):
    return lax.sin(matvec(w, lax.cos(matvec(w, x))))


def in_a_loop(w, x, f=layer):
    return total(lax.scan(lambda c, w: (f(w, c), None), x, w)[0])


def count(program, name):
    """How often a primitive stands in a program and its bodies."""
    jaxpr = getattr(program, "jaxpr", program)
    return sum(
        (e.primitive.name == name) + sum(count(b, name) for _, b in bodies_of(e.op)) for e in jaxpr.equations
    )


# ------------------------------------------------------------------------------------ what is computed again
@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    ("policy", "dots", "sines"),
    # Forwards, again, and transposed. No slopes forwards; of the last wave only the slope is needed again.
    [
        (None, 2 + 2 + 4, 2 + 3),
        (policies.nothing_saveable, 2 + 2 + 4, 2 + 3),
        (policies.dots_saveable, 2 + 4, 2 + 3),
        (policies.dots_with_no_batch_dims_saveable, 2 + 4, 2 + 3),
        (policies.offload_dot_with_no_batch_dims("device", "pinned_host"), 2 + 4, 2 + 3),
        (policies.everything_saveable, 2 + 4, 4),
    ],
    ids=["none", "nothing", "dots", "dots_without_batch", "offload", "everything"],
)
def test_what_a_policy_computes_again(policy, dots, sines):
    program = rb.make_jaxpr(rb.grad(rb.checkpoint(layer_sum, policy=policy), (0, 1)))(W, X)
    assert count(program, "dot_general") == dots
    assert count(program, "sin") + count(program, "cos") == sines


def layer_sum(w, x):
    return total(layer(w, x))


def named(w, x):
    h = checkpoint_name(matvec(w, x), "hidden")
    return lax.sin(matvec(w, checkpoint_name(lax.cos(h), "wave")))


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    ("policy", "dots"),
    [
        (policies.save_only_these_names("hidden"), 2 + 1 + 4),
        (policies.save_only_these_names("hidden", "other"), 2 + 1 + 4),
        (policies.save_any_names_but_these("wave"), 2 + 1 + 4),
        (policies.save_only_these_names("other"), 2 + 2 + 4),
        (policies.save_anything_except_these_names("hidden"), 2 + 0 + 4),
        (
            policies.save_from_both_policies(
                policies.save_only_these_names("hidden"), policies.dots_saveable
            ),
            2 + 0 + 4,
        ),
        (
            policies.save_and_offload_only_these_names(
                names_which_can_be_saved=["hidden"], names_which_can_be_offloaded=["wave"],
                offload_src="device", offload_dst="pinned_host",
            ),
            2 + 1 + 4,
        ),
    ],
    ids=range(7),
)  # fmt: skip
def test_policies_that_speak_of_names(policy, dots):
    f = lambda w, x: total(named(w, x))
    again = rb.checkpoint(f, policy=policy)
    assert count(rb.make_jaxpr(rb.grad(again, (0, 1)))(W, X), "dot_general") == dots
    np.testing.assert_allclose(rb.grad(again)(W, X), rb.grad(f)(W, X), rtol=1e-5, atol=1e-6)


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    ("policy", "dots"),
    [(None, 2 + 2 + 4), (policies.dots_saveable, 2 + 4), (policies.everything_saveable, 2 + 4)],
    ids=["none", "dots", "everything"],
)
def test_policies_reach_into_loops(policy, dots):
    program = rb.make_jaxpr(rb.grad(rb.checkpoint(in_a_loop, policy=policy)))(WS, X)
    assert count(program, "dot_general") == dots


@pytest.mark.needs("jit")
def test_policies_reach_into_calls():
    f = rb.checkpoint(lambda w, x: total(rb.jit(layer)(w, x)), policy=policies.dots_saveable)
    assert count(rb.make_jaxpr(rb.grad(f, (0, 1)))(W, X), "dot_general") == 2 + 4


@pytest.mark.needs("jit")
def test_a_policy_of_ones_own_is_asked_of_primitives_types_and_parameters():
    asked = []

    def policy(primitive, *avals, **params):
        asked.append((primitive, avals, params))
        return primitive is lax.sin

    rb.grad(rb.checkpoint(layer_sum, policy=policy))(W, X)
    by_name = {p.name: (avals, params) for p, avals, params in asked}
    assert by_name["dot_general"][0][0].shape == (4, 4)
    assert "dimension_numbers" in by_name["dot_general"][1]


@pytest.mark.needs("jit")
def test_the_second_computation_is_behind_a_barrier_unless_it_need_not_be():
    text = lambda **options: rb.jit(rb.grad(rb.checkpoint(layer_sum, **options))).lower(W, X).as_text()
    assert text().count("optimization_barrier") == 1
    assert "optimization_barrier" not in text(prevent_cse=False)
    forward = rb.jit(rb.checkpoint(layer_sum)).lower(W, X).as_text()
    assert "optimization_barrier" not in forward


@pytest.mark.needs("jit")
def test_the_memory_of_a_deep_chain():
    times = lambda x, w: lax.dot_general(x, w, (((1,), (0,)), ((), ())))

    def chain(x, ws, wrap):
        for w in ws:
            x = wrap(lambda x, w: lax.sin(times(lax.tanh(times(x, w)), w)))(x, w)
        return total(x)

    def arrays_held(layers, wrap):
        x, ws = np.ones((64, 64), "f4"), [np.ones((64, 64), "f4")] * layers
        compiled = rb.jit(rb.grad(lambda x, ws: chain(x, ws, wrap))).lower(x, ws).compile()
        return compiled.memory_analysis().temp_size_in_bytes / x.nbytes

    # Two arrays per layer are kept, or with checkpoint one, its input.
    growth = lambda wrap: (arrays_held(64, wrap) - arrays_held(16, wrap)) / 48
    assert 1.9 < growth(lambda f: f) < 2.1
    assert 0.9 < growth(rb.checkpoint) < 1.1
    assert 1.9 < growth(lambda f: rb.checkpoint(f, policy=policies.everything_saveable)) < 2.1
    # A checkpoint around every eight layers leaves the inputs of the eight, and what one of them needs.
    by_eight = arrays_held_by_eight(times)
    assert by_eight < 8 + 2 * 8 + 4


def arrays_held_by_eight(times):
    """Of 64 layers in 8 checkpointed groups."""

    def group(x, ws):
        for w in ws:
            x = lax.sin(times(lax.tanh(times(x, w)), w))
        return x

    def chain(x, ws):
        for i in range(0, 64, 8):
            x = rb.checkpoint(group)(x, ws[i : i + 8])
        return total(x)

    x, ws = np.ones((64, 64), "f4"), [np.ones((64, 64), "f4")] * 64
    compiled = rb.jit(rb.grad(chain)).lower(x, ws).compile()
    return compiled.memory_analysis().temp_size_in_bytes / x.nbytes


@pytest.mark.needs("jit")
def test_programs_show_it():
    text = str(rb.make_jaxpr(rb.checkpoint(lambda x: lax.sin(checkpoint_name(x, "here"))))(1.0))
    assert "checkpoint[" in text and "differentiated=False" in text and "prevent_cse=True" in text
    assert "name[name=here]" in text


# ----------------------------------------------------------------------------------------------- residuals
@pytest.mark.narrow
def test_saved_residuals_says_what_is_kept_and_where_it_comes_from(capsys):
    from rabbet.ad_checkpoint import print_saved_residuals, saved_residuals

    f = rb.checkpoint(layer_sum, policy=policies.dots_saveable)
    found = [(a.str_short(), origin) for a, origin in saved_residuals(f, W, X)]
    assert found[:2] == [("f32[4,4]", "from the argument w"), ("f32[4]", "from the argument x")]
    assert [origin.startswith("output of dot_general from ") for _, origin in found[2:]] == [True, True]
    assert "test_checkpoint_policies.py" in found[2][1] and "(matvec)" in found[2][1]
    g = rb.checkpoint(lambda p: total(named(p["w"], X)), policy=policies.save_only_these_names("hidden"))
    print_saved_residuals(g, {"w": W})
    lines = capsys.readouterr().out.splitlines()
    assert "f32[4,4] from the argument p['w']" in lines
    assert any(line.startswith("f32[4] named 'hidden' from ") for line in lines)


# ------------------------------------------------------------------------------------------------ messages
@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: rb.checkpoint(3), ("checkpoint takes a function", "int")),
        (lambda: rb.checkpoint(lax.sin, policy="dots"), ("policy", "rb.checkpoint_policies", "'dots'")),
        (
            lambda: rb.grad(lambda x: rb.checkpoint(lambda x, mode: x)(x, "fast"))(1.0),
            ("argument 'mode' is not an array", "'fast'", "static_argnums"),
        ),
        (
            lambda: rb.grad(lambda x: rb.checkpoint(lambda x: "text")(x))(1.0),
            ("must return arrays", "'text'"),
        ),
        (lambda: checkpoint_name(1.0, 2), ("checkpoint_name takes a name", "int")),
        (lambda: policies.save_only_these_names(["a"]), ("save_only_these_names takes names", "list")),
        (lambda: policies.offload_dot_with_no_batch_dims(1, "x"), ("kinds of memory",)),
    ],
)
def test_messages(call, parts):
    with pytest.raises(TypeError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_a_name_in_both_lists_is_refused():
    with pytest.raises(ValueError, match="both lists"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"], names_which_can_be_offloaded=["a"], offload_src="device",
            offload_dst="pinned_host",
        )  # fmt: skip


def test_values_decide_nothing_in_a_checkpointed_function():
    with pytest.raises(rb.errors.ConcretizationTypeError):
        rb.grad(rb.checkpoint(lambda x: x if x > 0 else -x))(1.0)
    assert rb.checkpoint(lambda x: x if x > 0 else -x)(-1.0) == 1


def test_they_are_found_beside_the_names():
    from rabbet import ad_checkpoint

    assert ad_checkpoint.checkpoint_policies is rb.checkpoint_policies


@pytest.mark.parametrize("answer", [3, "keep", 1.0])
def test_a_policy_that_answers_neither_yes_nor_no(answer):
    f = rb.checkpoint(lambda x: lax.sin(lax.sin(x)), policy=lambda *_, **params: answer)
    with pytest.raises(TypeError, match=r"the policy .* returned "):
        rb.grad(f)(1.0)
