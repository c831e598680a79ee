"""Messages in the coordinator's store that only a process of this job can have written.

jaxlib's service takes anybody who reaches its port. So each value carries a code (HMAC-SHA256) over its key,
a counter and the text, made with the job's secret; what does not carry it, stands under another key, or is
older than what was read before is not believed, and a warning names it.
"""

import contextlib
import hashlib
import hmac
import os
import stat
import time
import warnings
from typing import Any

from rabbet.errors import ConfigError

VARIABLE, FILE_VARIABLE = "RABBET_JOB_SECRET", "RABBET_JOB_SECRET_FILE"
LEAST = 16  # characters
MARK = "rabbet-1"
PAUSE = 0.05
MOST_REMOVED = 65536  # removed keys of which the last counter is remembered
NAMED = 5  # of the keys under which something was refused, that many have a warning


class ForgedMessageWarning(UserWarning):
    """Something in the coordinator's store was not written by a process of this job, and is not believed.

    Example:
      >>> import warnings
      >>> def strictly():
      ...     warnings.simplefilter("error", rb.distributed.ForgedMessageWarning)
    """


def secret_of_job(given=None, env=None):
    """The secret as bytes, or None where there is none: what was given, else what a variable says, or the
    file that one names.

    Raises:
      ConfigError: for one that is short, or a file that others may read.
    """
    env = os.environ if env is None else env
    if given is None:
        given = env.get(VARIABLE) or None
        if given is None and env.get(FILE_VARIABLE):
            given = from_file(env[FILE_VARIABLE])
    if given is None:
        return None
    if not isinstance(given, (str, bytes)) or len(given) < LEAST:
        raise ConfigError(
            f"the secret of a job is a text of at least {LEAST} characters; "
            "python -c 'import secrets; print(secrets.token_hex(32))' makes one"
        )
    return given.encode() if isinstance(given, str) else bytes(given)


def from_file(path):
    """The secret that a file holds."""
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{FILE_VARIABLE}: {path} cannot be read: {error}") from None
    if stat.S_ISREG(mode) and mode & 0o007:
        raise ConfigError(f"{FILE_VARIABLE}: {path} may be read or written by anybody; chmod o-rwx it")
    return text


class SignedStore:
    """A ``Store`` whose values are signed, and believed where their signature is right.

    Args:
      store: the store below.
      secret: the job's, as bytes.
    """

    def __init__(self, store: Any, secret: bytes):
        self.store = store
        self.secret = hashlib.sha256(b"rabbet store\0" + secret).digest()
        self.newest: dict[str, int] = {}  # by key, the counter of the last message that was believed
        self.removed: dict[str, int] = {}  # the same of keys that were removed since
        self.written: dict[str, int] = {}  # the same of what was written here
        self.refused: dict[str, str] = {}  # by key, what was wrong
        self.count = 0

    @property
    def client(self):
        """jaxlib's client."""
        return self.store.client

    # ----------------------------------------------------------------------------------------- one message
    def code(self, key, count, text):
        """The code of a message."""
        return hmac.new(self.secret, f"{key}\0{count}\0{text}".encode(), hashlib.sha256).hexdigest()

    def signed(self, key, text):
        """A text with its code. The counter is the time, so that it grows over restarts, too, and above all
        that was read (Lamport's clock), so that an answer is newer than its question whatever the clocks say.
        """
        self.count = max(self.count + 1, time.time_ns())
        return f"{MARK} {self.code(key, self.count, text)} {self.count} {text}"

    def believed(self, key, value):
        """The text of a message, or None for one that is refused."""
        text, problem = None, "it is not signed"
        parts = value.split(" ", 3)
        if len(parts) == 4 and parts[0] == MARK and parts[2].isdecimal():
            count = int(parts[2])
            if not hmac.compare_digest(self.code(key, parts[2], parts[3]), parts[1]):
                problem = "it is signed with another secret, or for another key"
            elif count < self.newest.get(key, 0):
                problem = "it is older than what was read before"
            elif count <= self.removed.get(key, -1):
                problem = "it was there before, and has been removed since"
            else:
                self.newest[key] = count
                self.count = max(self.count, count)
                text = parts[3]
        if text is None:
            self.refuse(key, problem)
        return text

    def refuse(self, key, problem):
        """Remember what was refused, and say it once for each key."""
        if key in self.refused:
            return
        self.refused[key] = problem
        if len(self.refused) <= NAMED:
            warnings.warn(
                f"what stands under {key!r} in the coordinator's store was not written by a process of "
                f"this job "
                f"and is not believed: {problem}. Somebody else reaches the coordinator, or the processes "
                f"have "
                f"different secrets ({VARIABLE})",
                ForgedMessageWarning,
                stacklevel=2,
            )

    def resume(self, key):
        """Go on where a process that wrote under this key before has stopped, whatever the clocks say."""
        value = self.store.get(key)
        if value is not None:
            self.believed(key, value)

    # ---------------------------------------------------------------------------- what a ``Store`` can do
    def set(self, key, value, *, replace=False):
        """Set a key. Raises KeyError if it is set by a process of this job, unless ``replace``."""
        signed = self.signed(key, value)
        try:
            self.store.set(key, signed, replace=replace)
        except KeyError:
            if self.get(key) is not None:
                raise
            signed = self.signed(key, value)
            self.store.set(key, signed, replace=True)
        self.written[key] = int(signed.split(" ", 3)[2])

    def get(self, key):
        """The value of a key, or None."""
        value = self.store.get(key)
        return None if value is None else self.believed(key, value)

    def wait(self, key, seconds):
        """The value of a key, once it is set. Raises TimeoutError if it is not for so long."""
        deadline = time.monotonic() + seconds
        value = self.believed(key, self.store.wait(key, seconds))
        while value is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no process of this job set {key!r} within {seconds:g} s")
            time.sleep(PAUSE)
            value = self.get(key)
        return value

    def folder(self, prefix):
        """All keys below ``prefix``, with their values: a dict by what follows the prefix."""
        prefix = prefix.rstrip("/")
        found = {k: self.believed(f"{prefix}/{k}", v) for k, v in self.store.folder(prefix).items()}
        return {key: value for key, value in found.items() if value is not None}

    def delete(self, key):
        """Remove a key and all below it. What stood there is not believed again, as far as it was read or
        written here: somebody may have kept a copy, whose code is right.
        """
        self.store.delete(key)
        with contextlib.suppress(RuntimeError):  # another thread reads meanwhile
            for each in [k for k in {**self.newest, **self.written} if k == key or k.startswith(f"{key}/")]:
                last = max(self.newest.pop(each, -1), self.written.pop(each, -1), self.removed.pop(each, -1))
                self.removed[each] = last  # as the newest of the dict
            while len(self.removed) > MOST_REMOVED:
                self.removed.pop(next(iter(self.removed)), None)

    def live(self, processes):
        """See ``Store``; it is jaxlib's own answer."""
        return self.store.live(processes)

    def preemption(self):
        """See ``Store``; it is jaxlib's own."""
        return self.store.preemption()

    def close(self):
        """Leave the service."""
        self.store.close()


__all__ = ["FILE_VARIABLE", "VARIABLE", "ForgedMessageWarning", "SignedStore", "secret_of_job"]
