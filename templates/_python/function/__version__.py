"""The version of this function."""

__version__ = "0.0.0"
