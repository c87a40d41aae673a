"""A target: one kind of file that is damaged and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path


class Target:
    """A kind of file to damage.

    Args:
        folder: an empty folder for its files.
    """

    weight = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def damage(self, draw: random.Random) -> int:
        """Write a damaged file; returns its size."""
        raise NotImplementedError

    def use(self) -> None:
        """Read it."""
        raise NotImplementedError
