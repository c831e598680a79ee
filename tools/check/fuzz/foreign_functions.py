"""Hostile libraries and odd calls of them through ``rabbet.ffi``: a clear error or the right values.

    python tools/check/fuzz/foreign_functions.py --count 1000
    python tools/check/fuzz/foreign_functions.py --from 517 --count 1      # one, with its number

A small library of C++ is compiled, whose functions do what they say, take other operands or attributes than
they are given, return errors of each kind with odd texts, or throw, at once or in an earlier stage. Some
calls are sound, others have odd names, shapes, layouts, aliases and attributes; all are made op by op,
jitted, in loops, mapped, and by several threads at once. A fault: the process ends or hangs, a value is
wrong, an error is none of those that such calls may raise, or does not say what it is about.

Functions with another interface than XLA's are not among them: what they do to memory nobody can guard.
"""

import argparse
import collections
import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from pathlib import Path

BATCH, SECONDS = 50, 240
SOURCE = r"""
#include <new>
#include <stdexcept>
#include <string>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

ffi::Error Sound(float by, In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = by * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzSound, Sound, ffi::Ffi::Bind().Attr<float>("by").Arg<In>().Ret<In>());

ffi::Error Fails(int64_t code, std::string_view text, In x, Out y) {
  return ffi::Error(static_cast<ffi::ErrorCode>(code), std::string(text));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzFails, Fails, ffi::Ffi::Bind().Attr<int64_t>("code")
    .Attr<std::string_view>("text").Arg<In>().Ret<In>());

ffi::Error Says(int64_t kind, In x, Out y) {  // texts that an attribute cannot hold
  if (kind == 0) return ffi::Error::Internal(std::string(1 << 20, 'x'));
  if (kind == 1) return ffi::Error::Internal(std::string("before\0after", 12));
  if (kind == 2) return ffi::Error::Internal("no \xff\xfe text");
  if (kind == 3) return ffi::Error::Internal("");
  return ffi::Error::Internal("%s %n {} \x1b[31m\r\n");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzSays, Says, ffi::Ffi::Bind().Attr<int64_t>("kind").Arg<In>().Ret<In>());

void throwing(int64_t kind) {
  if (kind == 0) throw std::runtime_error("thrown as such");
  if (kind == 1) throw 7;
  if (kind == 2) throw "a text";
  if (kind == 3) throw std::bad_alloc();
  if (kind == 4) throw std::runtime_error("thrown \xff");
  struct Own {};
  throw Own();
}
ffi::Error Throws(int64_t kind, In x, Out y) { throwing(kind); return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzThrows, Throws,
    ffi::Ffi::Bind().Attr<int64_t>("kind").Arg<In>().Ret<In>());

ffi::Error Early(int64_t kind) {
  if (kind < 0) return ffi::Error::InvalidArgument("too early");
  throwing(kind);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzPrepares, Early,
    ffi::Ffi::Bind<ffi::ExecutionStage::kPrepare>().Attr<int64_t>("kind"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzInitializes, Early,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Attr<int64_t>("kind"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzInstantiates, Early,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInstantiate>().Attr<int64_t>("kind"));
ffi::Error Late(int64_t kind, In x, Out y) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzLate, Late, ffi::Ffi::Bind().Attr<int64_t>("kind").Arg<In>().Ret<In>());

ffi::Error Several(In a, ffi::Buffer<ffi::S32> b, ffi::BufferR2<ffi::F32> c, Out x,
                   ffi::ResultBuffer<ffi::S32> y) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(FuzzSeveral, Several, ffi::Ffi::Bind().Arg<In>().Arg<ffi::Buffer<ffi::S32>>()
    .Arg<ffi::BufferR2<ffi::F32>>().Ret<In>().Ret<ffi::Buffer<ffi::S32>>());

static XLA_FFI_Error* Silent(XLA_FFI_CallFrame* frame) { return nullptr; }
extern "C" XLA_FFI_Error* FuzzSilent(XLA_FFI_CallFrame* frame) { return Silent(frame); }  // tells no version
"""
STAGES = {"instantiate": "FuzzInstantiates", "prepare": "FuzzPrepares", "initialize": "FuzzInitializes"}
UNUSED = ("prepare", "initialize")  # XLA's CPU runs neither, and a warning says so
PLAIN = ("Sound", "Fails", "Says", "Throws", "Several", "Silent")
TEXTS = ("", "a text", "two\nlines", 'quoted "so" \\ %s {}', "ünïcode ٣", "x" * 5000, "\x1b[31m")
RUNS = ("eager", "jit", "loop", "cond", "vmap", "threads", "grad")
# What such calls may raise; every other kind, such as a KeyError, is a fault.
MAY = ("ValueError", "TypeError", "XlaRuntimeError", "JaxRuntimeError", "RuntimeError")


