"""Which clients and devices there are: one process, with the logical devices of its CPU.

Environment variables tell a program's place among several processes, as in TensorFlow.
"""

from __future__ import annotations

import os

from pinnace.framework import devices
from pinnace.framework.device_spec import DeviceSpec

_TYPES = ("CPU", "GPU", "TPU")


def jobs() -> list[str]:
    """The addresses in DTENSOR_JOBS, separated by commas there; none without it.

    Raises:
        ValueError: addresses that begin with /bns/ and are not sorted.
    """
    given = os.environ.get("DTENSOR_JOBS")
    found = [] if given is None else given.split(",")
    if any(name.startswith("/bns/") for name in found) and found != sorted(found, key=_task_of):
        raise ValueError(
            f"Unexpected DTENSOR_JOBS content {given}. Sort entries in DTENSOR_JOBS because "
            "cluster construction relies on the order."
        )
    return found


def _task_of(job: str) -> tuple[int, str]:
    number = job.rsplit("/", maxsplit=1)[-1].split(":", maxsplit=1)[0]
    return (int(number), "") if number.isdecimal() else (-1, job)


def num_clients() -> int:
    """How many processes there are: as many as `jobs`, and one without."""
    return len(jobs()) or 1


def client_id() -> int:
    """The number of this process, which DTENSOR_CLIENT_ID gives; 0 without it.

    Raises:
        ValueError: there is no process of that number.
    """
    number = int(os.environ.get("DTENSOR_CLIENT_ID", "0"))
    if number < 0:
        raise ValueError(f"Environment variable DTENSOR_CLIENT_ID must be >= 0, got {number}. ")
    if number >= num_clients():
        raise ValueError(
            f"Environment variable DTENSOR_CLIENT_ID must be < {num_clients()}, got {number}"
        )
    return number


def job_name() -> str:
    """The name of the job: that in DTENSOR_JOB_NAME, else "localhost" of one process."""
    return os.environ.get("DTENSOR_JOB_NAME", "localhost" if num_clients() == 1 else "worker")


def full_job_name(task_id: int | None = None) -> str:
    """The name of a process, as devices' names begin.

    Args:
        task_id: its number; that of this process if None.

    Raises:
        ValueError: there is one process, and it has another number.
    """
    task = client_id() if task_id is None else task_id
    if num_clients() == 1 and task != 0:
        raise ValueError(f"Unexpected task ID {task} in local runs")
    return f"{job_name()}/replica:0/task:{task}"


def heartbeat_enabled() -> bool:
    """What DTENSOR_ENABLE_HEARTBEAT says: True without it."""
    return os.environ.get("DTENSOR_ENABLE_HEARTBEAT", "true").lower() in {"true", "1"}


def local_devices(device_type: str, for_client_id: int | None = None) -> list[DeviceSpec]:
    """The devices of a type that this process has.

    Args:
        device_type: "CPU"; there are none of "GPU" and "TPU".
        for_client_id: the process whose number their names tell; this one if None.

    Raises:
        ValueError: the type is another one.
    """
    if device_type.upper() not in _TYPES:
        raise ValueError(f"Device type {device_type} is not CPU, GPU, or TPU.")
    task = client_id() if for_client_id is None else for_client_id
    return [
        DeviceSpec(job_name(), 0, task, device_type, index)
        for index in range(num_local_devices(device_type))
    ]


def num_local_devices(device_type: str) -> int:
    """How many devices of a type this process has."""
    return len(devices.list_logical_devices(device_type.upper()))


def num_global_devices(device_type: str) -> int:
    """How many devices of a type all processes have together."""
    return num_local_devices(device_type) * num_clients()


def preferred_device_type() -> str:
    """The type of the devices there are: CPU."""
    return "CPU"
