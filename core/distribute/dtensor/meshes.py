"""Making meshes of the devices there are, and the accelerator system behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.dtensor import configuration
from pinnace.distribute.dtensor.api import pack
from pinnace.distribute.dtensor.layout import Layout
from pinnace.distribute.dtensor.mesh import Mesh
from pinnace.framework import devices as all_devices
from pinnace.framework.device_spec import DeviceSpec
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.no_effect import ignored
from pinnace.ops.math.reduction import reduce_sum

if TYPE_CHECKING:
    from collections.abc import Sequence


def create_mesh(
    mesh_dims: Sequence[tuple[str, int]] | dict[str, int] | None = None,
    mesh_name: str = "",
    devices: Sequence[DeviceSpec | str] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """A mesh of this process's devices.

    Args:
        mesh_dims: name and size of each dimension; one dimension `x` of all devices if None. The
            size of a single dimension may be -1, for all devices.
        mesh_name: a name for the mesh.
        devices: the devices, as names or DeviceSpecs; all of `device_type` if None.
        device_type: the type of the devices, CPU if None.
        use_xla_spmd: must be False: there is no XLA.

    Raises:
        ValueError: the sizes do not make as many places as there are devices, or the devices are
            not all of one type.
    """
    specs = [
        DeviceSpec(configuration.job_name(), 0, 0).make_merged_spec(one)
        for one in _device_specs(devices, device_type)
    ]
    dims = list(mesh_dims.items()) if isinstance(mesh_dims, dict) else mesh_dims
    if dims is None:
        dims = [("x", len(specs))]
    elif len(dims) == 1 and dims[0][1] == -1:
        dims = [(dims[0][0], len(specs))]
    sizes = [int(size) for _, size in dims]
    if int(np.prod(sizes)) != len(specs):
        raise ValueError(
            f"length of devices ({len(specs)}) must be equal to total size of the mesh of shape "
            f"{sizes}"
        )
    numbers = np.arange(len(specs))
    names = [name for name, _ in dims]
    return Mesh(
        names,
        numbers.reshape(sizes),
        numbers.tolist(),
        list(specs),
        mesh_name,
        use_xla_spmd=use_xla_spmd,
    )


def _device_specs(
    devices: Sequence[DeviceSpec | str] | None, device_type: str | None
) -> list[DeviceSpec]:
    if devices is None:
        return configuration.local_devices(device_type or "CPU")
    specs = [DeviceSpec.from_string(one) if isinstance(one, str) else one for one in devices]
    kind = specs[0].device_type if specs else None
    if device_type is not None and device_type.upper() != str(kind).upper():
        raise ValueError(f"Conflicting devices {specs} and device_type {device_type}")
    return specs


def create_distributed_mesh(
    mesh_dims: Sequence[tuple[str, int]] | dict[str, int],
    mesh_name: str = "",
    local_devices: Sequence[DeviceSpec | str] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """A mesh of the devices of all processes; there is one process.

    Args:
        mesh_dims: name and size of each dimension.
        mesh_name: a name for the mesh.
        local_devices: the devices of this process, all of `device_type` if None.
        device_type: the type of the devices, CPU if None.
        use_xla_spmd: must be False: there is no XLA.

    Raises:
        ValueError: `initialize_accelerator_system` has not been called, or the sizes do not make as
            many places as there are devices.
    """
    if _system.kind is None:
        raise ValueError(
            "Accelerators are uninitialized, please run dtensor.initialize_accelerator_system() "
            "first."
        )
    dims = list(mesh_dims.items()) if isinstance(mesh_dims, dict) else list(mesh_dims)
    sizes = [int(size) for _, size in dims]
    specs = _device_specs(local_devices, device_type)
    if int(np.prod(sizes)) != len(specs):
        raise ValueError(
            f"Global number of devices ({len(specs)} per client * 1 clients = {len(specs)}) must "
            f"be equal to total size of the mesh of shape {tuple(sizes)}"
        )
    return create_mesh(dims, mesh_name, specs, use_xla_spmd=use_xla_spmd)


class _System:
    kind: str | None = None


_system = _System()


def initialize_accelerator_system(
    device_type: str | None = None,
    enable_coordination_service: bool = True,
    num_logical_cpu_devices: int | None = None,
    experimental_reset_context: bool = False,
    experimental_enable_megcore: bool = False,
) -> str:
    """Prepare the devices that meshes are made of.

    Args:
        device_type: "CPU", which None stands for.
        enable_coordination_service: without effect: there is one process.
        num_logical_cpu_devices: how many logical devices the CPU is divided into; as many as there
            are if None.
        experimental_reset_context: without effect: nothing has to be undone first.
        experimental_enable_megcore: without effect, of TPUs.

    Returns:
        The type of the devices.

    Raises:
        ValueError: it has been called before, or the type is unknown.
        UnimplementedError: DTENSOR_JOBS names several processes, or the type is not CPU.
    """
    del enable_coordination_service, experimental_reset_context
    ignored(
        "initialize_accelerator_system",
        "there are no TPUs",
        False,
        experimental_enable_megcore=experimental_enable_megcore,
    )
    if _system.kind is not None:
        raise ValueError(
            "Accelerator system has already been initialized. Call "
            "tf.experimental.dtensor.shutdown_accelerator_system() first."
        )
    kind = (device_type or configuration.preferred_device_type()).upper()
    if kind not in {"CPU", "GPU", "TPU"}:
        raise ValueError(f"Unknown device_type {kind}. Allowed values are CPU, GPU, or TPU")
    if kind != "CPU":
        raise UnimplementedError(f"initialize_accelerator_system: there are no {kind}s, only CPUs")
    if configuration.jobs():
        raise UnimplementedError(
            "initialize_accelerator_system: DTENSOR_JOBS names "
            f"{len(configuration.jobs())} processes, and meshes span one here\n  Try: "
            "distribute.MultiWorkerMirroredStrategy, with a process for each part of the data"
        )
    if num_logical_cpu_devices is not None:
        parts = [all_devices.LogicalDeviceConfiguration()] * int(num_logical_cpu_devices)
        all_devices.set_logical_device_configuration(all_devices.CPU, parts)
    _system.kind = kind
    return kind


def shutdown_accelerator_system() -> None:
    """Undo `initialize_accelerator_system`.

    Raises:
        ValueError: it has not been called.
    """
    if _system.kind is None:
        raise ValueError(
            "Accelerator system is not initialized. Call "
            "tf.experimental.dtensor.initialize_accelerator_system first."
        )
    _system.kind = None


def barrier(mesh: Mesh, barrier_name: str | None = None, timeout_in_ms: int | None = None) -> None:
    """Wait until all devices of a mesh have come here: they have, since ops run one by one.

    Args:
        mesh: the mesh.
        barrier_name: without effect, a name for logs.
        timeout_in_ms: without effect, there is nothing to wait for.

    Raises:
        ValueError: the mesh does not add up.
    """
    del barrier_name, timeout_in_ms
    one: Any = np.ones([1] * len(mesh.shape()), np.float32)
    ones = pack([one] * mesh.num_local_devices(), Layout(mesh.dim_names, mesh))
    total = float(reduce_sum(ones))
    if total != mesh.size:
        raise ValueError(
            f"Global barrier produced wrong mesh size : {total} while mesh has actual size : "
            f"{mesh.size}"
        )
