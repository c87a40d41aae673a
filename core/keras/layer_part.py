"""LayerPart: a part of a layer or model with its own subject and state."""

from __future__ import annotations

import copy
from typing import Any, Self


class LayerPart:
    """A part of a layer, as an attribute of it.

    It is not a Trackable, so its contents are no children of the layer: its lists and dicts stay
    plain, and checkpoints do not see them.

    Args:
        owner: the layer.
    """

    _owner: Any

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def of(self, owner: Any) -> Self:
        """This part if it belongs to the owner, else a copy for it, since the owner is a copy."""
        if self._owner is owner:
            return self
        twin = copy.copy(self)
        twin._owner = owner
        return twin
