"""Programs with products of what loops stacked are ordered so that they take little memory."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_pjrt_cpu import BACKEND, long_stacks

UPDATE = "stablehlo.dynamic_update_slice %1, %2, %3 : (tensor<9xf32>, ...) -> tensor<{}>"


@pytest.mark.parametrize(
    "stacks, large",
    [
        (["400x64x256xf32"], True),
        (["262144xf32"], True),
        (["262143xf32"], False),
        (["131072xf32", "131072xf32"], True),
        (["131072xcomplex<f32>"], True),
        (["131072xf64"], True),
        (["131072xbf16", "131072xi1"], False),
        (["f32"], False),
        ([], False),
    ],
)
def test_how_much_is_large(stacks, large):
    factor = stacks[0].replace("complex<f32>", "f32") if stacks else "9xf32"
    product = f"%5 = stablehlo.dot_general %3, %4, over = [0] x [0] : (tensor<{factor}>, tensor<9xf32>)"
    updates = "\n".join([UPDATE.format(type) for type in stacks])
    loop = f'%1 = "stablehlo.while"(%0) ({{\n{updates}\n}}) : () -> ()'

    def module(*lines):
        return "\n".join(["module @m {", "func.func public @main() -> () {", *lines, "}", "}"])

    text = module(loop, product)
    assert long_stacks.are_read_whole(text) is large
    assert BACKEND.program_options(text) == (long_stacks.SAVES_MEMORY if large else {})
    for other in (
        module(loop, product.replace(factor, "8xf32")),  # a product of something else
        module(loop.replace("})", f"{product}\n}})")),  # a product in the loop
        module(product, loop.replace("while", "if")),
    ):
        assert not long_stacks.are_read_whole(other)


@pytest.mark.needs("jit", "grad", "numpy")
def test_the_gradient_of_a_weight_copies_no_stack_ahead_of_the_loop():
    """Two stacks go into the product after the loop: the given one and that of the states."""

    def loss(weights, xs, states):
        w, u = weights

        def step(states, x):
            h, c = states
            i, f, g, o = lax.split(x @ w + h @ u, [128] * 4, axis=1)
            c = lax.logistic(f) * c + lax.logistic(i) * lax.tanh(g)
            return (lax.logistic(o) * lax.tanh(c), c), None

        return lax.scan(step, states, xs)[0][0].sum()

    sizes = (100, 64, 128)
    state = rb.ShapeDtypeStruct(sizes[1:], np.float32)
    weight = rb.ShapeDtypeStruct((128, 512), np.float32)
    xs = rb.ShapeDtypeStruct(sizes, np.float32)
    lowered = rb.jit(rb.grad(loss)).lower((weight, weight), xs, (state, state))

    def stacks(options=None):
        compiled = lowered.compile(compiler_options=options)
        return compiled.memory_analysis().temp_size_in_bytes / (4 * np.prod(sizes))

    assert stacks() <= stacks({"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_DEFAULT"})
    assert stacks() < 12  # seven of the forward pass, four for the gates
