"""Compiled functions as portable artifacts: written here, run by other versions, processes and JAX's loader.

``export(jit(f))(*types)`` traces and lowers a function for argument types and returns an ``Exported``:
StableHLO in a versioned form, the structure and types of arguments and results, and the platforms that it is
for. ``serialize`` makes bytes of it, ``deserialize`` reads them, ``call`` runs it::

    exported = export.export(rb.jit(f))(rb.ShapeDtypeStruct((3,), "float32"))
    exported.call(x)
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.export.errors import ExportError
from rabbet.export.checks import DisabledSafetyCheck
from rabbet.export.exported import Exported
from rabbet.export.exporting import (
    default_export_platform, export, maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)  # fmt: skip
from rabbet.export.deserializing import deserialize
from rabbet.export.symbolic.bounds import max_dim, min_dim
from rabbet.export.symbolic.parsing import (
    is_symbolic_dim, symbolic_args_specs, symbolic_dim_bounds, symbolic_shape,
)  # fmt: skip
from rabbet.export.symbolic.scopes import SymbolicScope
from rabbet.export.saved_model import write_saved_model
from rabbet.export.trees import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck", "ExportError", "Exported", "SymbolicScope", "default_export_platform",
    "deserialize", "export", "is_symbolic_dim", "max_dim", "maximum_supported_calling_convention_version",
    "min_dim", "minimum_supported_calling_convention_version", "register_namedtuple_serialization",
    "register_pytree_node_serialization", "symbolic_args_specs", "symbolic_dim_bounds", "symbolic_shape",
    "write_saved_model",
]  # fmt: skip

_public_module(globals())
