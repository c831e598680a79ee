"""Entries of the program cache that are not what they should be: compiled again, and never a wrong result.

    python tools/check/fuzz/cache_entries.py --count 1000
    python tools/check/fuzz/cache_entries.py --from 500 --count 1      # one, with its number

A few programs are compiled and kept, in a folder of their own or one that is shared. Then an entry is
changed: cut, bits turned, blocks exchanged, another program's entry in its place, one that another user or
another jaxlib has made, one whose signature is right and whose contents are none, something that is no file.
All programs run again as in a new process. A fault: a result that is not that of before, an error, the end of
the process, and a changed entry of which nobody is told, unless this user does not look at it.
"""

import argparse
import collections
import os
import random
import shutil
import stat
import sys
import tempfile
import warnings
from pathlib import Path

X = [0.5, 1.0, -2.0]
WAYS = (
    "cut",
    "bits",
    "block",
    "longer",
    "empty",
    "noise",
    "exchanged",
    "of another user",
    "unsigned",
    "of another jaxlib",
    "older format",
    "garbage under a right checksum",
    "program cut under a right checksum",
    "bomb",
    "for all to write",
    "link",
    "pipe",
    "folder",
    "gone",
    "owner",
)


def programs():
    """Functions whose results tell them apart."""
    import rabbet.numpy as rnp

    return [lambda x, i=i: rnp.sin(x) * (i + 1) + rnp.sum(x) - i for i in range(4)]


def entries(folder):
    return sorted(path for path in folder.iterdir() if path.name.endswith(".program"))


def changed(path, others, way, rng, owner):
    """Change an entry; returns whether a program that looks for it must say so."""
    from rabbet.runtime.caching import disk_cache

    content, key = path.read_bytes(), path.name.partition(".")[0]
    if way == "cut":
        path.write_bytes(content[: rng.randrange(len(content))])
    elif way == "bits":
        bits = bytearray(content)
        for _ in range(rng.choice([1, 1, 8])):
            bits[rng.randrange(len(bits))] ^= 1 << rng.randrange(8)
        path.write_bytes(bits)
        return bytes(bits) != content
    elif way == "block":
        at, size = rng.randrange(len(content)), rng.randrange(1, 512)
        block = rng.choice([bytes(size), rng.randbytes(size), content[:size]])[: len(content) - at]
        path.write_bytes(content[:at] + block + content[at + len(block) :])
        return path.read_bytes() != content
    elif way == "longer":
        path.write_bytes(content + rng.randbytes(rng.randrange(1, 100)))
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "noise":
        path.write_bytes(rng.randbytes(rng.randrange(1, 4000)))
    elif way == "exchanged":
        other = rng.choice(others)
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif way == "of another user":  # signed, with the key of somebody else
        path.write_bytes(disk_cache.pack(key, b"evil", rng.randbytes(32)))
    elif way == "unsigned":  # what a folder of one's own has, in one that is shared, and the other way round
        blob = disk_cache.unpack(key, content, owner)
        path.write_bytes(disk_cache.pack(key, blob, None if owner else rng.randbytes(32)))
    elif way == "of another jaxlib":  # there the key is another
        blob = disk_cache.unpack(key, content, owner)
        path.write_bytes(disk_cache.pack(rng.randbytes(32).hex(), blob, owner))
    elif way == "older format":
        path.write_bytes(content.replace(b"program-2", b"program-1", 1))
    elif way == "garbage under a right checksum":
        path.write_bytes(disk_cache.pack(key, rng.randbytes(rng.randrange(2000)), owner))
    elif way == "program cut under a right checksum":
        blob = disk_cache.unpack(key, content, owner)
        path.write_bytes(disk_cache.pack(key, blob[: rng.randrange(len(blob))], owner))
    elif way == "bomb":  # a small file that would be large
        path.write_bytes(disk_cache.pack(key, bytes(50_000_000), owner))
    elif way == "for all to write":
        path.chmod(0o666)
    elif way == "owner":
        if os.geteuid() != 0:
            return False
        os.chown(path, 12345, 12345)
    elif way in ("link", "pipe", "folder", "gone"):
        path.unlink()
        if way == "link":
            path.symlink_to(rng.choice([others[0], path, "/dev/zero", "/nowhere"]))
        elif way == "pipe":
            os.mkfifo(path)
        elif way == "folder":
            path.mkdir()
        return way != "gone"
    return True


def results(folder):
    """What all programs give, in a folder, as if this process were new; and the warnings."""
    import rabbet as rb
    from rabbet.runtime.caching import disk_cache

    rb.clear_caches()
    disk_cache.caches.clear()
    here = rb.config.override(cache=True, cache_dir=str(folder), cache_min_seconds=0.0, cache_min_bytes=0)
    with here, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = [[float(n).hex() for n in rb.jit(f)(rb.numpy.asarray(X))] for f in programs()]
        hits = disk_cache.info().hits
    return found, [str(warning.message) for warning in heard], hits


def tried(number, pristine, wanted, owner):
    """The way in which entries were changed, and the fault or None."""
    rng = random.Random(f"cache entry {number}")
    way = WAYS[number % len(WAYS)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "cache"
        shutil.copytree(pristine, folder)
        mode = stat.S_IMODE((pristine / "programs").stat().st_mode)
        (folder / "programs").chmod(mode)
        here = entries(folder / "programs")
        rng.shuffle(here)
        audible = changed(here[0], here[1:], way, rng, owner)
        try:
            found, heard, hits = results(folder)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return way, f"{type(error).__name__}: {error!s:.300}"
        if found != wanted:
            return way, f"results are {found}, not {wanted}"
        if audible and not any("compilation cache: entry" in text for text in heard):
            return way, f"nothing is said of it: {heard}"
        if not audible and heard:
            return way, f"it is said that {heard}"
        if hits < len(wanted) - 2:
            return way, f"of the other entries only {hits} were used"
    return way, None


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args(argv)
    from rabbet.runtime.caching import disk_cache, user_key

    counts, faults, before = collections.Counter(), 0, os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = place  # for a key of this user's
        try:
            for kind, mode in (("own", 0o700), ("shared", 0o777)):
                folder = Path(place) / kind
                (folder / "programs").mkdir(parents=True)
                (folder / "programs").chmod(mode)
                wanted, heard, _ = results(folder)
                assert not heard and len(entries(folder / "programs")) >= len(wanted), heard
                owner = user_key.user_key(disk_cache.not_ours) if kind == "shared" else None
                half = options.count // 2 + (options.count % 2 and kind == "own")
                for number in range(options.start, options.start + half):
                    way, fault = tried(number, folder, wanted, owner)
                    counts[way, kind] += 1
                    if fault:
                        faults += 1
                        print(f"FOUND {number} ({kind}): {way}: {fault}", flush=True)
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before
    for (way, kind), count in sorted(counts.items()):
        print(f"{way}, {kind}: {count}")
    print(f"{sum(counts.values())} entries, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
