"""Which measurements tell how diabetes goes on? NumPyro samples the posterior of a robust regression.

    rabbet run-jax examples/jax_libraries/numpyro_diabetes.py

442 patients, ten measurements each (scikit-learn's diabetes data). Coefficients share a scale that is
learned, so that useless ones are drawn to zero; errors have Student's distribution. NUTS runs in two chains.
The figure shows the intervals of the coefficients, the chains of one of them, and what the model predicts
beside what was measured.
"""

import drawing
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from drawing import plt
from numpyro.diagnostics import hpdi, summary
from numpyro.infer import MCMC, NUTS, Predictive
from sklearn.datasets import load_diabetes


def model(x, y=None):
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 1.0))
    with numpyro.plate("measurements", x.shape[1]):
        raw = numpyro.sample("raw", dist.Normal(0.0, 1.0))
    weights = numpyro.deterministic("weights", scale * raw)
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
    with numpyro.plate("patients", len(x)):
        numpyro.sample("y", dist.StudentT(freedom, intercept + x @ weights, noise), obs=y)


def load():
    """Measurements of shape (442, 10) and the disease's progress, each with mean 0 and deviation 1."""
    data = load_diabetes()
    x, y = ((part - part.mean(0)) / part.std(0) for part in (data.data, data.target))
    return x.astype(np.float32), y.astype(np.float32), data.feature_names


def draw(by_chain, predicted, y, names, folder):
    figure, (first, second, third) = plt.subplots(1, 3, figsize=(11, 3.6))
    weights = by_chain["weights"].reshape(-1, len(names))
    low, high = hpdi(weights, 0.9)
    order = np.argsort(weights.mean(0))
    first.hlines(range(len(names)), low[order], high[order])
    first.plot(weights.mean(0)[order], range(len(names)), "o", markersize=4)
    first.set_yticks(range(len(names)), [names[i] for i in order])
    first.axvline(0, color="gray", linewidth=0.5)
    first.set_title("coefficients, 90%")
    for chain in by_chain["weights"]:
        second.plot(chain[:, order[-1]], linewidth=0.5)
    second.set_title(f"the chains of {names[order[-1]]}")
    bounds = np.linspace(y.min() - 1, y.max() + 1, 30)
    third.hist(np.asarray(predicted).ravel(), bounds, density=True, alpha=0.5, label="predicted")
    third.hist(y, bounds, density=True, histtype="step", label="measured")
    third.legend(fontsize=7)
    third.set_title("progress of the disease")
    drawing.write(figure, folder, "numpyro_diabetes")


def main():
    args = drawing.options(__doc__.partition("\n")[0], 1000).parse_args()
    x, y, names = load()
    mcmc = MCMC(
        NUTS(model), num_warmup=args.steps // 2, num_samples=args.steps,
        num_chains=2, chain_method="vectorized", progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(0), x, y)
    by_chain = {name: np.asarray(value) for name, value in mcmc.get_samples(group_by_chain=True).items()}
    row = summary({"weights": by_chain["weights"]})["weights"]
    for name, mean, deviation, r_hat in zip(names, row["mean"], row["std"], row["r_hat"]):
        print(f"{name:4} {mean:7.3f} +- {deviation:.3f}  r_hat {r_hat:.3f}")
    some = {name: value[::10] for name, value in mcmc.get_samples().items()}
    predicted = Predictive(model, some)(jax.random.key(1), x)["y"]
    draw(by_chain, predicted, y, names, args.out)
    print(*by_chain["weights"].mean((0, 1)), by_chain["noise"].mean())


if __name__ == "__main__":
    main()