def library(folder):
    """The library's path, compiled."""
    from rabbet import ffi

    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise SystemExit("foreign_functions.py needs a C++ compiler (g++ or clang++)")
    source, made = folder / "hostile.cc", folder / "hostile.so"
    source.write_text(SOURCE)
    flags = ["-std=c++17", "-O0", "-w", "-fPIC", "-shared", f"-I{ffi.include_dir()}"]
    subprocess.run([compiler, *flags, "-o", made, source], check=True)
    return made


def registered(path):
    from rabbet import ffi

    found = ctypes.CDLL(str(path))
    for name in PLAIN:
        try:
            ffi.register_ffi_target(f"fuzz_{name.lower()}", ffi.pycapsule(getattr(found, f"Fuzz{name}")))
        except RuntimeError:  # refused at once, where a client is there
            if name != "Silent":
                raise
    for stage, name in STAGES.items():
        parts = {stage: ffi.pycapsule(getattr(found, name)), "execute": ffi.pycapsule(found.FuzzLate)}
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            ffi.register_ffi_target(f"fuzz_{stage}", parts)
        if stage in UNUSED and not any("XLA does not run" in str(one.message) for one in heard):
            raise SystemExit(f"nobody says that {stage!r} is left out")


def hostile(rng):
    """A name, operands, attributes of a function that does not do what it should, and words of its error."""
    way = rng.choice(
        ["fails", "fails", "says", "throws", "instantiate", "prepare", "initialize", "several", "signature"]
    )
    x = rng.choice(["f3", "f0", "f", "f23"])
    if way == "fails":
        code, text = rng.randrange(1, 17), rng.choice(TEXTS)
        return "fuzz_fails", [x], {"code": code, "text": text}, text.splitlines()[:1]
    if way == "says":
        return "fuzz_says", [x], {"kind": rng.randrange(5)}, []
    if way == "throws":
        kind = rng.randrange(6)
        return "fuzz_throws", [x], {"kind": kind}, ["thrown"] if kind in (0, 4) else []
    if way in STAGES:
        kind = rng.randrange(-1, 6)
        return f"fuzz_{way}", [x], {"kind": kind}, ["too early"] if kind < 0 else []
    if way == "several":
        operands = [rng.choice(["f3", "i3", "f23", "f", "h3", "b3"]) for _ in range(rng.randrange(5))]
        return "fuzz_several", operands, {}, []
    given = rng.choice([{}, {"by": 2.0}, {"by": 2}, {"by": "two"}, {"by": True}, {"with": 1}, {"by": (1,)}])
    return "fuzz_sound", [rng.choice(["i3", "h3", "b3", "f3"])], given, []


