"""``jax.extend.source_info_util``: Rabbet folds frames of libraries by itself."""


def register_exclusion(path):
    """Frames of files below ``path`` are not the user's."""


ABSENT = "current user_context"
