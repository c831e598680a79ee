"""What anybody who reaches its port sends to a profile server: the process computes on, the server answers.

    python tools/check/fuzz/profile_server.py --count 500

A child starts the server and computes. It is sent noise, the beginnings of HTTP/2 with wrong frames, requests
for profiles with wrong messages, connections that say nothing and stay. A fault: the child ends, its results
change, its server takes no connection any more, or it does not end when it is told to.
"""

import argparse
import collections
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

CHILD = """
import sys, threading
import numpy as np
import rabbet as rb
import rabbet.numpy as rnp

rb.profiler.start_server(int(sys.argv[1]), all_interfaces=True)
step = rb.jit(lambda x: rnp.sin(x) * 2 + rnp.sum(x))
x = np.arange(8, dtype="float32")
wanted = np.asarray(step(x))
print("ready", flush=True)
told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
rounds = 0
while not told.wait(0.01):
    assert np.array_equal(np.asarray(step(x)), wanted)
    rounds += 1
rb.profiler.stop_server()
print("rounds", rounds, flush=True)
"""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WAYS = (
    "noise",
    "preface and noise",
    "frames",
    "a request without a message",
    "a request with a wrong message",
    "http/1",
    "half a preface",
    "nothing",
    "reset",
    "large frames",
)
PATHS = (
    b"/tensorflow.ProfilerService/Profile",
    b"/tensorflow.ProfilerService/Terminate",
    b"/tensorflow.ProfilerService/Monitor",
    b"/tensorflow.ProfilerService/Nothing",
    b"/",
)


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header in HPACK, without indexing and without Huffman's code."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request(rng, message):
    """The frames of one call."""
    head = literal(b":method", b"POST") + literal(b":scheme", b"http") + literal(b":path", rng.choice(PATHS))
    head += literal(b":authority", b"localhost") + literal(b"te", b"trailers")
    head += literal(b"content-type", b"application/grpc")
    size = struct.pack(">BI", 0, rng.choice([len(message)] * 4 + [0, 2**31, 2**32 - 1]))
    return frame(4, 0, 0, b"") + frame(1, 4, 1, head) + frame(0, 1, 1, size + message)


def sent(way, rng):
    """The bytes of one connection."""
    if way == "noise":
        return rng.randbytes(rng.randrange(1, 5000))
    if way == "preface and noise":
        return PREFACE + rng.randbytes(rng.randrange(1, 5000))
    if way == "frames":
        return PREFACE + b"".join(
            frame(
                rng.randrange(12), rng.randrange(256), rng.randrange(2**32), rng.randbytes(rng.randrange(60))
            )
            for _ in range(rng.randrange(1, 30))
        )
    if way == "a request without a message":
        return PREFACE + request(rng, b"")
    if way == "a request with a wrong message":
        return PREFACE + request(rng, rng.randbytes(rng.randrange(1, 200)))
    if way == "http/1":
        return b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: " + b"b" * rng.randrange(100_000) + b"\r\n\r\n"
    if way == "half a preface":
        return PREFACE[: rng.randrange(1, len(PREFACE))]
    if way == "large frames":
        return PREFACE + frame(4, 0, 0, b"") + struct.pack(">I", 0xFFFFFF)[1:] + bytes(6) + bytes(200_000)
    return b""


def connected(port, way, rng):
    """One connection; it is returned where it is to stay open."""
    one = socket.create_connection(("127.0.0.1", port), timeout=20)
    one.settimeout(0.2)
    try:
        one.sendall(sent(way, rng))
        if way == "reset":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif way != "nothing":
            one.recv(1000)
    except OSError:  # it refuses to listen, or says nothing: either is well
        pass
    if way == "nothing" or rng.random() < 0.1:
        return one
    one.close()
    return None


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--ways", help="some of them, separated by commas")
    options = parser.parse_args(argv)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.TemporaryDirectory()  # for what it records when it is asked to
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.name,
    )  # fmt: skip
    ways = options.ways.split(",") if options.ways else WAYS
    counts, faults, open_ones = collections.Counter(), [], []
    try:
        if child.stdout.readline() != "ready\n":
            raise RuntimeError(f"it does not start: {child.communicate()[1][-2000:]}")
        for number in range(options.count):
            rng, way = random.Random(f"connection {number}"), ways[number % len(ways)]
            counts[way] += 1
            try:
                kept = connected(port, way, rng)
            except OSError as error:
                faults.append(f"{number}: {way}: no connection: {error}")
                break
            open_ones += [kept] if kept else []
            if child.poll() is not None:
                faults.append(f"{number}: {way}: the process ended with {child.returncode}")
                break
        began = time.monotonic()
        try:
            said, errors = child.communicate("\n", timeout=120)
        except subprocess.TimeoutExpired:
            faults.append(f"it does not end, with {len(open_ones)} connections open")
        else:
            if child.returncode or "rounds" not in said:
                faults.append(f"it ended with {child.returncode}: {errors[-2000:]}")
            print(said.strip(), f"ended {time.monotonic() - began:.1f} s after it was told to")
    finally:
        for one in open_ones:
            one.close()
        child.kill()
        child.communicate()  # closes its pipes
        folder.cleanup()
    for way, count in sorted(counts.items()):
        print(f"{way}: {count}")
    print(*(f"FOUND {fault}" for fault in faults), sep="\n")
    print(f"{sum(counts.values())} connections, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
