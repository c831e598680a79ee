"""Run by ``test_export``: programs over four devices that jax exports are called here, and vice versa."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["RABBET_NUM_CPU_DEVICES"] = "4"

import jax
import jax.export
import numpy as np
import rabbet as rb
from rabbet import export

X = np.linspace(-1, 1, 32, dtype="f4").reshape(4, 8)
W = np.linspace(0, 1, 32, dtype="f4").reshape(8, 4)


class Side:
    """One of the two, with the same mesh, program and shardings."""

    def __init__(self, module, np_, sharding):
        self.module, self.sharding = module, sharding
        self.mesh = sharding.Mesh(np.array(module.devices()).reshape(2, 2), ("a", "b"))
        self.np_ = np_

    def on(self, *spec):
        return self.sharding.NamedSharding(self.mesh, self.sharding.PartitionSpec(*spec))

    def program(self, x, w):
        h = self.module.lax.with_sharding_constraint(x @ w, self.on("a", "b"))
        return self.np_.tanh(h), h.sum()

    def exported(self, exporting):
        ins, outs = (self.on("a"), self.on(None, "b")), (self.on(("b", "a")), None)
        jitted = self.module.jit(self.program, in_shardings=ins, out_shardings=outs)
        structs = [self.module.ShapeDtypeStruct(x.shape, "float32") for x in (X, W)]
        return exporting.export(jitted)(*structs)

    def checked(self, program):
        """What calls give, and what the program says of devices."""
        x, w = self.module.device_put(X, self.on("a")), self.module.device_put(W, self.on())
        found, total = program.call(x, w)
        slope = self.module.grad(lambda x: program.call(x, w)[1])(x)
        np.testing.assert_allclose(found, np.tanh(X @ W), atol=1e-6)
        np.testing.assert_allclose(total, (X @ W).sum(), rtol=1e-5)
        np.testing.assert_allclose(slope, np.broadcast_to(W.sum(1), X.shape), rtol=1e-5)
        assert found.sharding.is_equivalent_to(self.on(("b", "a")), 2), found.sharding
        try:
            program.call(X, W)
        except ValueError as error:
            assert "exported for 4 devices" in str(error)
        else:
            raise AssertionError("a call on one device was not refused")
        said = (*program.in_shardings_jax(self.mesh), *program.out_shardings_jax(self.mesh))
        return program.nr_devices, program.in_shardings_hlo, [s and tuple(s.spec) for s in said]


here = Side(rb, rb.numpy, rb.sharding)
there = Side(jax, jax.numpy, jax.sharding)
ours = bytearray(here.exported(export).serialize(vjp_order=1))
theirs = there.exported(jax.export).serialize(vjp_order=1)
wanted = there.checked(jax.export.deserialize(theirs))
for found in (
    there.checked(jax.export.deserialize(ours)),
    here.checked(export.deserialize(theirs)),
    here.checked(export.deserialize(ours)),
):
    assert found == wanted and found[0] == 4, (found, wanted)
print("the same", wanted)
