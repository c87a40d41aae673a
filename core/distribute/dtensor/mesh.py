"""Mesh: devices in a grid whose dimensions have names."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.device_spec import DeviceSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor


class MeshDimension(NamedTuple):
    """A dimension of a mesh: its name, and how many devices there are along it."""

    name: str
    size: int


class Mesh:
    """Devices in a grid whose dimensions have names, over which tensors are laid out.

    Here they are the logical devices of one CPU (`config.set_logical_device_configuration`).

    Args:
        dim_names: the names of the dimensions.
        global_device_ids: [size, ...], an array of the grid's shape with consecutive numbers.
        local_device_ids: the numbers of this process's devices.
        local_devices: their names, or DeviceSpecs, in the same order.
        mesh_name: a name for the mesh.
        global_devices: the names of all devices; they stand in the mesh's text.
        use_xla_spmd: must be False: there is no XLA.

    Raises:
        ValueError: the arguments contradict each other; the message says which.
    """

    def __init__(
        self,
        dim_names: Sequence[str],
        global_device_ids: Array,
        local_device_ids: list[int],
        local_devices: list[DeviceSpec | str],
        mesh_name: str = "",
        global_devices: list[DeviceSpec | str] | None = None,
        use_xla_spmd: bool = False,
    ) -> None:
        _check_ids(dim_names, global_device_ids, local_device_ids)
        _check_lists(local_devices, global_devices)
        if len(local_device_ids) != len(local_devices):
            raise ValueError(
                "Variable local_device_ids does not have same size as local_devices: "
                f"{len(local_device_ids)} numbers, {len(local_devices)} devices"
            )
        kind = _device_type(local_devices or global_devices or [])
        if use_xla_spmd:
            raise ValueError(f"XLA SPMD is not currently not supported for {kind} mesh.")
        self._name = mesh_name
        self._dimensions = tuple(
            MeshDimension(str(name), int(size))
            for name, size in zip(dim_names, global_device_ids.shape, strict=True)
        )
        self._global_ids = tuple(int(number) for number in global_device_ids.ravel())
        self._local_ids = tuple(int(number) for number in local_device_ids)
        self._local_devices = tuple(_text_of(device) for device in local_devices)
        self._global_devices = tuple(_text_of(device) for device in global_devices or ())
        self._single = ""

    # From text.

    @classmethod
    def from_string(cls, mesh_str: str) -> Mesh:
        """The mesh that `to_string` of one gave.

        Raises:
            ValueError: the text is no mesh's.
        """
        parts = mesh_str.split("|")
        if len(parts) == 1 and mesh_str:
            kind = DeviceSpec.from_string(mesh_str).device_type if ":" in mesh_str else None
            if kind is not None:
                return cls.from_device(mesh_str)
        if len(parts) not in {5, 6, 7}:
            raise ValueError(
                f"Input string is invalid: {mesh_str}\n"
                "  expected name|x=2,y=2|global ids|local ids|local devices"
            )
        name, dimensions, global_ids, local_ids, devices, *rest = parts
        others = [part.split(",") for part in rest if part and part != "use_xla_spmd"]
        try:
            pairs = [text.split("=") for text in dimensions.split(",") if text]
            sizes = [int(size) for _, size in pairs]
            ids = np.array([int(number) for number in global_ids.split(",")]).reshape(sizes)
            mine = [int(number) for number in local_ids.split(",") if number]
            names = [name for name, _ in pairs]
        except ValueError as error:
            raise ValueError(f"Input string is invalid: {mesh_str}\n  {error}") from None
        local = [device for device in devices.split(",") if device]
        return cls(names, ids, mine, list(local), name, list(others[0]) if others else None)

    @classmethod
    def from_device(cls, device: str) -> Mesh:
        """The mesh of a single device, by its name."""
        mesh = cls([], np.zeros((), np.int64), [0], [device])
        mesh._single = device
        return mesh

    def to_string(self) -> str:
        """The mesh as text, which `from_string` takes."""
        if self._single:
            return self._single
        parts = [
            self._name,
            ",".join(f"{name}={size}" for name, size in self._dimensions),
            ",".join(map(str, self._global_ids)),
            ",".join(map(str, self._local_ids)),
            ",".join(self._local_devices),
        ]
        if self._global_devices:
            parts.append(",".join(self._global_devices))
        return "|".join(parts)

    # Dimensions.

    @property
    def name(self) -> str:
        """The mesh's name."""
        return self._name

    @property
    def dim_names(self) -> list[str]:
        """The names of the dimensions."""
        return [name for name, _ in self._dimensions]

    @property
    def size(self) -> int:
        """How many devices there are."""
        return len(self._global_ids)

    @property
    def strides(self) -> list[int]:
        """How far apart, in numbers of devices, neighbours along each dimension are."""
        sizes = self.shape()
        return [int(np.prod(sizes[index + 1 :])) for index in range(len(sizes))]

    @property
    def single_device(self) -> str:
        """The device of a mesh that `from_device` made, else empty."""
        return self._single

    def shape(self) -> list[int]:
        """The sizes of the dimensions."""
        return [size for _, size in self._dimensions]

    def dim_size(self, dim_name: str) -> int:
        """The size of a dimension.

        Raises:
            ValueError: the mesh has no dimension of that name.
        """
        for name, size in self._dimensions:
            if name == dim_name:
                return size
        raise ValueError(
            f"Dimension {dim_name} does not exist in mesh.Available dimensions: "
            f"{','.join(self.dim_names)}"
        )

    def contains_dim(self, dim_name: str) -> bool:
        """Whether there is a dimension of that name."""
        return any(name == dim_name for name, _ in self._dimensions)

    def __contains__(self, dim_name: object) -> bool:
        return any(name == dim_name for name, _ in self._dimensions)

    def __getitem__(self, dim_name: str) -> MeshDimension:
        return MeshDimension(dim_name, self.dim_size(dim_name))

    # Devices.

    def device_type(self) -> str:
        """The type of the devices: CPU."""
        return _device_type(self._local_devices or self._global_devices)

    def num_local_devices(self) -> int:
        """How many devices this process has."""
        return len(self._local_devices)

    def local_devices(self) -> list[str]:
        """The names of this process's devices."""
        return list(self._local_devices)

    def local_device_ids(self) -> list[int]:
        """The numbers of this process's devices."""
        return list(self._local_ids)

    def global_devices(self) -> list[str]:
        """The names of all devices, if they were given."""
        return list(self._global_devices)

    def global_device_ids(self) -> Array:
        """[size, ...], the numbers of all devices, in the grid's shape."""
        return np.array(self._global_ids, np.int64).reshape(self.shape())

    def min_global_device_id(self) -> int:
        """The lowest of all devices' numbers."""
        return min(self._global_ids)

    def is_remote(self) -> bool:
        """Whether none of the devices is this process's."""
        return not self._local_ids

    def is_single_device(self) -> bool:
        """Whether it is the mesh of one device that `from_device` makes."""
        return bool(self._single)

    def use_xla_spmd(self) -> bool:
        """Whether XLA divides the work: never here."""
        return False

    def host_mesh(self) -> Mesh:
        """The mesh of the CPUs that the devices belong to: here, the mesh itself."""
        return self

    # Places of devices.

    @functools.cached_property
    def _places(self) -> tuple[tuple[int, ...], ...]:
        return tuple(itertools.product(*(range(size) for size in self.shape())))

    def device_location(self, device_id: int) -> list[int]:
        """Where in the grid the device of that number is."""
        return list(self._places[device_id - self.min_global_device_id()])

    def coords(self, device_idx: int) -> Tensor:
        """[rank], int32: where in the grid a device is.

        Args:
            device_idx: its position among all devices.
        """
        place = np.asarray(device_idx) // np.array(self.strides, np.int32)
        return convert_to_tensor((place % np.array(self.shape(), np.int32)).astype(np.int32))

    def unravel_index(self) -> dict[int, dict[str, int]]:
        """For each position among all devices, the index along each dimension by name."""
        names = self.dim_names
        return {
            number: dict(zip(names, place, strict=True))
            for number, place in enumerate(self._places)
        }

    def local_device_locations(self) -> list[dict[str, int]]:
        """The index along each dimension, for each of this process's devices."""
        places = self.unravel_index()
        return [places[number] for number in self._local_ids]

    # As a value.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and (self is other or self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> str:
        return self.to_string()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Mesh.from_string, (self.to_string(),))

    def __repr__(self) -> str:
        return f"Mesh.from_string({self.to_string()})"


