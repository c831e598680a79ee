"""a model of counts on the JAX backend: a limit's test statistic"""

# packages: pyhf[jax]
import pyhf

pyhf.set_backend("jax")
model = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 8.0])
data = [52.0, 63.0] + model.config.auxdata
print(
    float(model.logpdf(model.config.suggested_init(), data)[0]), float(pyhf.infer.hypotest(1.0, data, model))
)
