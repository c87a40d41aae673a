"""What is saved of an object that stands for a resource: functions that make, fill and end it."""

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
    """A resource of one's own, which functions capture and SavedModels hold.

    A subclass defines `_create_resource`, which gives a handle made by ops, and `_initialize` if
    what is behind it must be filled.

    Args:
        device: accepted; there is one.
    """

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Nothing: what is behind the handle is made anew by `_initialize`."""
        return {}

    def _functions_for_saving(self) -> dict[str, Any]:
        found: dict[str, Any] | None = self.__dict__.get("_saving")
        if found is None:
            found = functions_for_saving(self)
            object.__setattr__(self, "_saving", found)
        return dict(found)


__all__ = ["TrackableResource", "functions_for_saving"]
