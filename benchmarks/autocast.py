"""The training step of gpt_step.py in float32 and with products in bfloat16 by `rb.autocast`, in one process.

    python autocast.py 4        # number of layers
    python autocast.py 4 60     # and of steps

Prints one JSON line. For each of `float32`, `autocast(grad)` (the products of the backward pass too) and
`grad(autocast)`: how many products the program has with bfloat16 operands and without, the loss after the
last step, the processor time of a step over that in float32 (steps alternate) and the bytes of temporary
memory.
"""

import json
import re
import statistics
import sys
import time

layers = int(sys.argv[1]) if len(sys.argv) > 1 else 4
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 40
sys.argv[1:] = ["rabbet", str(layers)]

import gpt_step  # noqa: E402 - it reads its arguments when it is imported
import rabbet as rb  # noqa: E402
import rabbet.numpy as rnp  # noqa: E402

PRODUCT = re.compile(r"stablehlo\.dot_general .*: \(tensor<\S*?(bf16|f32)>, tensor<\S*?(bf16|f32)>\)")


def step_of(value_and_grad):
    """Adam's step of gpt_step.py with another way to the loss and its gradients."""

    def step(params, m, v, t, tokens, targets):
        loss, grads = value_and_grad(params, tokens, targets)
        m = rb.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = rb.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        scale = lambda m, v: (m / (1 - 0.9**t)) / (rnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return rb.tree.map(lambda p, m, v: p - 1e-3 * scale(m, v), params, m, v), m, v, loss

    return step


def main():
    ways = {
        "float32": rb.value_and_grad(gpt_step.loss_fn),
        "autocast(grad)": rb.autocast(rb.value_and_grad(gpt_step.loss_fn)),
        "grad(autocast)": rb.value_and_grad(rb.autocast(gpt_step.loss_fn)),
    }
    params, m, v, tokens, targets = gpt_step.state_and_batch()
    found, compiled, states, times = {}, {}, {}, {}
    for name, way in ways.items():
        lowered = rb.jit(step_of(way)).lower(params, m, v, rnp.float32(1), tokens, targets)
        operands = PRODUCT.findall(lowered.as_text())
        compiled[name] = lowered.compile()
        memory = compiled[name].memory_analysis()
        found[name] = {
            "bfloat16_products": sum("f32" not in pair for pair in operands),
            "other_products": sum("f32" in pair for pair in operands),
            "temp_bytes": memory.temp_size_in_bytes,
        }
        states[name], times[name] = (params, m, v), []
    for i in range(steps):
        for name, step in compiled.items():
            began = time.process_time()
            *state, loss = step(*states[name], rnp.float32(i + 1), tokens, targets)
            found[name]["loss"] = round(float(loss), 5)
            times[name].append(time.process_time() - began)
            states[name] = tuple(state)
    base = statistics.median(times["float32"][2:])
    for name, seconds in times.items():
        found[name]["cpu_ratio"] = round(statistics.median(seconds[2:]) / base, 2)
    print(json.dumps({"layers": layers, "steps": steps, **found}))


if __name__ == "__main__":
    main()
