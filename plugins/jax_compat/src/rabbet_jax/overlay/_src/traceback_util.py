"""``jax._src.traceback_util``: Rabbet folds frames of libraries by itself."""


def register_exclusion(path):
    """Frames of files below ``path`` are not the user's."""


def api_boundary(fun, **options):
    """A function at whose frame tracebacks are cut; here as it is."""
    return fun


_exclude_paths: list = []


def include_frame(frame):
    """Whether a frame is shown."""
    return True


__all__ = ["api_boundary", "include_frame", "register_exclusion"]
