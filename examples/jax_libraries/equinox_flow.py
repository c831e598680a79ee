"""A neural ODE in Equinox, solved by Diffrax, carries scikit-learn's two moons to a normal distribution.

    rabbet run-jax examples/jax_libraries/equinox_flow.py

The velocity of a point is a network of place and time. Along a path the logarithm of the density changes by
the divergence of the velocity, so the density of the data is known, and its likelihood is what is trained (a
continuous normalizing flow: Chen et al., Neural Ordinary Differential Equations, 2018). The figure shows data
and density, and the paths from normal numbers to new points.
"""

import diffrax
import drawing
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from drawing import plt
from sklearn.datasets import make_moons

BATCH = 256
STEP = 0.1  # of the solver


class Velocity(eqx.Module):
    network: eqx.nn.MLP

    def __init__(self, key):
        self.network = eqx.nn.MLP(3, 2, width_size=48, depth=2, activation=jnp.tanh, key=key)

    def __call__(self, t, place, _):
        return self.network(jnp.append(place, t))


def density(velocity, point):
    """The logarithm of the density at a point of shape (2,): backwards in time to the normal distribution."""

    def both(t, state, _):
        place, _ = state
        found, derivative = jax.linearize(lambda p: velocity(t, p, None), place)
        divergence = jnp.trace(jax.vmap(derivative)(jnp.eye(2)))
        return found, divergence

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(both), diffrax.Heun(), t0=1.0, t1=0.0, dt0=-STEP, y0=(point, jnp.zeros(()))
    )
    (place,), (change,) = solution.ys
    return jax.scipy.stats.norm.logpdf(place).sum() + change


def path(velocity, start, times):
    """Where a point of the normal distribution goes, at the given times: shape (len(times), 2)."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity), diffrax.Heun(), t0=0.0, t1=1.0, dt0=STEP, y0=start,
        saveat=diffrax.SaveAt(ts=times),
    )  # fmt: skip
    return solution.ys


@eqx.filter_value_and_grad
def loss_and_grads(velocity, points):
    return -jax.vmap(density, in_axes=(None, 0))(velocity, points).mean()


def training(steps, points):
    """The trained velocity, and the loss of each step."""
    velocity = Velocity(jax.random.key(0))
    optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, steps))
    state = optimizer.init(eqx.filter(velocity, eqx.is_array))

    @eqx.filter_jit
    def step(velocity, state, batch):
        loss, grads = loss_and_grads(velocity, batch)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(velocity, updates), state, loss

    rng, losses = np.random.default_rng(0), []
    for i in range(steps):
        velocity, state, loss = step(velocity, state, points[rng.integers(0, len(points), BATCH)])
        losses.append((i, float(loss)))
        if i % 50 == 49:
            print(f"step {i + 1}: -log density {loss:.4f}")
    return velocity, losses


def draw(velocity, points, losses, folder):
    figure, (first, second, third) = plt.subplots(1, 3, figsize=(11, 3.6))
    drawing.curve(first, losses, "loss")
    first.set_ylabel("-log density of the batch")
    side = np.linspace(-2.6, 2.6, 80, dtype=np.float32)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    logs = eqx.filter_jit(jax.vmap(density, in_axes=(None, 0)))(velocity, grid)
    second.pcolormesh(side, side, np.exp(logs).reshape(80, 80), cmap="magma", shading="auto")
    second.plot(*points[:300].T, ".", color="white", markersize=1.5)
    second.set_title("density, and data")
    starts = jax.random.normal(jax.random.key(1), (120, 2))
    times = jnp.linspace(0, 1, 20)
    paths = np.asarray(eqx.filter_jit(jax.vmap(path, in_axes=(None, 0, None)))(velocity, starts, times))
    third.plot(*paths.transpose(2, 1, 0), color="tab:blue", linewidth=0.5, alpha=0.5)
    third.plot(*paths[:, -1].T, ".", color="tab:red", markersize=3)
    third.set_title("from normal numbers to new points")
    drawing.write(figure, folder, "equinox_flow")


def main():
    args = drawing.options(__doc__.partition("\n")[0], 400).parse_args()
    points, _ = make_moons(2000, noise=0.06, random_state=0)
    points = ((points - points.mean(0)) / points.std(0)).astype(np.float32)
    velocity, losses = training(args.steps, points)
    draw(velocity, points, losses, args.out)
    print(losses[0][1], losses[-1][1])


if __name__ == "__main__":
    main()
