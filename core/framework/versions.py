"""The version of this library."""

from importlib import metadata

VERSION = metadata.version("pinnace")
