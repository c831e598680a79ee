"""``jax._src.mesh``: what libraries read there, the mesh of ``with mesh:``."""

import rabbet as rb

NAMES = {
    name: name
    for name in "AbstractMesh AxisType Mesh get_abstract_mesh set_mesh use_abstract_mesh".split()
}
NAMES["get_concrete_mesh"] = "get_mesh"


def __getattr__(name):
    if name in NAMES:
        return getattr(rb.sharding, NAMES[name])
    raise AttributeError(name)


class _Environment:
    @property
    def physical_mesh(self):
        """The mesh of ``with mesh:`` or of ``set_mesh``; one without axes where there is none."""
        kind = rb.sharding.Mesh
        for entry in reversed(rb.config.meshes):
            mesh = getattr(entry, "mesh", entry)
            if mesh is None or isinstance(mesh, kind):
                return mesh or kind((), ())
        return kind((), ())


class _ThreadResources:
    """What ``with mesh:`` says to the current thread."""

    env = _Environment()


thread_resources = _ThreadResources()