def _text_of(device: DeviceSpec | str) -> str:
    return device.to_string() if isinstance(device, DeviceSpec) else str(device)


def _check_ids(dim_names: Any, global_device_ids: Any, local_device_ids: Any) -> None:
    if not isinstance(global_device_ids, np.ndarray):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"Variable global_device_ids must be an ndarray, got {global_device_ids!r}."
        )
    if global_device_ids.size == 0:
        raise ValueError("Variable global_device_ids must be non-empty.")
    flat = global_device_ids.ravel()
    if not np.array_equal(flat, np.arange(flat.size) + flat[0]):
        raise ValueError(f"global_device_ids must sequentially increase: {global_device_ids}")
    if len(dim_names) != global_device_ids.ndim:
        raise ValueError(
            "Number of mesh dimensions does not match number of dimension names: "
            f"{global_device_ids.ndim} dimensions, names {list(dim_names)}."
        )
    if not isinstance(local_device_ids, list):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"Variable local_device_ids must be a list of integers, got {local_device_ids!r}."
        )
    if len(local_device_ids) > flat.size:
        raise ValueError(
            "Cannot have more local than gobal device IDs: "
            f"{len(local_device_ids)} local, {flat.size} global"
        )


def _check_lists(local_devices: Any, global_devices: Any) -> None:
    if not isinstance(local_devices, list):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"Variable local_devices must be a list of DeviceSpecs, got {local_devices!r}."
        )
    if global_devices and not isinstance(global_devices, list):
        raise ValueError(f"Variable global_devices must be a list of DeviceSpecs: {global_devices}")
    if not local_devices and not global_devices:
        raise ValueError("Empty list of devices not allowed.")
    names = [_text_of(device) for device in local_devices]
    repeated = sorted({name for name in names if names.count(name) > 1})
    only_host = len(set(names)) == 1 and DeviceSpec.from_string(names[0]).device_type == "CPU"
    if repeated and not only_host:
        raise ValueError(f"Duplicate devices found in mesh specification {repeated}.")


def _device_type(devices: Any) -> str:
    kinds = {DeviceSpec.from_string(_text_of(device)).device_type for device in devices}
    if None in kinds:
        raise ValueError(f"device_type is required, got {[_text_of(one) for one in devices]}")
    if len(kinds) > 1:
        raise ValueError(f"Devices containing multiple device_types : {sorted(map(str, kinds))}")
    return str(kinds.pop())
