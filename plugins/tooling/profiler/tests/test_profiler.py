"""Traces: what is recorded, what is written, and that one runs at a time."""

import contextlib
import glob
import gzip
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import time

import pytest
from rabbet import lax, profiler
from rabbet.profiler import server


def program(x):
    return lax.sin(x) * x


def durations(data):
    """The nanoseconds of each event, by name."""
    return {e.name: e.duration_ns for plane in data.planes for line in plane.lines for e in line.events}


def facts_of(data, name):
    """What is known of the event ``name``; jaxlib's events do not outlive their planes."""
    for plane in data.planes:
        for line in plane.lines:
            for event in line.events:
                if event.name == name:
                    return list(event.stats)
    return []


def test_a_trace_in_memory_has_annotations_and_programs():
    x = lax.iota("float32", 8)
    program(x)

    @profiler.annotate_function
    def annotated(x):
        """Its text."""
        return program(x)

    with profiler.trace() as session:
        with profiler.TraceAnnotation("a part of mine", answer=42):
            assert profiler.TraceAnnotation.is_enabled()
            annotated(x).block_until_ready()
        with profiler.StepTraceAnnotation("train", step_num=7):
            program(x).block_until_ready()
    names = durations(session.profile_data)
    assert {"a part of mine", "train"} <= set(names) and any("annotated" in name for name in names)
    assert names["a part of mine"] > 0 and ("answer", 42) in facts_of(session.profile_data, "a part of mine")
    assert len(session.planes) >= 1 and annotated.__doc__ == "Its text."
    assert not profiler.TraceAnnotation.is_enabled()


def test_traces_are_read_where_warnings_are_errors_whatever_happens_meanwhile():
    """Another thread may leave ``catch_warnings`` at any moment: here, after each call that Python makes.
    And garbage is collected, which took the type that jaxlib warns of; so a test was aborted now and then.
    """
    source = """if True:
        import gc, sys, warnings
        from rabbet import lax, profiler

        warnings.simplefilter("error")
        strict = warnings.filters[:]
        sys.setprofile(lambda *_: setattr(warnings, "filters", strict))
        with profiler.trace() as session:
            lax.sin(1.0).block_until_ready()
        for plane in session.planes:
            for line in plane.lines:
                gc.collect()
                print(sum(len(list(event.stats)) for event in line.events))
        assert strict == warnings.filters and strict[0][0] == "error"
    """
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert sum(map(int, done.stdout.split())) > 0


def test_what_is_written(tmp_path):
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    with profiler.TraceAnnotation("written"):
        program(lax.iota("float32", 8)).block_until_ready()
    data = profiler.stop_trace()
    assert "written" in durations(data)
    (xplane,) = glob.glob(f"{tmp_path}/plugins/profile/*/*.xplane.pb")
    assert b"written" in pathlib.Path(xplane).read_bytes()
    for read in (
        profiler.ProfileData.from_file(xplane),
        profiler.ProfileData.from_serialized_xspace(pathlib.Path(xplane).read_bytes()),
    ):
        assert "written" in durations(read) and read.find_plane_with_name("/host:CPU") is not None
    (perfetto,) = glob.glob(f"{tmp_path}/plugins/profile/*/perfetto_trace.json.gz")
    with gzip.open(perfetto, "rt") as file:
        shown = json.load(file)["traceEvents"]
    assert any(event.get("name") == "written" for event in shown)


def test_one_trace_at_a_time():
    with pytest.raises(RuntimeError, match="no trace is running; begin one"):
        profiler.stop_trace()
    with profiler.trace() as session:
        with pytest.raises(RuntimeError, match="a trace is running already"):
            profiler.start_trace()
        with pytest.raises(RuntimeError, match="still running"):
            _ = session.planes
    with pytest.raises(ValueError, match="needs a log_dir"):
        profiler.start_trace(create_perfetto_trace=True)
    with profiler.trace(profiler_options=profiler.ProfileOptions()):
        pass


def test_annotations_without_a_trace_and_nested():
    step = profiler.TraceAnnotation("twice")
    with step, step:
        pass
    with pytest.raises(ZeroDivisionError), step:
        raise ZeroDivisionError


def test_memory(tmp_path):
    x = lax.iota("float32", 1000).block_until_ready()
    profile = gzip.decompress(profiler.device_memory_profile())
    assert b"cpu" in profile.lower() and x.shape == (1000,)
    profiler.save_device_memory_profile(tmp_path / "memory.prof", "cpu")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())


def test_the_server_says_who_can_reach_it():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match="no server is running"):
        profiler.stop_server()
    for wrong in (-1, 0, 2**16):
        with pytest.raises(ValueError, match=f"a port is a number from 1 to 65535, got {wrong}"):
            profiler.start_server(wrong)
    with pytest.warns(UserWarning, match=f"port {port} listens on all interfaces"):
        started = profiler.start_server(port)
    with pytest.raises(ValueError, match="running already"):
        profiler.start_server(port)
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        pass
    del started
    profiler.stop_server()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_port_of_another_program_is_refused():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        with pytest.raises(OSError, match=r"start_server: port .* in use; name another one"):
            profiler.start_server(taken.getsockname()[1], all_interfaces=True)
    with pytest.raises(ValueError, match="no server is running"):
        profiler.stop_server()


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system does not list the sockets of a process")
def test_whoever_says_nothing_does_not_hold_the_end_up():
    """XLA's server waits for each connection before it ends: it has none left when it is told to."""
    port = free_port()
    profiler.start_server(port, all_interfaces=True)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as silent:
        while not has_accepted(silent):
            time.sleep(0.01)
        server._end_connections(port)
        while silent.recv(1000):
            pass  # what it said before
        socket.create_connection(("127.0.0.1", port), timeout=60).close()  # it listens on
        profiler.stop_server()


def has_accepted(connection):
    """Whether this process has the other end, too."""
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.family != socket.AF_UNIX and one.getpeername()[1] == connection.getsockname()[1]:
                        return True
    return False


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system does not list the files of a process")
def test_looking_for_connections_opens_nothing_that_stays(tmp_path):
    with open(tmp_path / "a file", "w"), socket.socket():
        before = os.listdir("/dev/fd")
        server._end_connections(free_port())
        assert os.listdir("/dev/fd") == before
