"""A small library of compiled functions, made once per session where there is a compiler."""

import ctypes
import pathlib
import shutil
import subprocess

import pytest
from rabbet import ffi

SOURCE = r"""
#include <cmath>
#include <stdexcept>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

// y = x / sqrt(mean(x * x) + eps) over the last dimension, and the largest |x| of each row.
ffi::Error Norm(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
  ffi::ResultBuffer<ffi::F32> top) { auto dims = x.dimensions();
  int64_t n = dims.back(), rows = x.element_count() / n;
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0, most = 0;
    for (int64_t j = 0; j < n; ++j) {
      float v = x.typed_data()[i * n + j];
      sum += v * v;
      most = std::max(most, std::abs(v));
    }
    for (int64_t j = 0; j < n; ++j) y->typed_data()[i * n + j] = x.typed_data()[i * n + j] / std::sqrt(sum /
    n + eps); top->typed_data()[i] = most;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestNorm, Norm, ffi::Ffi::Bind()
    .Attr<float>("eps").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// out[0] = n + sum(vector) * (flip ? -1 : 1) + the length of the text + number
ffi::Error Attributes(int64_t n, ffi::Span<const float> vector, bool flip, std::string_view text, double
                      number, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  if (n < 0) return ffi::Error::InvalidArgument("n must not be negative");
  float sum = 0;
  for (float v : vector) sum += v;
  float total = n + (flip ? -sum : sum) + text.size() + number;
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = x.typed_data()[i] + total;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestAttributes, Attributes, ffi::Ffi::Bind()
    .Attr<int64_t>("n").Attr<ffi::Span<const
    float>>("vector").Attr<bool>("flip").Attr<std::string_view>("text")
    .Attr<double>("number").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// What lies in memory, in its order.
ffi::Error Raw(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestRaw, Raw, ffi::Ffi::Bind()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

static int calls = 0;
ffi::Error Count(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  ++calls;
  out->typed_data()[0] = x.typed_data()[0];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestCount, Count, ffi::Ffi::Bind()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
extern "C" int rabbet_test_calls() { return calls; }

// What should not be there.
ffi::Error Throws(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out) {
  throw std::runtime_error("thrown in C++");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestThrows, Throws, ffi::Ffi::Bind()
    .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
ffi::Error Garbled(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out) {
  return ffi::Error::Internal("no \xff text");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestGarbled, Garbled, ffi::Ffi::Bind()
    .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
ffi::Error ThrowsSeven(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out) { throw 7; }
XLA_FFI_DEFINE_HANDLER_SYMBOL(RabbetTestThrowsSeven, ThrowsSeven, ffi::Ffi::Bind()
    .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
extern "C" XLA_FFI_Error* RabbetTestVersionless(XLA_FFI_CallFrame*) { return nullptr; }
extern "C" { int rabbet_test_data = 7; }

// The older interface.
extern "C" void rabbet_test_older(void* out, const void** in) {
  for (int i = 0; i < 3; ++i) ((float*)out)[i] = 2 * ((const float*)in[0])[i];
}
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The library, with its functions registered as ``rabbet_test_norm`` and so on."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    folder = pathlib.Path(tmp_path_factory.mktemp("ffi"))
    (folder / "functions.cc").write_text(SOURCE)
    command = [compiler, "-std=c++17", "-O0", "-fPIC", "-shared", f"-I{ffi.include_dir()}", "-o"]
    subprocess.run([*command, folder / "functions.so", folder / "functions.cc"], check=True)
    found = ctypes.CDLL(str(folder / "functions.so"))
    for name in ("Norm", "Attributes", "Raw", "Count", "Throws", "Garbled"):
        capsule = ffi.pycapsule(getattr(found, f"RabbetTest{name}"))
        ffi.register_ffi_target(f"rabbet_test_{name.lower()}", capsule, platform="cpu")
    return found
