"""Objects that stand for a resource that is no variable: tables and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pinnace.framework.autotrackable import AutoTrackable

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class TrackableResource(AutoTrackable):
    """An object with a handle that functions capture.

    It is saved with three functions: `_create_resource`, `_initialize` and `_destroy_resource`.
    """

    # What checkpoints call its values: TensorFlow's name, which comes before each suffix.
    _legacy_saveable_name: ClassVar[str] = "table"

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Its values by the suffixes of their keys, if it has any that change."""
        stored = getattr(self._resource(), "stored_values", None)
        return {} if stored is None else dict(stored())

    def _restore_from_tensors(self, values: dict[str, Any]) -> None:
        """Take values as `_serialize_to_tensors` gave them."""
        restore = getattr(self._resource(), "restore_values", None)
        if restore is not None:
            restore(values)

    def _resource(self) -> object:
        return np.asarray(self.resource_handle._array)[()]

    @property
    def resource_handle(self) -> Tensor:
        """The handle that functions take."""
        raise NotImplementedError
