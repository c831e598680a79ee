// gelu with tanh, element by element: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
#include <cmath>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::F32>;

static ffi::Error GeluF32(Array x, ffi::Result<Array> out) {
  const float* in = x.typed_data();
  float* result = out->typed_data();
  const int64_t n = x.element_count();
  for (int64_t i = 0; i < n; ++i) {
    const float v = in[i];
    result[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(FusedGeluF32, GeluF32, ffi::Ffi::Bind().Arg<Array>().Ret<Array>());
