"""a quantum circuit and its gradient through the JAX interface"""

# packages: pennylane
import jax
import jax.numpy as jnp
import pennylane as qml

dev = qml.device("default.qubit", wires=2)


@qml.qnode(dev, interface="jax")
def circuit(x):
    qml.RX(x[0], wires=0)
    qml.CNOT(wires=[0, 1])
    qml.RY(x[1], wires=1)
    return qml.expval(qml.PauliZ(1))


x = jnp.array([0.3, 0.7])
print(float(circuit(x)), *map(float, jax.grad(circuit)(x)), float(jax.jit(circuit)(x)))
