"""NVIDIA GPUs as a Rabbet backend: loads the CUDA PJRT plugin from its own wheel.

The wheels `jax-cuda13-pjrt` and `jax-cuda12-pjrt` (extras `cuda13` and `cuda12`) carry the library, and
`jax-cuda13-plugin` and `jax-cuda12-plugin` the native functions for linear algebra; jax is not needed.
Four settings of its own, read when the client is made:

RABBET_CUDA_MEMORY_FRACTION=0.5   how much of a GPU's memory the allocator may take;
RABBET_CUDA_ALLOCATOR             `bfc` (default), `async` (CUDA's own pool) or `platform` (none, slow);
RABBET_CUDA_PREALLOCATE=1         take that much at the start; by default memory is taken as it is needed;
RABBET_CUDA_VISIBLE_DEVICES=0,2   the GPUs to use, by number; by default all.

What was run on a GPU, and what fails there, is in docs/platforms.md.
"""

from rabbet.extend.backend import CApiBackend
from rabbet.extend.transform import RuleSet

from rabbet_pjrt_cuda import cuda_installation, native_functions, gpu_targets
from rabbet_pjrt_cuda.settings import SETTINGS, options

NAME = "cuda"


def topology(name, **options):
    """Describe GPUs that need not be here, such as 'h100', for ahead-of-time compilation.

    Args:
      name: one of `targets.known()`, with a number of GPUs behind a colon if it is not one (`'h100:4'`; on
        several hosts `'h100:32x8'`); the
        path of a file with a GpuTargetConfigProto as text; or `'local'`, for the GPUs of this machine.
      options: for the plugin.

    Raises ConfigError for another name.
    """
    make = gpu_targets.maker(name, options)  # before anything is loaded
    BACKEND.plugin.load()
    return make()


def lacks(op):
    """Why GPUs cannot do an operation that Rabbet offers; None for all others."""
    if op.primitive.name in ("hessenberg", "schur"):
        return "neither cuSOLVER nor XLA has it for GPUs; run this part on the CPU"
    return None


LINALG = "rabbet.lax.linalg"
CONVOLUTION = "rabbet_convolution"
LOWERINGS = RuleSet("lower")
LOWERINGS.later("rabbet_pjrt_cuda.lowering.contractions", "dot_general")
LOWERINGS.later("rabbet_pjrt_cuda.lowering.few_bits", "convert_element_type", "pad")
LOWERINGS.later("rabbet_pjrt_cuda.lowering.convolutions", "conv_general_dilated", owner=CONVOLUTION)
LOWERINGS.later(
    "rabbet_pjrt_cuda.lowering.factors", "cholesky", "lu", "lu_pivots_to_permutation", owner=LINALG
)
LOWERINGS.later(
    "rabbet_pjrt_cuda.lowering.orthogonal", "geqp3", "geqrf", "householder_product", "ormqr", owner=LINALG
)  # fmt: skip
LOWERINGS.later("rabbet_pjrt_cuda.lowering.solving", "tridiagonal_solve", owner=LINALG)
LOWERINGS.later("rabbet_pjrt_cuda.lowering.spectral", "eig", "eigh", "svd", "tridiagonal", owner=LINALG)

BACKEND = CApiBackend(
    NAME,
    cuda_installation.library,
    options=options,
    priority=200,
    package=cuda_installation.package,
    advice=cuda_installation.ADVICE,
    fits=cuda_installation.fits,
    hardware=cuda_installation.hardware,
    checks=cuda_installation.checks,
    topology=topology,
    topology_memory=gpu_targets.memory,
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "complex64 complex128".split()
    ),
    lowerings=LOWERINGS,
    lacks=lacks,
    provide_calls=lambda called: native_functions.provide(called, BACKEND),
    python_call="xla_ffi_python_gpu_callback",
    settings=SETTINGS,
)
