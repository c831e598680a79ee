"""The version of core, which plugins are checked against."""

VERSION = "0.1.0"
