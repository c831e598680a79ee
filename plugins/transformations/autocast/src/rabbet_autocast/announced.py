"""Rules for primitives of other packages, which need not be installed: convolutions."""

from rabbet.extend.transform import RuleSet

RULES = RuleSet("autocast")
RULES.later("rabbet_autocast.convolutions", "conv_general_dilated", owner="rabbet_convolution")
