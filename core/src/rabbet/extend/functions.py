"""A library of functions: making one compiled program of several operations, taking arguments, and errors."""

from rabbet.debug import (
    check_format,
)
from rabbet.errors import (
    ConcretizationTypeError,
    RabbetError,
    TreeError,
)
from rabbet.lax.promotion import (
    cast,
    is_array_like,
    promoted,
    spread,
)
from rabbet.lax.values import (
    as_weak,
)
from rabbet.messages.argument_names import (
    argument_name,
    converted,
    leaf_path,
    parameter_name,
    shown,
)
from rabbet.messages.source_positions import (
    address,
    caller,
    describe_function,
    name_of,
    named_like,
    position,
    stacklevel,
    wraps,
)
from rabbet.messages.tracebacks import (
    fold_public,
    fold_traceback,
    folded,
    folds_itself,
)
from rabbet.program.python_scalars import (
    is_python_scalar,
)
from rabbet.runtime.array import (
    Array,
)
from rabbet.runtime.compiled import call_by_placements, is_evaluating, program_entry
from rabbet.runtime.evaluation import at_once
from rabbet.runtime.fused import (
    fused,
)
from rabbet.runtime.housekeeping import (
    on_clear_caches,
)
from rabbet.runtime.transfer import (
    placeable,
    placed,
)
from rabbet.runtime.values import (
    to_array,
    traceable,
)
from rabbet.tree import (
    broadcast_prefix,
)

__all__ = [
    "Array",
    "ConcretizationTypeError",
    "RabbetError",
    "TreeError",
    "address",
    "argument_name",
    "as_weak",
    "at_once",
    "broadcast_prefix",
    "call_by_placements",
    "caller",
    "cast",
    "check_format",
    "converted",
    "describe_function",
    "fold_public",
    "fold_traceback",
    "folded",
    "folds_itself",
    "fused",
    "is_array_like",
    "is_evaluating",
    "is_python_scalar",
    "leaf_path",
    "name_of",
    "named_like",
    "on_clear_caches",
    "parameter_name",
    "placeable",
    "placed",
    "position",
    "program_entry",
    "promoted",
    "shown",
    "spread",
    "stacklevel",
    "to_array",
    "traceable",
    "wraps",
]
