"""Programs to StableHLO text: ``lower_program`` writes a module, ``constants`` its literals, ``locations``
its source positions.
"""

__passes_operations_on__ = True
