"""Compiled programs that are kept: on disk, in this process, and read ahead while a script starts."""
