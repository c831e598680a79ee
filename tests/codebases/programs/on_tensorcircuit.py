"""a circuit on the JAX backend"""

# packages: tensorcircuit
import tensorcircuit as tc

K = tc.set_backend("jax")


def f(p):
    c = tc.Circuit(2)
    c.rx(0, theta=p[0])
    c.cnot(0, 1)
    c.ry(1, theta=p[1])
    return K.real(c.expectation_ps(z=[1]))


v, g = K.jit(K.value_and_grad(f))(K.ones([2]) * 0.4)
print(float(v), *map(float, g))
