"""The table of splits with all its rules: for calls, for branches and loops, for ``checkpoint``."""

from rabbet_autodiff import checkpoint_splitting, control_flow_splitting
from rabbet_autodiff.splitting import rule_of, splits

__all__ = ["checkpoint_splitting", "control_flow_splitting", "rule_of", "splits"]
