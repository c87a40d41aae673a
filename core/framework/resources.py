"""Objects that stand for a resource that is no variable: tables and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.trackable import AutoTrackable

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class TrackableResource(AutoTrackable):
    """An object with a handle that functions capture.

    It is saved with three functions: `_create_resource`, `_initialize` and `_destroy_resource`.
    """

    @property
    def resource_handle(self) -> Tensor:
        """The handle that functions take."""
        raise NotImplementedError
