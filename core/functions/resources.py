"""The saved form of a resource object: functions that create, initialise and destroy it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import resources
from pinnace.framework.dtypes import int32
from pinnace.functions.function import Function
from pinnace.ops.array import constants

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def functions_for_saving(resource: Any) -> dict[str, Function]:
    """The functions of a resource, by the names under which they are saved."""

    def initialise() -> Tensor:
        resource._initialize()
        return constants.constant(1, int32)

    return {
        "_create_resource": Function(resource._create_resource, (), name="creator"),
        "_initialize": Function(initialise, (), name="initializer"),
        "_destroy_resource": Function(lambda: constants.constant(1, int32), (), name="destroyer"),
    }


class TrackableResource(resources.TrackableResource):
    """A user-defined resource, which functions capture and SavedModels contain.

    A subclass defines `_create_resource`, which returns a handle made by ops, and `_initialize` if
    the resource must be initialised.

    Args:
        device: accepted; there is one.
    """

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Empty: the resource is recreated by `_initialize`."""
        return {}

    def _functions_for_saving(self) -> dict[str, Any]:
        found: dict[str, Any] | None = self.__dict__.get("_saving")
        if found is None:
            found = functions_for_saving(self)
            object.__setattr__(self, "_saving", found)
        return dict(found)


__all__ = ["TrackableResource", "functions_for_saving"]
