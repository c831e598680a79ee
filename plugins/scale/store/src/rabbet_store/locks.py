"""Which folders belong to a writer that is alive: each is named in a file that its writer holds a lock on,
and the system gives the lock back when the writer ends, however it ends.
"""

import contextlib
import errno
import fcntl
import os
import shutil

WRITING, LEAVING, LOCK = ".writing-", ".deleting-", ".lock-"
# What file systems say that have no locks.
WITHOUT = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL}


class Held:
    """A lock that this process holds under a name."""

    def __init__(self, folder, token):
        self.path = folder / f"{LOCK}{token}"
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            self.descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in WITHOUT:
                    os.close(self.descriptor)
                    raise
            if same_file(self.descriptor, self.path):
                return
            os.close(self.descriptor)  # somebody took it for one that was left, and removed it

    def release(self):
        """Give it back."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


def same_file(descriptor, path):
    """Whether an open file is still the one at a path."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


@contextlib.contextmanager
def left(folder, token):
    """Whether the writer of this name has ended: True, False, or None where the file system cannot say. While
    this lasts, no other writer takes the name.
    """
    try:
        descriptor = os.open(folder / f"{LOCK}{token}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        yield True if isinstance(error, FileNotFoundError) else None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        answer = True
    except OSError as error:
        answer = None if error.errno in WITHOUT else False
    try:
        yield answer
    finally:
        os.close(descriptor)


def token_of(name):
    """The name of the writer of a folder."""
    return name.rsplit("-", 1)[1]


def remove_left(folder, *, doubtful=False):
    """Remove what writers that ended have left; return the names of the folders. ``doubtful``: also where the
    file system cannot say whether one is alive.
    """
    gone = []
    for each in sorted(folder.glob(f"{WRITING}*")):
        token = token_of(each.name)
        with left(folder, token) as answer:
            if answer or (answer is None and doubtful):
                shutil.rmtree(each, ignore_errors=True)
                gone += [] if each.exists() else [each.name]
    for each in sorted(folder.glob(f"{LEAVING}*")):
        shutil.rmtree(each, ignore_errors=True)
        gone.append(each.name)
    for each in folder.glob(f"{LOCK}*"):
        token = token_of(each.name)
        with left(folder, token) as answer:
            if (answer or (answer is None and doubtful)) and not list(folder.glob(f"{WRITING}*-{token}")):
                each.unlink(missing_ok=True)
    return gone


__all__ = ["LEAVING", "WRITING", "Held", "remove_left"]
