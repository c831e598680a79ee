"""Everything a plugin author may import, besides ``rabbet`` itself: one module for each kind of work.

=====================  ===============================================================================
``transform``          ``Interpreter``, ``run``, ``RuleTable``, and an entry point in ``rabbet.api``;
                       ``RuleSet`` and an entry point in ``rabbet.rules`` for rules between two others
``primitive``          ``Primitive`` with its rules beside it
``dtype``              ``DTypeSpec`` (``rabbet.dtypes``) or ``ExtendedDType``
``backend``            ``Backend`` or ``CApiBackend`` and an entry point in ``rabbet.backends``
``passes``             ``Pass`` and an entry point in ``rabbet.passes``; programs as data
``hooks``              ``hookimpl`` and an entry point in ``rabbet.hooks``
``bodies``             programs within programs, for transformations and primitives that carry some
``functions``          a library of public functions such as ``rabbet.numpy``
=====================  ===============================================================================

What is not in these modules is private and may change. Importing one of them loads nothing else.
"""
