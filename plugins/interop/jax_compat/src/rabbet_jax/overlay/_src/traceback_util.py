"""``jax._src.traceback_util``: libraries say which of their files users are not to see in tracebacks."""

from rabbet.extend.functions import folded
from rabbet.extend.wrapping import WholeTraceback, hide_frames_of

UnfilteredStackTrace = WholeTraceback
_exclude_paths: list = []  # libraries take paths out of it, too
hide_frames_of(_exclude_paths)


def register_exclusion(path):
    """Frames of files below ``path`` are not the user's."""
    _exclude_paths.append(path)


def api_boundary(fun, **options):
    """A function at whose frame tracebacks are cut."""
    return folded(fun)


def include_frame(frame):
    """Whether a frame is shown."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


__all__ = ["UnfilteredStackTrace", "api_boundary", "include_frame", "register_exclusion"]
