"""A transformation: an ``Interpreter``, a ``RuleTable``, ``run``, payloads, custom rules."""

from rabbet.calls.custom_rules import (
    rule_on_payloads,
)
from rabbet.calls.ruled import (
    RuledFunction,
)
from rabbet.errors import (
    MissingRule,
    RuleConflict,
    UnexpectedTracerError,
)
from rabbet.primitives.custom import (
    call as call_with_rules,
)
from rabbet.program.context import (
    context,
)
from rabbet.program.effects import (
    listed as listed_effects,
)
from rabbet.program.python_scalars import (
    adopted_avals,
)
from rabbet.rules.payloads import (
    Batched,
    Dual,
    Linear,
    Zero,
)
from rabbet.rules.tables import (
    Role,
    RuleSet,
    RuleTable,
    all_tables,
    refusing,
)
from rabbet.trace.custom_rules import (
    CustomRule,
    PayloadRule,
)
from rabbet.trace.interpreter import (
    Interpreter,
    Tracer,
    is_tracer,
    payload_of,
    run,
    run_traced,
    typeof,
)
from rabbet.trace.named_axes import (
    bound as bound_axes,
)
from rabbet.trace.named_axes import (
    named as named_axes,
)

__all__ = [
    "Batched",
    "CustomRule",
    "Dual",
    "Interpreter",
    "Linear",
    "MissingRule",
    "PayloadRule",
    "Role",
    "RuleConflict",
    "RuleSet",
    "RuleTable",
    "RuledFunction",
    "Tracer",
    "UnexpectedTracerError",
    "Zero",
    "adopted_avals",
    "all_tables",
    "bound_axes",
    "call_with_rules",
    "context",
    "is_tracer",
    "listed_effects",
    "named_axes",
    "payload_of",
    "refusing",
    "rule_on_payloads",
    "run",
    "run_traced",
    "typeof",
]
