"""Devices by TensorFlow's names: the CPU, which can be split into logical devices.

Programs list and configure GPUs before anything else; since there are none, the lists are empty and
most settings are stored without effect. A setting for a device that does not exist is an error.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.device_spec import DeviceSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as ops see it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """The options of a logical device, which concern GPUs."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


_DEVICE = r"(/?(job:\w+|replica:\d+|task:\d+|(device:)?[A-Za-z][\w]*(:(\d+|\*))?))*"
CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


@dataclass(slots=True)
class _Kept:
    """Settings without effect, stored so that they can be read back."""

    soft_placement: bool = True
    logged: bool = False
    configurations: list[LogicalDeviceConfiguration] | None = None


_kept = _Kept()


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Accept any device for the block's ops, which run on the CPU.

    TensorFlow also places an op elsewhere if the named device does not exist.

    Args:
        device_name: a device such as "/GPU:0", a DeviceSpec, or None, or a function that names one.

    Raises:
        ValueError: the name is not that of a device.
    """
    name = getattr(device_name, "name", device_name)
    if isinstance(name, DeviceSpec):
        name = name.to_string()
    if (
        name is not None
        and not callable(name)
        and not re.fullmatch(_DEVICE, str(name), re.IGNORECASE)
    ):
        raise ValueError(f"device: must look like '/CPU:0', got {device_name!r}")
    yield


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine in use: the CPU.

    Args:
        device_type: only those of this type; there are none of "GPU" and "TPU".
    """
    return [CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that ops see: the CPU, or its logical devices.

    Args:
        device_type: only those of this type; there are none of "GPU" and "TPU".
    """
    if device_type not in (None, "CPU"):
        return []
    count = len(_kept.configurations or ()) or 1
    return [LogicalDevice(f"/device:CPU:{number}", "CPU") for number in range(count)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that may be used: always all."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Set which devices may be used: the CPU, or none of a type without devices.

    Raises:
        ValueError: a device that is not there, or not of that type.
        RuntimeError: the CPU is left out, without which nothing runs.
    """
    given = [devices] if isinstance(devices, PhysicalDevice) else list(devices or ())
    for device in given:
        if device not in list_physical_devices(device_type):
            raise ValueError(f"set_visible_devices: there is no {device_type or 'device'} {device}")
    if device_type in (None, "CPU") and CPU not in given:
        raise RuntimeError("set_visible_devices: the CPU cannot be hidden: everything runs on it")


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """The argument of the last `set_logical_device_configuration`, None if there was none.

    Raises:
        ValueError: there is no such device.
    """
    _check("get_logical_device_configuration", device)
    return _kept.configurations


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Divide the CPU into several named devices, which `list_logical_devices` returns.

    They share its cores and memory, as in TensorFlow: a program for several devices can be tried on
    one. A tensor's `device` stays CPU:0. The configuration can be changed at any time.

    Args:
        device: the CPU.
        logical_devices: one entry per logical device; None for one device.

    Raises:
        ValueError: no such device exists, the list is empty, or the CPU gets a memory limit.
    """
    _check("set_logical_device_configuration", device)
    wanted = None if logical_devices is None else list(logical_devices)
    for one in wanted or ():
        if one.memory_limit is not None or one.experimental_priority is not None:
            raise ValueError(
                "set_logical_device_configuration: a CPU has no limit of memory or priority"
            )
    if wanted is not None and not wanted:
        raise ValueError(
            "set_logical_device_configuration: there must be at least one logical device, got none"
        )
    _kept.configurations = wanted


def get_soft_device_placement() -> bool:
    """Whether an op may run on another device than requested; without effect."""
    return _kept.soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Allow ops to run on another device than requested; without effect, all run on the CPU."""
    _kept.soft_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """Whether op placements are logged; without effect."""
    return _kept.logged


def set_log_device_placement(enabled: bool) -> None:
    """Request a log of op placements; without effect, all ops run on the CPU."""
    _kept.logged = bool(enabled)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether memory is allocated on demand.

    Raises:
        KeyError: the device is not a GPU, and has no such setting; TensorFlow's class.
        ValueError: there is no such device.
    """
    _check("get_memory_growth", device)
    raise KeyError(device)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Set whether a GPU's memory is allocated on demand; without effect.

    Raises:
        ValueError: the device is not a GPU, or there is no such device.
    """
    _check("set_memory_growth", device)
    raise ValueError(f"set_memory_growth: only a GPU has this setting ({enable=}), got {device}")


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """The details of a device; empty for a CPU."""
    _check("get_device_details", device)
    return {}


def get_memory_info(device: str) -> dict[str, int]:
    """Current and peak memory in bytes; 0 for a CPU, whose memory is not counted."""
    _check_name("get_memory_info", device)
    return {"current": 0, "peak": 0}


def get_memory_usage(device: str) -> int:
    """Memory in use in bytes; 0 for a CPU, whose memory is not counted."""
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Reset the peak of memory use; does nothing, since a CPU's memory is not counted."""
    _check_name("reset_memory_stats", device)


def _check(function: str, device: object) -> None:
    if device != CPU:
        raise ValueError(f"{function}: unrecognized device {device!r}, there is {CPU}")


def _check_name(function: str, device: str) -> None:
    kind = device.upper().rsplit("DEVICE:", 1)[-1].removeprefix("/")
    if kind not in {"CPU", "CPU:0"}:
        raise ValueError(f"{function}: there is no device {device!r}, only CPU:0")