def odd(rng):
    """Arguments of ``ffi_call`` and attributes, one of which is not what it should be."""
    import numpy as np
    import rabbet as rb

    nested = []
    nested.append(nested)
    options, attributes, name, result = {}, {}, "fuzz_sound", rb.ShapeDtypeStruct((3,), "float32")
    where = rng.randrange(7)
    if where == 0:
        name = rng.choice(
            ["", "\0", "a\0b", "nothing", 'x"y', "x" * 10_000, 7, None, b"fuzz_sound", "x y\n", "é"]
        )
    elif where == 1:
        struct = lambda shape, dtype: types.SimpleNamespace(shape=shape, dtype=rb.numpy.dtype(dtype))
        result = rng.choice(
            [
                None, [], (), "x", 3, struct((-3,), "float32"), struct((2**62,), "float32"),
                struct((3,), "int4"), struct((3,), "float8_e4m3fn"), struct((3,), "complex64"),
                [struct((3,), "float32")] * 2, {"a": struct((3,), "float32")}, struct((), "bool"), np.ones(3),
            ]
        )  # fmt: skip
    elif where == 2:
        options["vmap_method"] = rng.choice(["", "sequentially", 3, True, b"sequential", ["sequential"]])
    elif where == 3:
        odd_layouts = [
            [(1,)],
            [(0, 0)],
            [(-1,)],
            [(0, 1)],
            [(0.5,)],
            [],
            [None, None],
            3,
            "x",
            [[]],
            [("0",)],
        ]
        options[rng.choice(["input_layouts", "output_layouts"])] = rng.choice(odd_layouts)
    elif where == 4:
        options["input_output_aliases"] = rng.choice(
            [
                {0: 1},
                {1: 0},
                {-1: 0},
                {0: -1},
                {0.5: 0},
                {"0": 0},
                [0],
                [(0, 0)],
                3,
                {0: None},
                {None: 0},
                {2**70: 0},
            ]
        )
    elif where == 5:
        options["custom_call_api_version"] = rng.choice([-1, 0, 1, 2, 3, 5, 99, 2**40, "4", None, 4.0, True])
        if rng.random() < 0.4:
            options["legacy_backend_config"] = rng.choice(["", "x", "{", b"x", 3, "\0"])
    else:
        attributes = rng.choice(
            [
                {"by": 2**70}, {"by": -(2**63)}, {"by": None}, {"by": nested}, {"by": object()}, {"by": b"x"},
                {"by": np.ones((2, 2))}, {"by": np.ones(2, "complex64")}, {"by": np.array(["a"])},
                {"by": {3: 4}}, {"by": {"a": None}}, {"by": {"": 1}}, {"by": np.uint64(2**64 - 1)},
                {"by": np.ones(3, "uint8")}, {"by": np.datetime64("2020")}, {"by": np.float16(2)}, {"": 1},
                {"a b": 1}, {'a"b': 1}, {"a\0b": 1}, {"by": "\0"}, {"by": "\udcff"}, {"by": float("nan")},
                {"by": 1j}, {"by": {1, 2}}, {"by": ()}, {"by": {}}, {"by": [1, "a", [True]]},
                {"by": range(3)},
                {"by": np.zeros(0)}, {"by": np.array(2.0, "float32")}, {"by": np.array([True, False])},
                {"by": 10**4000}, {"by": "x" * 10**6}, {"é": 1}, {"by": np.longdouble(1)},
            ]
        )  # fmt: skip
    if not attributes:
        attributes = {"by": np.float32(2)}
    return name, result, options, attributes


def operand(kind):
    import numpy as np

    dtype = {"f": "float32", "i": "int32", "h": "float16", "b": "bool"}[kind[0]]
    shape = tuple(map(int, kind[1:]))
    return np.ones(shape, dtype)


