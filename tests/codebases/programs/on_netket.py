"""the energy of a small spin chain"""

# packages: netket
import jax
import netket as nk

hi = nk.hilbert.Spin(0.5, 4)
ha = (
    nk.operator.IsingJax(hi, nk.graph.Chain(4), h=1.0)
    if hasattr(nk.operator, "IsingJax")
    else nk.operator.Ising(hi, nk.graph.Chain(4), h=1.0)
)
vs = nk.vqs.FullSumState(hi, nk.models.RBM(), seed=1)
e, g = vs.expect_and_grad(ha)
print(float(e.mean.real), sum(float(abs(x).sum()) for x in jax.tree.leaves(g)))
