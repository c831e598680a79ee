"""Plugins: what is installed, and how it is loaded.

Every backend, transformation and dtype is a package of its own that announces itself by entry
points (DESIGN, section 7).

=================  ====================================================================================
``discovery``      what is installed, from package metadata alone
``records``        what became of each plugin: found, loaded, failed and why
``selection``      what the settings switch off, and whom they prefer
``manager``        `PluginManager`: checks, imports and remembers; one default per process
``api``            ``rb.<name>`` for names that plugins provide
``hookspecs``      every hook, one sentence each
``hooks``          calling hooks without letting a hook break anything
=================  ====================================================================================

Importing this package imports none of them.
"""
