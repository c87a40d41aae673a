"""Layout: along which dimension of a mesh each axis of a tensor is divided."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.dtensor.mesh import Mesh

if TYPE_CHECKING:
    from collections.abc import Sequence

# An axis that every device has whole; and, for `relayout`, one that stays as it is.
UNSHARDED = "unsharded"
MATCH = "match"
_SPECS = "sharding_specs:"
_MESH = "mesh:"


class Layout:
    """How a tensor is divided over a mesh.

    Args:
        sharding_specs: for each axis of the tensor the name of the dimension of the mesh that it is
            divided along, or `UNSHARDED`.
        mesh: the mesh.

    Raises:
        ValueError: a name that the mesh does not have, one that stands twice, or no mesh.
    """

    def __init__(self, sharding_specs: Sequence[str], mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"mesh is not a valid Mesh object. Got {mesh!r}"
            )
        specs = [str(spec) for spec in sharding_specs]
        for spec in specs:
            if spec in {UNSHARDED, MATCH}:
                continue
            if specs.count(spec) > 1:
                raise ValueError(
                    f"Mesh dimension {spec} was repeated in sharding specification {specs}. Mesh "
                    "dimensions must be unique in a layout."
                )
            if spec not in mesh:
                raise ValueError(
                    f"{spec}: A dimension sharding must either be a valid mesh dimension or "
                    f"UNSHARDED. The mesh has {', '.join(mesh.dim_names)}"
                )
        self._specs = tuple(specs)
        self._mesh = mesh

    # Usual layouts.

    @classmethod
    def replicated(cls, mesh: Mesh, rank: int) -> Layout:
        """The layout of a tensor with that many axes which every device has whole."""
        return cls([UNSHARDED] * rank, mesh)

    @classmethod
    def batch_sharded(cls, mesh: Mesh, batch_dim: str, rank: int, axis: int = 0) -> Layout:
        """The layout of a tensor that is divided along one axis.

        Args:
            mesh: the mesh.
            batch_dim: the dimension of the mesh.
            rank: the number of axes.
            axis: the axis that is divided.

        Raises:
            ValueError: the mesh has no such dimension, or the tensor no such axis.
        """
        if not 0 <= axis < rank:
            raise ValueError(
                f"batch_sharded: axis must be below rank and not negative, got {axis} of {rank}"
            )
        return cls([batch_dim if index == axis else UNSHARDED for index in range(rank)], mesh)

    @classmethod
    def inner_sharded(cls, mesh: Mesh, inner_dim: str, rank: int) -> Layout:
        """The layout of a tensor that is divided along its last axis."""
        return cls.batch_sharded(mesh, inner_dim, rank, axis=rank - 1)

    @classmethod
    def from_single_device_mesh(cls, mesh: Mesh) -> Layout:
        """The layout of a tensor on the one device of such a mesh.

        Raises:
            ValueError: it is a mesh of several devices.
        """
        if not mesh.is_single_device():
            raise ValueError(f"Mesh {mesh} is not a single device mesh: Mesh.from_device makes one")
        return cls([], mesh)

    @classmethod
    def from_device(cls, device: str) -> Layout:
        """The layout of a tensor on one device, by its name."""
        return cls.from_single_device_mesh(Mesh.from_device(device))

    # Text.

    @classmethod
    def from_string(cls, layout_str: str) -> Layout:
        """The layout that `to_string` of one gave.

        Raises:
            ValueError: the text is no layout's.
        """
        specs, separator, mesh = layout_str.partition(" " + _MESH)
        if not separator:
            raise ValueError(
                f"Expected 2 items but found 1{layout_str}\n"
                "  a layout is written sharding_specs:x,unsharded, mesh:..."
            )
        if specs.startswith("maximal:true"):
            return cls.from_device(mesh)
        if not specs.startswith(_SPECS):
            raise ValueError(
                f"Layout.from_string: expected text that begins with {_SPECS!r}, got {layout_str!r}"
            )
        names = [name for name in specs.removeprefix(_SPECS).split(",") if name]
        return cls(names, Mesh.from_string(mesh))

    def to_string(self) -> str:
        """The layout as text, which `from_string` takes."""
        if self.is_single_device():
            return f"maximal:true, {_MESH}{self._mesh.to_string()}"
        specs = "".join(f"{spec}," for spec in self._specs)
        return f"{_SPECS}{specs} {_MESH}{self._mesh.to_string()}"

    # What it says.

    @property
    def sharding_specs(self) -> list[str]:
        """One entry per axis: a dimension of the mesh, or `UNSHARDED`."""
        return list(self._specs)

    @property
    def specs(self) -> tuple[str, ...]:
        """`sharding_specs` as a tuple."""
        return self._specs

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._specs)

    @property
    def shape(self) -> list[int]:
        """The sizes of the mesh's dimensions."""
        return self._mesh.shape()

    def is_fully_replicated(self) -> bool:
        """Whether every device has the whole tensor."""
        return all(spec == UNSHARDED for spec in self._specs)

    def is_batch_parallel(self) -> bool:
        """Whether no axis but the first is divided."""
        return all(spec == UNSHARDED for spec in self._specs[1:])

    def is_single_device(self) -> bool:
        """Whether it is of one device and no mesh."""
        return self._mesh.is_single_device()

    def num_shards(self, idx: int) -> int:
        """Into how many parts an axis is divided.

        Raises:
            ValueError: there is no such axis.
        """
        if not 0 <= idx < len(self._specs):
            raise ValueError(
                f"num_shards: the layout has {len(self._specs)} axes, there is no axis {idx}"
            )
        spec = self._specs[idx]
        return 1 if spec in {UNSHARDED, MATCH} else self._mesh.dim_size(spec)

    # Made of it.

    def delete(self, dims: int | list[int]) -> Layout:
        """The layout without these axes."""
        gone = dims if isinstance(dims, list) else [dims]
        return Layout([s for index, s in enumerate(self._specs) if index not in gone], self._mesh)

    def to_parted(self) -> Layout:
        """The layout itself: here every axis is independent of the others."""
        return self

    # Shapes and places.

    def global_shape_from_local_shape(self, local_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the tensor whose parts have that shape."""
        self._check_rank(local_shape)
        return tuple(int(n) * self.num_shards(index) for index, n in enumerate(local_shape))

    def local_shape_from_global_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the parts of a tensor of that shape."""
        self._check_rank(global_shape)
        return tuple(int(n) // self.num_shards(index) for index, n in enumerate(global_shape))

    def _check_rank(self, shape: Sequence[int]) -> None:
        if len(shape) != len(self._specs):
            raise ValueError(
                f"the layout is one of {len(self._specs)} axes, got a shape of {len(shape)}: "
                f"{list(shape)}"
            )

    @functools.cached_property
    def _shards(self) -> tuple[tuple[int, ...], ...]:
        names = self._mesh.dim_names
        axes = [None if s in {UNSHARDED, MATCH} else names.index(s) for s in self._specs]
        return tuple(
            tuple(0 if axis is None else place[axis] for axis in axes)
            for place in self._mesh._places
        )

    def offset_to_shard(self) -> list[tuple[int, ...]]:
        """For each device, which part of each axis it has."""
        return list(self._shards)

    def offset_tuple_to_global_index(self, offset_tuple: Sequence[int]) -> int:
        """The number of a part, counted row by row, of its index along each axis."""
        counts = [self.num_shards(index) for index in range(len(self._specs))]
        return int(
            sum(
                int(np.prod(counts[index + 1 :])) * offset
                for index, offset in enumerate(offset_tuple)
            )
        )

    # As a value.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (
            self is other or (self._specs == other._specs and self._mesh == other._mesh)
        )

    def __hash__(self) -> int:
        return hash((self._specs, self._mesh))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Layout.from_string, (self.to_string(),))

    def __repr__(self) -> str:
        return f"Layout.from_string({self.to_string()})"
