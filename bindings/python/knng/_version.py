"""The version of the package: the library's that it was written for."""
__version__ = "0.9.0"
