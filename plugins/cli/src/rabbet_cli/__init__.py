"""Further commands of ``rabbet``, found through entry points of the group ``rabbet.commands``."""
