"""The training step of gpt_step.py as one would write it in torch, with its own layers and Adam.

    python gpt_step_torch.py torch|torch_compile 12 [steps]

The parameters are drawn with rabbet's random numbers in a process of their own, so that the losses can be
compared with gpt_step.py's.
"""

import json
import subprocess
import sys
import tempfile
import time

import harness
import numpy as np

D, H, V, T, B = 128, 4, 512, 64, 8
BLOCK = ("qkv", "o", "w1", "b1", "w2", "b2", "g1", "s1", "g2", "s2")


def draw(layers, path):
    """Write gpt_step.py's initial parameters and tokens to `path` (run in another process)."""
    import rabbet as rb

    keys = rb.random.split(rb.random.key(0), 4 * layers + 2)
    normal = lambda key, *shape: np.asarray(0.02 * rb.random.normal(key, shape))
    arrays = {"emb": normal(keys[0], V, D), "pos": normal(keys[1], T, D)}
    for i in range(layers):
        k = keys[2 + 4 * i : 6 + 4 * i]
        ones, zeros = np.ones(D, "f4"), np.zeros(D, "f4")
        weights = (normal(k[0], D, 3 * D), normal(k[1], D, D))
        weights += (normal(k[2], D, 4 * D), np.zeros(4 * D, "f4"), normal(k[3], 4 * D, D), zeros)
        for name, value in zip(BLOCK, (*weights, ones, zeros, ones, zeros)):
            arrays[f"{name}{i}"] = value
    arrays["tokens"] = np.asarray(rb.random.randint(rb.random.key(1), (B, T), 0, V)).astype("i8")
    np.savez(path, **arrays)


def drawn(layers):
    """What `draw` writes, drawn in another process."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        subprocess.run([sys.executable, __file__, "draw", str(layers), file.name], check=True)
        with np.load(file.name) as arrays:
            return dict(arrays)


def build(torch, layers):
    functional = torch.nn.functional
    arrays = {name: torch.from_numpy(value) for name, value in drawn(layers).items()}
    tokens = arrays.pop("tokens")
    targets = tokens.roll(-1, 1)
    params = {name: value.requires_grad_() for name, value in arrays.items()}
    optimizer = torch.optim.Adam(params.values(), lr=1e-3, fused=True)

    def attention(x, qkv, o):
        q, k, v = (part.view(B, T, H, D // H).transpose(1, 2) for part in (x @ qkv).split(D, -1))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2).reshape(B, T, D) @ o

    def layer(x, qkv, o, w1, b1, w2, b2, g1, s1, g2, s2):
        x = x + attention(functional.layer_norm(x, (D,), g1, s1), qkv, o)
        h = functional.gelu(functional.layer_norm(x, (D,), g2, s2) @ w1 + b1, approximate="tanh")
        return x + h @ w2 + b2

    @torch.compiled
    def loss_fn(params):
        x = params["emb"][tokens] + params["pos"]
        for i in range(layers):
            x = layer(x, *(params[f"{name}{i}"] for name in BLOCK))
        logits = x @ params["emb"].T
        return functional.cross_entropy(logits.view(-1, V), targets.reshape(-1))

    def step(state):
        optimizer.zero_grad()
        loss = loss_fn(params)
        loss.backward()
        optimizer.step()
        return state, loss.detach()

    return step, None


def main():
    name, layers = sys.argv[1], int(sys.argv[2])
    if name == "draw":
        draw(layers, sys.argv[3])
        return
    seconds = 0.1 * int(sys.argv[3]) if len(sys.argv) > 3 else 2.0
    start = time.perf_counter()
    out = harness.measure(name, {"torch": build}, {"layers": layers}, seconds)
    out["losses"] = out.pop("values")["steps"]
    out["process_s"] = round(time.perf_counter() - start, 3)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
