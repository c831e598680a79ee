"""The table of splits with all its rules: for calls, for branches and loops, for ``checkpoint``."""

from rabbet_autodiff import control, remat
from rabbet_autodiff.splitting import rule_of, splits

__all__ = ["control", "remat", "rule_of", "splits"]
