"""Objects that represent a resource other than a variable, such as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class TrackableResource(AutoTrackable):
    """An object with a handle that functions capture.

    It is saved with three functions: `_create_resource`, `_initialize` and `_destroy_resource`.
    """

    def __init__(self, device: str = "") -> None:
        """An object whose handle `_create_resource` makes on first use.

        Args:
            device: accepted; there is one.
        """
        self._resource_device = device

    def _create_resource(self) -> Tensor:
        """A new handle."""
        raise NotImplementedError(
            f"{type(self).__name__}._create_resource must be defined: it gives the handle"
        )

    def _initialize(self) -> None:
        """Initialise the resource."""

    # The name of its values in checkpoints: TensorFlow's, which precedes each suffix.
    _legacy_saveable_name: ClassVar[str] = "table"

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Its mutable values, if any, by key suffix."""
        stored = getattr(self._resource(), "stored_values", None)
        return {} if stored is None else dict(stored())

    def _restore_from_tensors(self, values: dict[str, Any]) -> None:
        """Restore values that `_serialize_to_tensors` returned."""
        restore = getattr(self._resource(), "restore_values", None)
        if restore is not None:
            restore(values)

    def _resource(self) -> object:
        return np.asarray(self.resource_handle._array)[()]

    @property
    def resource_handle(self) -> Tensor:
        """The handle that functions take."""
        found: Tensor | None = self.__dict__.get("_handle")
        if found is None:
            with init_scope():
                found = self._create_resource()
            object.__setattr__(self, "_handle", found)
        return found
