"""State of the eager context: whether code runs at once, and on which device."""

from __future__ import annotations

from pinnace.framework.context import executing_eagerly
from pinnace.framework.device_spec import DeviceSpec
from pinnace.framework.devices import list_logical_devices, list_physical_devices

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class Context:
    """The one context there is."""

    def executing_eagerly(self) -> bool:
        """Whether ops run at once, rather than into a graph."""
        return executing_eagerly()

    @property
    def device_name(self) -> str:
        """The one device there is."""
        return _DEVICE

    @property
    def device_spec(self) -> DeviceSpec:
        """The device's name, parsed into its parts."""
        return DeviceSpec.from_string(_DEVICE)

    def num_gpus(self) -> int:
        """None: there are no GPUs."""
        return 0


_CONTEXT = Context()


def context() -> Context:
    """The one context there is."""
    return _CONTEXT


def num_gpus() -> int:
    """None: there are no GPUs."""
    return 0


__all__ = [
    "Context",
    "context",
    "executing_eagerly",
    "list_logical_devices",
    "list_physical_devices",
    "num_gpus",
]
