"""What is beside sparse arrays in ``sparsify``: dense values, and the table of rules for both."""

from typing import Any, NamedTuple

from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import RuleTable

rules = RuleTable("sparse", doc="(op, *payloads) -> a sparse array or Dense, or a list of them")


class Dense(NamedTuple):
    """A value that is not sparse."""

    value: Any

    def todense(self):
        """The value."""
        return self.value


densified = Primitive(
    "todense", lambda x: x, kinds=("linear", "elementwise"), operands=("x",), doc="x, no longer sparse"
)


@densified.decompose
def todense_of_array(op, x):
    return x
