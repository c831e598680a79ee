"""One layer of attention learns to turn a sequence around."""

import rabbet as rb
import rabbet.numpy as rnp

LENGTH, TOKENS, WIDTH = 6, 8, 32


def init(key):
    keys = rb.random.split(key, 6)
    shapes = [
        (TOKENS, WIDTH),
        (LENGTH, WIDTH),
        (WIDTH, WIDTH),
        (WIDTH, WIDTH),
        (WIDTH, WIDTH),
        (WIDTH, TOKENS),
    ]
    return [rb.random.normal(k, s) / rnp.sqrt(s[0]) for k, s in zip(keys, shapes)]


def predict(params, tokens):
    embed, place, q, k, v, out = params
    x = embed[tokens] + place
    heads = [(x @ w).reshape(*x.shape[:-1], 2, WIDTH // 2) for w in (q, k, v)]
    return rb.nn.dot_product_attention(*heads).reshape(x.shape) @ out


def loss(params, tokens):
    scores = rb.nn.log_softmax(predict(params, tokens))
    return -rnp.mean(rnp.take_along_axis(scores, tokens[:, ::-1, None], axis=-1))


@rb.jit
def step(params, moment, tokens):
    value, g = rb.value_and_grad(loss)(params, tokens)
    moment = [0.9 * m + g for m, g in zip(moment, g)]
    return [p - 0.3 * m for p, m in zip(params, moment)], moment, value


def main():
    key = rb.random.key(0)
    tokens = rb.random.randint(key, (64, LENGTH), 0, TOKENS)
    params = init(rb.random.fold_in(key, 1))
    moment, first = [rnp.zeros_like(p) for p in params], float(loss(params, tokens))
    for _ in range(120):
        params, moment, value = step(params, moment, tokens)
    right = rnp.mean(rnp.argmax(predict(params, tokens), -1) == tokens[:, ::-1])
    return {"loss before": first, "loss after": value, "right": right}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
