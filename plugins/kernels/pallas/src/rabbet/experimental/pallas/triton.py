"""What kernels for GPUs through Triton use besides."""

from rabbet_pallas.triton_params import CompilerParams

from rabbet.extend.functions import public_module

__all__ = ["CompilerParams"]
public_module(globals())
