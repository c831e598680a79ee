"""Run by ``test_explicit_types``: what calls over Explicit axes return in jax and in Rabbet, by tracing.

Prints each call whose result has another shape, dtype or sharding, and each that jax takes and Rabbet does
not.
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["RABBET_NUM_CPU_DEVICES"] = "8"

import jax
import numpy as np
import rabbet as rb

SPECS = (("x", None), ("x", "y"), (None, "x"))
CALLS = """
x[:4]|x[0]|x[0, 0]|x[i, 2]|x[:, None]|x[..., 0]|x.T|x.reshape(4, 2, 8)|x.reshape(8, 2, 4)
x[:, np.array([0, 1])]
x.at[:, 0].set(1.0)|x.at[0].get()|x.astype(int)|jnp.zeros_like(x)|jnp.full_like(x, 1, shape=(8,))
jnp.isfinite(x.astype(int))|jnp.isposinf(x.astype(int))|jnp.signbit(x.astype("uint8"))|jnp.iscomplex(x)
jnp.split(x, 4)|jnp.unstack(x)|jnp.pad(x, ((0, 0), (1, 1)))|jnp.roll(x, 1, axis=0)|jnp.flip(x, axis=0)
jnp.take(x, 0, axis=0)|jnp.concatenate([x, x], axis=1)|jnp.stack([x, x])|jnp.tile(x, (2, 1))
jnp.repeat(x, 2, axis=0)|jnp.broadcast_to(x, (2, 8, 8))|jnp.where(x > 0, x, 0)|jnp.clip(x, 0, 1)
jnp.cumsum(x, axis=1)|jnp.sort(x, axis=1)|jnp.argsort(x, axis=0)|jnp.quantile(x, 0.5, axis=1)|jnp.tril(x)
jnp.einsum("ij,kj->ik", x, x)|jnp.einsum("ij,ik->jk", x, x)|jnp.outer(x[:, 0], x[:, 0])|jnp.linalg.norm(x)
jnp.linalg.norm(x, axis=0)|jnp.searchsorted(np.arange(3.0), x)|jnp.interp(x, np.arange(3.0), np.arange(3.0))
nn.softmax(x)|nn.softmax(x, axis=0)|nn.logsumexp(x, axis=0)|nn.one_hot(x[:, 0].astype(int), 4)|lax.top_k(x, 2)
lax.scan(lambda c, r: (c + r, r), np.zeros(8, "float32"), x)|lax.fori_loop(0, 3, lambda i, c: c * 2, x)
lax.while_loop(lambda c: c[0, 0] < 3, lambda c: c + 1, x)|lax.cond(True, lambda y: y * 2, lambda y: y, x)
lax.map(lambda r: r * 2, x)|lax.associative_scan(lax.add, x, axis=1)|lax.clamp(0.0, x, 1.0)
p.vmap(lambda r: r.sum())(x)|p.vmap(lambda r: r.sum(), in_axes=1)(x)|p.grad(lambda y: (y * y).sum())(x)
p.grad(lambda y: y[:4].sum())(x)|p.jacrev(lambda y: y.sum(1))(x)|p.checkpoint(lambda y: y * 2)(x)
p.random.permutation(p.random.key(0), x, axis=1)|p.random.categorical(p.random.key(0), x)
"""


def type_of(leaf):
    """Shape, dtype, and the axes that cut it."""
    entries = () if leaf.sharding is None else tuple(leaf.sharding.spec)
    return leaf.shape, str(leaf.dtype), entries if any(entries) else ()


def outcome(p, call, spec):
    """The types of what a call returns, or the name of its error."""
    sharding = p.sharding
    devices = np.array(p.devices()).reshape(4, 2)
    mesh = sharding.Mesh(devices, ("x", "y"), axis_types=(sharding.AxisType.Explicit,) * 2)
    lies = sharding.NamedSharding(mesh, sharding.PartitionSpec(*spec))
    names = {"p": p, "jnp": p.numpy, "nn": p.nn, "lax": p.lax, "np": np, "i": p.numpy.int32(1)}
    try:
        with p.set_mesh(mesh):
            struct = p.ShapeDtypeStruct((8, 8), np.dtype("float32"), sharding=lies)
            made = p.eval_shape(lambda x: eval(call, {**names, "x": x}), struct)
        return [type_of(leaf) for leaf in p.tree_util.tree_leaves(made)]
    except Exception as error:
        return type(error).__name__


count, taken = 0, 0
for call in CALLS.strip().replace("\n", "|").split("|"):
    for spec in SPECS:
        found, wanted = outcome(rb, call, spec), outcome(jax, call, spec)
        count, taken = count + 1, taken + (not isinstance(wanted, str))
        if found != wanted and not isinstance(wanted, str):
            print("differs", call, spec, found, "jax", wanted)
print("compared", count, "of which jax takes", taken)
sys.exit(0 if taken > 120 else "jax takes too few of the calls for a comparison")
