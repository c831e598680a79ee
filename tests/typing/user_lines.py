"""Lines as users write them, for pyright in strict mode: none is an error, and none is of unknown type."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import checkpoint_policies, custom_batching, lax


@rb.jit
def step(w: rb.Array, x: rb.Array) -> rb.Array:
    h = rnp.tanh(w @ x)
    return rnp.sum(h * 2.0 + x[0]) / h.size


w = rnp.ones((3, 3))
x = rnp.arange(3.0)
slope = rb.grad(step)
print(slope(w, x), step(w, x).shape, step.lower(w, x))

ys = rb.vmap(lambda v: lax.sin(v) + 1)(x)
value, d = rb.value_and_grad(step)(w, x)
second = rb.jit(rb.hessian(lambda v: (v**3).sum()))(x)

key = rb.random.key(0)
key, other = rb.random.split(key)
z = rb.random.normal(other, (3,))
print(z.dtype, (z + 1).astype("float16"), -z, z.at[0].set(1.0), rb.device_put(z).block_until_ready())


def drawn(key: rb.random.Key, like: rnp.ndarray) -> rb.Array:
    return like + rb.random.normal(key, like.shape)


print(drawn(other, z).dtype)


def converted(x: rb.Array, dtype: type[rnp.float32] | None = rnp.float32) -> rb.Array:
    return x if dtype is None else x.astype(dtype) + dtype(1)


print(z[::2], z[None], 1 - z, z > 0, abs(z), float(z[0]), np.asarray(z), z.T @ w, z.reshape(3, 1).ndim)

print(lax.fori_loop(0, 10, lambda i, c: c + i, x))
print(lax.while_loop(lambda c: rnp.all(c < 10), lambda c: c * 2, x))
carry, stacked = lax.scan(lambda c, v: (c + v, c * v), 0.0, x)
print(rb.nn.relu(x), rb.nn.softmax(x, axis=-1), rnp.where(x > 1, x, 0.0), rnp.linalg.norm(x))
print(rb.devices()[0].platform, rb.make_jaxpr(step)(w, x))


@rb.checkpoint
def layer(w: rb.Array, x: rb.Array) -> rb.Array:
    return rnp.maximum(w @ x, 0)


print(rb.grad(lambda w: layer(w, x).sum())(w))


@rb.custom_jvp
def safe(x: rb.Array) -> rb.Array:
    return lax.sqrt(x)


@safe.defjvp
def safe_slope(primals: tuple[rb.Array], tangents: tuple[rb.Array]) -> tuple[rb.Array, rb.Array]:
    return safe(primals[0]), tangents[0]


@custom_batching.sequential_vmap
def once(x: rb.Array) -> rb.Array:
    return x + 1


print(rnp.arange(0, 1.0, 0.5), rnp.interp(x, x, x, left=-1.0, right="extrapolate"), rnp.zeros((2, 2)))
print(rnp.delete(x, slice(1, 2)), rnp.split(x, [1, 2]), rnp.concatenate(w), rnp.var(x, ddof=0.5))
print(rnp.can_cast(rnp.int8, rnp.int16), rnp.broadcast_shapes(3, (2, 1)), rnp.apply_over_axes(rnp.sum, w, 0))
print(rnp.einsum("i,i", x, x, optimize=True), rnp.linalg.tensordot(x, x, axes=((0,), (0,))))

kept = rb.checkpoint(layer, policy=checkpoint_policies.save_only_these_names("hidden"))
print(safe(x).shape, once(x).shape, kept(w, x).shape, rb.tree.map(rnp.sum, {"w": w}), lax.mul.op())

with rb.disable_jit(), rb.transfer_guard("allow"), rb.checking_leaks():
    print(step(w, x))
with rb.debug_nans(True), rb.numpy_dtype_promotion("standard"):
    print(step(w, x))
