"""`tf.config.experimental`: older names, and settings that concern GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from pinnace.framework.config import disable_op_determinism as disable_op_determinism
from pinnace.framework.config import enable_op_determinism as enable_op_determinism
from pinnace.framework.devices import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from pinnace.framework.devices import get_device_details as get_device_details
from pinnace.framework.devices import (
    get_logical_device_configuration as get_virtual_device_configuration,
)
from pinnace.framework.devices import get_memory_growth as get_memory_growth
from pinnace.framework.devices import get_memory_info as get_memory_info
from pinnace.framework.devices import get_memory_usage as get_memory_usage
from pinnace.framework.devices import get_visible_devices as get_visible_devices
from pinnace.framework.devices import list_logical_devices as list_logical_devices
from pinnace.framework.devices import list_physical_devices as list_physical_devices
from pinnace.framework.devices import reset_memory_stats as reset_memory_stats
from pinnace.framework.devices import (
    set_logical_device_configuration as set_virtual_device_configuration,
)
from pinnace.framework.devices import set_memory_growth as set_memory_growth
from pinnace.framework.devices import set_visible_devices as set_visible_devices

__all__ = [
    "VirtualDeviceConfiguration",
    "disable_mlir_bridge",
    "disable_op_determinism",
    "enable_mlir_bridge",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "reset_memory_stats",
    "set_device_policy",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]

_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")


@dataclass(slots=True)
class _Kept:
    """Settings without effect, stored so that they can be read back."""

    policy: str = "silent"
    tensor_float: bool = True


_kept = _Kept()


def get_device_policy() -> str:
    """The policy given to `set_device_policy`."""
    return _kept.policy


def set_device_policy(device_policy: str | None) -> None:
    """Set the handling of tensors on other devices; without effect, as there is one device.

    Raises:
        ValueError: the policy is unknown.
    """
    chosen = device_policy or "silent"
    if chosen not in _POLICIES:
        raise ValueError(
            f"set_device_policy: must be one of {', '.join(_POLICIES)}, got {device_policy!r}"
        )
    _kept.policy = chosen


def get_synchronous_execution() -> bool:
    """Whether ops have finished when they return: always."""
    return True


def set_synchronous_execution(enable: bool | None) -> None:
    """Set whether ops have finished when they return.

    Raises:
        ValueError: asked for ops that are not: there is no such mode.
    """
    if enable is False:
        raise ValueError("set_synchronous_execution: ops are always done when they return")


def tensor_float_32_execution_enabled() -> bool:
    """The flag set by `enable_tensor_float_32_execution`; a CPU does not round this way."""
    return _kept.tensor_float


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow GPUs to round factors of float32 products; stored without effect."""
    _kept.tensor_float = bool(enabled)


def enable_mlir_bridge() -> None:
    """Accepted without effect: it selects a compiler of TensorFlow."""


def disable_mlir_bridge() -> None:
    """Accepted without effect: it selects a compiler of TensorFlow."""
