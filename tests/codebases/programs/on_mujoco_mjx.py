"""a falling box, 5 steps, and a gradient"""

# packages: mujoco-mjx
import jax
import mujoco
from mujoco import mjx

XML = (
    "<mujoco><worldbody><body pos='0 0 1'><joint type='slide' axis='0 0 1'/>"
    "<joint type='hinge' axis='0 1 0' damping='0.1'/><geom type='sphere' size='.1' pos='.1 0 0'/>"
    "</body></worldbody></mujoco>"
)
model = mujoco.MjModel.from_xml_string(XML)
m = mjx.put_model(model)
d = mjx.make_data(model)
step = jax.jit(mjx.step)
for _ in range(5):
    d = step(m, d)
print(
    *map(float, d.qpos),
    *map(float, d.qvel),
    *map(float, jax.grad(lambda q: step(m, d.replace(qvel=q)).qpos.sum())(d.qvel)),
)
