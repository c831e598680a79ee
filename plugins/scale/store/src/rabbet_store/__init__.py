"""Checkpoints of trees of arrays. ``checkpoints`` is what users call, ``arrays`` one array on disk,
``manifest`` the table of contents, ``command`` is ``rabbet store``.
"""
