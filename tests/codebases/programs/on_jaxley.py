"""a neuron with channels of Hodgkin and Huxley"""

# packages: jaxley
import jaxley as jx
from jaxley.channels import HH

cell = jx.Cell([jx.Branch(jx.Compartment(), 2)], parents=[-1])
cell.insert(HH())
cell.branch(0).loc(0.0).record(verbose=False)
cell.branch(0).loc(0.0).stimulate(jx.step_current(0.1, 0.5, 0.1, 0.025, 1.0), verbose=False)
v = jx.integrate(cell, delta_t=0.025)
print(*map(float, v[0, ::8]))
