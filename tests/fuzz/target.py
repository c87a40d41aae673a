"""What is damaged and read: one kind of file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path


class Target:
    """Something to damage.

    Args:
        folder: empty, for its files.
    """

    weight = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def damage(self, draw: random.Random) -> int:
        """Put a damaged file in place; its size."""
        raise NotImplementedError

    def use(self) -> None:
        """Read it."""
        raise NotImplementedError