def run(way, one, operands):
    """Call a function of arrays in one of the ways."""
    import rabbet as rb
    from rabbet import lax

    if way == "jit":
        return rb.block_until_ready(rb.jit(one)(*operands))
    if way == "loop" and len(operands) == 1:
        return rb.block_until_ready(lax.fori_loop(0, 1, lambda i, x: one(x), operands[0]))
    if way == "cond":
        return rb.block_until_ready(rb.jit(lambda *a: lax.cond(True, one, one, *a))(*operands))
    if way == "vmap" and operands and all(x.ndim for x in operands):
        return rb.block_until_ready(rb.vmap(one)(*operands))
    if way == "grad" and len(operands) == 1:
        return rb.block_until_ready(rb.grad(lambda x: lax.reduce_sum(one(x), axes=(0,)))(operands[0]))
    if way == "threads":
        heard = []

        def task():
            try:
                heard.append(rb.block_until_ready(one(*operands)))
            except BaseException as error:
                heard.append(error)

        threads = [threading.Thread(target=task) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for found in heard:
            if isinstance(found, BaseException):
                raise found
        return heard[0]
    return rb.block_until_ready(one(*operands))


def tried(number):
    """``(kind, outcome, fault or None)`` of one call."""
    import numpy as np
    import rabbet as rb
    from rabbet import ffi

    rng = random.Random(f"foreign function {number}")
    kind, way = ("sound", "hostile", "odd")[number % 3], rng.choice(RUNS)
    words, options = [], {}
    if kind == "sound":
        name, operands, attributes = (
            "fuzz_sound",
            [rng.choice(["f3", "f0", "f", "f23"])],
            {"by": np.float32(2)},
        )
    elif kind == "hostile":
        name, operands, attributes, words = hostile(rng)
    if kind == "odd":
        name, result, options, attributes = odd(rng)
        operands = [np.ones(3, "float32")]
    else:
        operands = [operand(k) for k in operands]
        struct = rb.ShapeDtypeStruct
        result = struct(operands[0].shape, "float32") if operands else struct((3,), "float32")
        if kind == "sound" or rng.random() < 0.5:
            options["vmap_method"] = rng.choice(
                ["sequential", "expand_dims", "broadcast_all", "sequential_unrolled"]
            )
        if way == "vmap":
            result = struct(result.shape[1:], "float32")
    what = (
        f"{kind} {way}: {name!r:.30} {options!r:.60} {attributes!r:.60} of {[str(x.dtype) for x in operands]}"
    )
    try:
        one = lambda *arrays: ffi.ffi_call(name, result, **options)(*arrays, **attributes)
        found = run(way, one, operands)
    except BaseException as error:
        text, its = str(error), type(error).__mro__
        if not any(c.__name__ in MAY for c in its) or "RecursionError" in {c.__name__ for c in its}:
            return kind, "fault", f"{what}: {type(error).__name__}: {text:.300}"
        if kind == "sound" and way != "grad":
            return kind, "fault", f"{what}: a sound call is refused: {type(error).__name__}: {text:.300}"
        if not text.strip() or "nable to parse" in text or "Failed to parse" in text or "expected '" in text:
            return kind, "fault", f"{what}: an unclear error: {type(error).__name__}: {text:.300}"
        if way not in ("grad", "vmap", "loop", "cond") and any(word not in text for word in words):
            return kind, "fault", f"{what}: the error does not say {words}: {text:.300}"
        return kind, "refused", None
    said_so = name.removeprefix("fuzz_") in UNUSED
    if kind == "hostile" and name != "fuzz_sound" and not said_so and operands and operands[0].size:
        return kind, "fault", f"{what}: nobody is told: {found!r:.100}"
    if name == "fuzz_sound" and kind == "sound" and not np.array_equal(np.asarray(found), 2 * operands[0]):
        return kind, "fault", f"{what}: gave {found!r:.100}"
    return kind, "right" if kind == "sound" else "taken", None


def batch(path, start, count):
    registered(path)
    for number in range(start, start + count):
        print(json.dumps(["at", number]), flush=True)
        print(json.dumps([number, *tried(number)]), flush=True)


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.library:
        return batch(options.library, options.start, options.count)
    counts, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path, number, end = library(Path(folder)), options.start, options.start + options.count
        while number < end:
            command = [sys.executable, __file__, "--library", str(path), "--from", str(number)]
            command += ["--count", str(min(BATCH, end - number))]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, errors="replace", timeout=SECONDS,
                    env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
                )  # fmt: skip
                out, trouble = done.stdout, done.returncode and f"{done.returncode}: {done.stderr[-500:]}"
            except subprocess.TimeoutExpired as error:
                out, trouble = (error.stdout or b"").decode(errors="replace"), f"no end in {SECONDS} s"
            at = number - 1
            for line in out.splitlines():
                if line.startswith('["at"'):
                    at = json.loads(line)[1]
                elif line.startswith("["):
                    at, kind, outcome, fault = json.loads(line)
                    counts[kind, outcome] += 1
                    faults += [f"{at}: {fault}"] if fault else []
            if trouble:
                faults.append(f"{at}: the process ended with {trouble}")
                counts["any", "fault"] += 1
            number = max(at, number) + 1
    for (kind, outcome), count in sorted(counts.items()):
        print(f"{kind}, {outcome}: {count}")
    print(*(f"FOUND {fault}" for fault in faults), sep="\n")
    print(f"{sum(counts.values())} calls, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
