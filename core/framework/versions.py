"""The version of this library."""

from __future__ import annotations

from pathlib import Path


def _installed() -> str:
    """The version in the name of the folder that an installation puts beside the package."""
    beside = list(Path(__file__).parents[2].glob("pinnace-*.dist-info"))
    if len(beside) == 1:
        return beside[0].name.removeprefix("pinnace-").removesuffix(".dist-info")
    # Editable installs have their metadata elsewhere. Importing the module that finds and parses
    # them takes 15 ms, a fifth of a first call.
    from importlib import metadata

    return metadata.version("pinnace")


VERSION = _installed()
