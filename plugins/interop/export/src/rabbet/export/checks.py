"""What is checked before a program is exported, and how to say that a check is not wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rabbet.export.errors import ExportError
from rabbet.extend.native import all_native_calls

# Native functions that XLA and jaxlib bring along, and keep from version to version.
STABLE = frozenset([
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "LayoutConstraint", "shape_assertion", "stablehlo.dynamic_top_k", "stablehlo.dynamic_approx_top_k",
    "stablehlo.dynamic_rng_bit_generator", "stablehlo.dynamic_reduce_window", "ApproxTopK", "TopK",
    "Qr", "Eigh", "ProductOfElementaryHouseholderReflectors", "LuDecomposition",
    "xla.gpu.ext.top_k", "tf.call_tf_function", "__gpu$TopK",
    *(f"{gpu}_{name}" for gpu in ("cu", "hip") for name in (
        "threefry2x32_ffi", "lu_pivots_to_permutation", "cholesky_update_ffi", "tridiagonal_solve_perturbed",
    )),
])  # fmt: skip
# Families of them: LAPACK's functions by routine and dtype, those of the libraries of CUDA and ROCm.
STABLE_FAMILIES = (
    "lapack_", "cusolver_", "cublas_", "cusparse_", "hipsolver_", "hipblas_", "hipsparse_", "chlo.", "mhlo.",
)  # fmt: skip
# Functions of this process: nobody else can call them.
CALL = re.compile(r'custom_call @(?:"([^"]+)"|([^"(\s]+))\(|call_target_name = "([^"]+)"')
ANY_CALL = re.compile(r"stablehlo\.custom_call")
PYTHON = ("xla_ffi_python_", "xla_python_", "xla_ffi_partitioned_python_")


@dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check that ``export`` and ``Exported.call`` leave out.

    Make one with ``DisabledSafetyCheck.platform()``, for programs that run elsewhere than where they were
    exported for, or ``DisabledSafetyCheck.custom_call(target)``, for a native function that you register
    wherever the artifact is run.

    Example:
      >>> from rabbet.export import DisabledSafetyCheck
      >>> DisabledSafetyCheck.custom_call("norm")
      custom_call:norm
    """

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Run the program on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Export calls of the native function ``target_name``, which nobody promises to keep."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the native function, if this is about one."""
        kind, _, target = self._impl.partition(":")
        return target if kind == "custom_call" else None

    def __str__(self):
        return self._impl

    __repr__ = __str__


def strangers(targets):
    """Those of native functions that neither XLA nor a package promises to keep."""
    promised = [calls for calls in all_native_calls() if calls.stable]
    return sorted(
        t for t in targets
        if t not in STABLE and not t.startswith(STABLE_FAMILIES) and not any(c.knows(t) for c in promised)
    )  # fmt: skip


def check_calls(name, text):
    """Refuse native functions that a program calls that nobody said to trust.

    Raises:
      ExportError: names them, and what to do.
    """
    found = ["".join(each) for each in CALL.findall(text)]
    refused = strangers(set(found))
    if len(found) < len(ANY_CALL.findall(text)):
        refused.append("one whose name cannot be read")
    if refused:
        raise ExportError(
            f"{name!r} was read from bytes, and calls native functions of this process: "
            f"{', '.join(refused)}\n"
            "  to call it nevertheless, if you trust its author: deserialize(blob, trusted=True)"
        )


def check_targets(name, targets, disabled):
    """Refuse native functions that may not be there where the artifact is run.

    Raises:
      ExportError: names them, and what to do.
    """
    allowed = {check.is_custom_call() for check in disabled}
    strange = strangers(targets)
    python = [t for t in strange if t.startswith(PYTHON)]
    if python:
        raise NotImplementedError(
            f"export of {name!r}: the program calls Python functions ({', '.join(python)}), which stay in "
            "this process; leave out callbacks and debug.print"
        )
    refused = [t for t in strange if t not in allowed]
    if refused:
        advice = ", ".join(f"DisabledSafetyCheck.custom_call({t!r})" for t in refused)
        raise ExportError(
            f"export of {name!r}: these native functions may be missing or changed "
            f"where the artifact is run: {', '.join(refused)}\n  to export it nevertheless, give "
            f"disabled_checks=[{advice}]"
        )


__all__ = ["DisabledSafetyCheck", "check_calls", "check_targets"]
