"""The table of dtypes of the process."""

from rabbet.dtypes.table import DTypeTable

table = DTypeTable()
