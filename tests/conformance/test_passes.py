"""Passes on whole programs: each one on and off gives the same numbers, and the compiled training step of a
transformer has the shape that makes it fast. No clocks: what is counted are instructions and functions.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.extend.passes import all_passes
from rabbet.testing.checks import COMPILE_FAST

# How programs are compiled differs between platforms; what is told of them here is the CPU's way.
pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized,
    pytest.mark.needs("jit", "grad", "numpy", "nn", "random", "cse", "cpu"),
    pytest.mark.usefixtures("on_the_cpu"),
]

GPT = Path(__file__).parents[2] / "benchmarks" / "gpt_step.py"
ON_REQUEST = ("fold", "weight-dots-2d", "outline")
CHOICES = {
    "the usual": {},
    "without cse": {"disable_passes": "cse"},
    **{name: {"enable_passes": name} for name in ON_REQUEST},
    "all": {"enable_passes": ON_REQUEST},
}


def gpt(layers, monkeypatch, sizes="32, 2, 64, 16, 4", gradients_only=False):
    """(training step, its arguments) of the benchmark, with small sizes; or only loss and gradients."""
    source = GPT.read_text()
    small = source.replace("D, H, V, T, B = 128, 4, 512, 64, 8", f"D, H, V, T, B = {sizes}")
    assert small != source
    monkeypatch.setattr(sys, "argv", ["gpt_step.py", "rabbet", str(layers)])
    names = {"__name__": "gpt_step"}
    exec(compile(small, str(GPT), "exec"), names)
    params, m, v, tokens, targets = names["state_and_batch"]()
    if gradients_only:
        return rb.value_and_grad(names["loss_fn"]), [params, tokens, targets]
    return names["train_step"], [params, m, v, rb.numpy.float32(1), tokens, targets]


def mlp(monkeypatch):
    keys = rb.random.split(rb.random.key(0), 4)
    weights = [rb.random.normal(k, (8, 8)) / 3 for k in keys]
    x = rb.random.normal(rb.random.key(9), (2, 3, 8))

    def step(weights, x):
        def loss(weights):
            y = x
            for w in weights:
                y = rnp.tanh(y @ w + 0.0)
            return rnp.mean((y - x) ** 2)

        value, grads = rb.value_and_grad(loss)(weights)
        return value, [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]

    return step, (weights, x)


def recurrent(monkeypatch):
    w = rb.random.normal(rb.random.key(0), (4, 4)) / 2

    def fn(w, xs):
        def cell(h, x):
            h = rnp.tanh(h @ w + x) + rnp.tanh(h @ w + x)
            return lax.cond(h[0, 0] > 0, lambda h: h * 1.0, lambda h: lax.neg(-h) / 2.0, h), rnp.sum(h)

        h, sums = lax.scan(rb.checkpoint(cell), rnp.zeros((2, 4)), xs)
        return rnp.sum(h * h) + rnp.sum(sums)

    return rb.value_and_grad(fn), (w, rnp.arange(24.0).reshape(3, 2, 4) / 24)


def transformer(monkeypatch):
    return gpt(3, monkeypatch, "8, 2, 16, 4, 2", gradients_only=True)


PROGRAMS = {"mlp": mlp, "transformer": transformer, "scan": recurrent}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_choice_of_passes_gives_the_same_numbers(program, monkeypatch):
    step, args = PROGRAMS[program](monkeypatch)

    def leaves():
        compiled = rb.jit(step).lower(*args).compile(compiler_options=COMPILE_FAST)
        return [np.asarray(x) for x in rb.tree.leaves(compiled(*args))]

    with rb.config.override(disable_passes=[p.name for p in all_passes()]):
        plain = leaves()
    for name, choice in CHOICES.items():
        if program == "transformer" and name in ("fold", "weight-dots-2d"):
            continue  # these are tried on the other two, which compile in a tenth of the time
        with rb.config.override(enable_checks=True, **choice):
            got = leaves()
        for a, b in zip(plain, got, strict=True):
            np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-6, err_msg=name)


def largest_fusion(text):
    """The number of instructions of the largest fused computation in an optimized module."""
    fused = set(re.findall(r" fusion\(.*?calls=%?([\w.-]+)", text))
    sizes = {}
    name = None
    for line in text.splitlines():
        head = re.match(r"(?:ENTRY )?%?([\w.-]+) .*\{$", line)
        if head:
            name = head[1]
            sizes[name] = 0
        elif name is not None and " = " in line:
            sizes[name] += 1
    assert fused <= set(sizes), "the text of modules has changed"
    return max(sizes[n] for n in fused)


@pytest.fixture(scope="module")
def steps():
    """The compiled training step, by its number of layers and whether parameters and state are donated."""
    with pytest.MonkeyPatch.context() as patch, rb.default_device("cpu"):

        def compiled(layers, donate=()):
            step, args = gpt(layers, patch)
            lowered = rb.jit(step, donate_argnums=donate).lower(*args)
            return lowered.compile(compiler_options=COMPILE_FAST)

        yield {4: compiled(4), 12: compiled(12), "donated": compiled(4, (0, 1, 2))}


def test_the_largest_fusion_of_a_training_step_is_small_and_does_not_grow_with_depth(steps):
    largest = {layers: largest_fusion(steps[layers].as_text()) for layers in (4, 12)}
    assert 5 < largest[4] <= 60
    assert largest[12] == largest[4]


def test_the_bytes_that_a_training_step_allocates_grow_with_its_parameters(steps):
    for layers in (4, 12):
        sizes = steps[layers].memory_analysis()
        # New parameters and state, and less than as much again for everything between: 0.73 and 0.72 of it.
        assert sizes.output_size_in_bytes < 1.01 * sizes.argument_size_in_bytes
        assert sizes.temp_size_in_bytes < 0.8 * sizes.argument_size_in_bytes


def test_donated_parameters_and_state_are_used_again(steps):
    plain, donated = steps[4].memory_analysis(), steps["donated"].memory_analysis()
    assert donated.alias_size_in_bytes > 0.99 * donated.argument_size_in_bytes
    assert donated.peak_memory_in_bytes < 0.6 * plain.peak_memory_in_bytes
    allocated = donated.output_size_in_bytes - donated.alias_size_in_bytes + donated.temp_size_in_bytes
    assert allocated < 0.8 * (plain.output_size_in_bytes + plain.temp_size_in_bytes)


def test_a_step_is_traced_once_for_each_signature(monkeypatch):
    step, (weights, x) = mlp(monkeypatch)
    traces = []

    def counted(weights, x):
        traces.append(x.shape)
        return step(weights, x)

    jitted = rb.jit(counted, compiler_options=COMPILE_FAST)
    for batch in (x, x[:1], x):
        for _ in range(2):
            _, weights = jitted(weights, batch)
    assert traces == [(2, 3, 8), (1, 3, 8)]


def test_the_number_of_functions_grows_with_distinct_blocks_and_not_with_layers(monkeypatch):
    functions, calls = {}, {}
    with rb.config.override(enable_passes="outline"):
        for layers in (4, 8):
            step, args = gpt(layers, monkeypatch, "8, 2, 16, 4, 2")
            text = rb.jit(step).lower(*args).as_text()
            functions[layers] = text.count("func.func")
            calls[layers] = text.count('inlineable = "false"')
    assert 3 <= functions[4] == functions[8] <= 12
    assert calls[4] < calls[8]


def test_equal_expressions_of_a_training_step_are_merged(monkeypatch):
    pass_profile = pytest.importorskip("rabbet_cli.pass_profile")
    step, args = gpt(4, monkeypatch, "8, 2, 16, 4, 2")
    traced = rb.jit(step).trace(*args)
    with pass_profile.profiled() as totals:
        traced.lower()
    # Each parameter's bias corrections alone are six equations.
    assert totals["cse"].before - totals["cse"].after > 6 * (len(rb.tree.leaves(args[0])) - 1)
