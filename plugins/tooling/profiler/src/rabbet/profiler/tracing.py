"""Starting and stopping traces, and what is written of them."""

import contextlib
import glob
import gzip
import json
import os
import shutil
import threading
from collections.abc import Iterator
from typing import Any

from rabbet import devices
from rabbet.extend.native import profile_data_of, profiler


def ProfileOptions() -> Any:
    """Options for ``start_trace``: an object with the attributes ``host_tracer_level`` (0 to 3),
    ``python_tracer_level`` (0 or 1), ``device_tracer_level`` and others of XLA's profiler.

    Example:
      >>> options = rb.profiler.ProfileOptions()
      >>> options.host_tracer_level = 1
      >>> session = rb.profiler.start_trace('traces', profiler_options=options)
      >>> recorded = rb.profiler.stop_trace()
    """
    return profiler().ProfileOptions()


class ProfileData:
    """A recorded trace to read: planes (``planes``, ``find_plane_with_name``) of lines of events.

    Both ways to one return jaxlib's object.

    Example:
      >>> with rb.profiler.trace("traces"):
      ...     _ = lax.sin(np.ones(3)).block_until_ready()
      >>> import glob
      >>> (file,) = glob.glob("traces/**/*.xplane.pb", recursive=True)
      >>> data = rb.profiler.ProfileData.from_file(file)
      >>> data.find_plane_with_name("/host:CPU").name
      '/host:CPU'
    """

    @staticmethod
    def from_serialized_xspace(serialized: bytes) -> Any:
        """The trace that these bytes hold, as ``*.xplane.pb`` files and ``ProfileSession`` give them."""
        return profile_data_of(serialized)

    @staticmethod
    def from_file(proto_path: str | os.PathLike) -> Any:
        """The trace of a file ``*.xplane.pb``."""
        with open(proto_path, "rb") as file:
            return profile_data_of(file.read())


class ProfileSession:
    """A trace that is running, or what was recorded by one that is finished.

    Attributes: ``log_dir``; after the end ``profile_data``, whose ``planes`` have ``lines`` of ``events``.

    Example:
      >>> session = rb.profiler.start_trace("traces")
      >>> x = rnp.ones(8).sum()
      >>> recorded = rb.profiler.stop_trace()
      >>> any("CPU" in plane.name for plane in session.planes)
      True
    """

    def __init__(self, log_dir=None, perfetto=False, link=False, options=None):
        self.log_dir = None if log_dir is None else os.fspath(log_dir)
        self.perfetto, self.link = perfetto, link
        self.profile_data = None
        devices()  # the devices' own recorders join only if their clients are there
        made = profiler()
        self.raw = made.ProfilerSession() if options is None else made.ProfilerSession(options)

    @property
    def planes(self):
        """The planes of the trace, one per device and one or more for the host."""
        if self.profile_data is None:
            raise RuntimeError("the trace is still running; stop it first, with stop_trace()")
        return list(self.profile_data.planes)

    def finish(self):
        """Stop recording; write the files if there is a folder for them. Returns the data."""
        if self.log_dir is None:
            self.profile_data = self.raw.stop_and_get_profile_data()
            return self.profile_data
        found = self.raw.stop()
        os.makedirs(self.log_dir, exist_ok=True)
        self.raw.export(found, self.log_dir)
        self.profile_data = profile_data_of(found)
        if self.perfetto or self.link:
            path = perfetto_file(self.log_dir)
            if self.link:
                serve(path)
        return self.profile_data


class Running:
    """The one trace that can run in a process."""

    def __init__(self):
        self.session, self.lock = None, threading.Lock()


running = Running()


def start_trace(
    log_dir: str | os.PathLike | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> ProfileSession:
    """Begin to record; ``stop_trace`` ends it.

    Args:
      log_dir: the folder for the files, below which they lie in ``plugins/profile/<time>``; None keeps what
        is recorded in memory.
      create_perfetto_link: serve the trace to https://ui.perfetto.dev once, and wait until it was opened.
      create_perfetto_trace: write ``perfetto_trace.json.gz``, which that page opens, beside the others.
      profiler_options: what ``ProfileOptions()`` made, changed.

    Returns:
      a ``ProfileSession``.

    Raises:
      RuntimeError: if a trace is running already; there can be one in a process.
      ValueError: for Perfetto without a folder.

    Example:
      >>> session = rb.profiler.start_trace('traces')
      >>> y = rnp.sin(1.0)
      >>> recorded = rb.profiler.stop_trace()
    """
    if log_dir is None and (create_perfetto_link or create_perfetto_trace):
        raise ValueError("start_trace: a trace for Perfetto needs a log_dir")
    with running.lock:
        if running.session is not None:
            raise RuntimeError("start_trace: a trace is running already; stop it first, with stop_trace()")
        running.session = ProfileSession(
            log_dir, create_perfetto_trace, create_perfetto_link, profiler_options
        )
        return running.session


def stop_trace() -> Any:
    """End the trace and write its files.

    Returns:
      what was recorded, with ``planes``, ``lines`` and ``events``.

    Raises:
      RuntimeError: if no trace is running.

    Example:
      >>> session = rb.profiler.start_trace('traces')
      >>> recorded = rb.profiler.stop_trace()
    """
    with running.lock:
        session, running.session = running.session, None
    if session is None:
        raise RuntimeError("stop_trace: no trace is running; begin one with start_trace(folder)")
    return session.finish()


@contextlib.contextmanager
def trace(
    log_dir: str | os.PathLike | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[ProfileSession]:
    """Record within the ``with`` block; the arguments are those of ``start_trace``.

    Programs run asynchronously on some platforms, so wait for their results inside.

    Example:
      >>> import tempfile
      >>> with rb.profiler.trace(tempfile.mkdtemp()) as session:
      ...     x = rnp.sin(rnp.ones(3)).block_until_ready()
      >>> "/host:CPU" in [plane.name for plane in session.planes]
      True
    """
    session = start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield session
    finally:
        stop_trace()


def perfetto_file(log_dir):
    """Write the newest trace of the folder in the form that Perfetto opens; its path."""
    newest = max(glob.glob(os.path.join(log_dir, "plugins", "profile", "*")), key=os.path.getmtime)
    traces = glob.glob(os.path.join(newest, "*.trace.json.gz"))
    path = os.path.join(newest, "perfetto_trace.json.gz")
    if traces:
        shutil.copyfile(traces[0], path)
    else:  # some versions of jaxlib write no events of their own for viewers
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump({"traceEvents": []}, file)
    return path


def serve(path):
    """Hand the file to https://ui.perfetto.dev, from this machine, once."""
    import functools
    import http.server
    import socketserver

    class Server(socketserver.TCPServer):
        seen: str | None = None  # what was asked for last

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Access-Control-Allow-Origin", "https://ui.perfetto.dev")
            super().end_headers()

        def do_GET(self):
            server.seen = self.path
            return super().do_GET()

        def log_message(self, *args):
            pass

    folder, name = os.path.split(path)
    with Server(("127.0.0.1", 9001), functools.partial(Handler, directory=folder)) as server:
        print(f"open this link: https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/{name}", flush=True)
        while server.seen != f"/{name}":
            server.handle_request()
