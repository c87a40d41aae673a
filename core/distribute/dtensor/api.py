"""What makes tensors with layouts, tells their layouts and changes them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.dtensor.layout import Layout
from pinnace.distribute.dtensor.random_parts import results_wanted
from pinnace.distribute.dtensor.scopes import default_mesh, present_mesh
from pinnace.distribute.dtensor.values import (
    DEVICE,
    LaidOut,
    components,
    laid_out_array,
    layout_of,
)
from pinnace.framework import layouts, structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InternalError, InvalidArgumentError, UnimplementedError
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.variable import Variable
from pinnace.ops.array.relayout import RELAYOUT, RELAYOUT_LIKE
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.distribute.dtensor.mesh import Mesh


def call_with_layout(
    fn: Callable[..., Any], layout: Layout | None, *args: Any, **kwargs: Any
) -> Any:
    """Call a function, whose result is to have a layout.

    Random numbers that a `function` draws from a seed are drawn part by part, as in TensorFlow.

    Args:
        fn: a function that gives a tensor, such as `zeros`.
        layout: the layout; None for a plain call.
        *args: its arguments.
        **kwargs: its keyword arguments.

    Raises:
        InvalidArgumentError: the result cannot have that layout.
    """
    if layout is None:
        return fn(*args, **kwargs)
    if state.tracer is not None:
        return structure.map_structure(lambda x: relayout(x, layout), fn(*args, **kwargs))
    with default_mesh(layout.mesh), results_wanted(layout):
        result = fn(*args, **kwargs)
        return structure.map_structure(
            lambda x: relayout(x, layout) if isinstance(x, Tensor) else x, result
        )


@contextlib.contextmanager
def run_on(mesh: Mesh) -> Iterator[None]:
    """The older name of `default_mesh`."""
    with default_mesh(mesh):
        yield


def get_default_mesh() -> Mesh | None:
    """The mesh of the block of `default_mesh` that is run, None outside of all."""
    return present_mesh()


def device_name() -> str:
    """The name of the device that stands for the devices of all meshes."""
    return DEVICE


def is_dtensor(tensor: Any) -> bool:
    """Whether a tensor or variable has a layout.

    Raises:
        RuntimeError: a function is being traced.
    """
    _check_eager("is_dtensor")
    if isinstance(tensor, Variable):
        tensor = tensor.handle
    return isinstance(tensor, LaidOut)


def copy_to_mesh(tensor: Any, layout: Layout, source_layout: Layout | None = None) -> Tensor:
    """A tensor with that layout and the value of another.

    Args:
        tensor: a tensor without a layout, or one with another.
        layout: the new layout.
        source_layout: without effect, as in TensorFlow.

    Raises:
        InvalidArgumentError: the tensor cannot have that layout.
    """
    del source_layout
    return relayout(tensor, layout)


def relayout(tensor: Any, layout: Layout, name: str | None = None) -> Tensor:
    """A tensor with that layout and the value of another.

    Args:
        tensor: a tensor, with a layout or without.
        layout: the new layout; an axis with `MATCH` is divided as before.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the tensor has another number of axes, or cannot be divided evenly.
    """
    _begin(layout)
    found: Tensor = execute_one(RELAYOUT, tensor, layout=layout.to_string(), name=name)
    return found


def relayout_like(tensor: Any, layout_tensor: Any, name: str | None = None) -> Tensor:
    """A tensor with the layout of another one.

    Args:
        tensor: the tensor with the value.
        layout_tensor: the tensor with the layout.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `tensor` cannot have that layout.
    """
    return execute_one(RELAYOUT_LIKE, tensor, layout_tensor, name=name)


def fetch_layout(tensor: Any) -> Layout | None:
    """The layout of a tensor or variable; None of what is no tensor.

    Raises:
        RuntimeError: a function is being traced.
        InvalidArgumentError: a tensor without a layout.
    """
    _check_eager("fetch_layout")
    if isinstance(tensor, Variable):
        tensor = tensor.handle
    layout = layout_of(tensor)
    if layout is None and isinstance(tensor, Tensor):
        raise InvalidArgumentError(
            "FetchLayout expects a tensor placed on the layout device: this tensor has no layout, "
            f"got {tensor!r}\n  Try: copy_to_mesh"
        )
    return layout


def check_layout(tensor: Any, layout: Layout) -> None:
    """Check that a tensor has that layout.

    Raises:
        ValueError: it has another one.
    """
    found = fetch_layout(tensor)
    if found != layout:
        raise ValueError(f"Layout of tensor: {found}, did not match expected layout: {layout}")


def pack(tensors: Sequence[Any], layout: Layout) -> Tensor:
    """A tensor of the parts that the devices have.

    Args:
        tensors: one part for each device of the mesh, in their order; devices that have the same
            part are given equal ones.
        layout: the layout.

    Raises:
        InvalidArgumentError: not as many parts as devices, parts that have a layout, another number
            of axes than the layout's, or devices with the same part that were given different ones.
        UnimplementedError: the parts' shapes differ, or they are sparse.
        InternalError: their dtypes differ.
        RuntimeError: a function is being traced.
    """
    _check_eager("pack")
    if any(isinstance(one, SparseTensor) for one in tensors):
        raise UnimplementedError(
            "pack: sparse tensors have no layout here\n  Try: sparse.to_dense of each"
        )
    parts = [convert_to_tensor(one) for one in tensors]
    mesh = layout.mesh
    if len(parts) != mesh.num_local_devices():
        raise InvalidArgumentError(
            f"The dtensor device {DEVICE} expected {mesh.num_local_devices()} inputs to "
            f"DTensorPack, but got {len(parts)}"
        )
    if any(isinstance(one, LaidOut) for one in parts):
        raise InvalidArgumentError(
            "Does not support packing a Tensor that is already on dtensor device"
        )
    if len({one.dtype.name for one in parts}) > 1:
        raise InternalError(
            "Components of a PackedTensor must all have the same dtype, got "
            f"{[one.dtype.name for one in parts]}"
        )
    shapes = [one._array.shape for one in parts]
    if len(set(shapes)) > 1:
        raise UnimplementedError(
            f"Components of a PackedTensor must currently all have the same shape, got {shapes}"
        )
    if len(shapes[0]) != layout.rank:
        raise InvalidArgumentError(
            "Packed layout should have the same rank as the rank for each component. The rank of "
            f"each component is: {len(shapes[0])}, while layout has rank: {layout.rank}\n"
            f"Layout: {layout.to_string()}"
        )
    return laid_out_array(_joined([np.asarray(one._array) for one in parts], layout), layout)


def _joined(parts: Sequence[Any], layout: Layout) -> Any:
    whole = np.empty(layout.global_shape_from_local_shape(parts[0].shape), parts[0].dtype)
    first: dict[tuple[int, ...], int] = {}
    places = components(whole, layout)
    for number, (shard, part) in enumerate(zip(layout.offset_to_shard(), parts, strict=True)):
        known = first.setdefault(shard, number)
        if known == number:
            places[number][...] = part
        elif not _equal(parts[known], part):
            raise InvalidArgumentError(
                f"pack: devices {known} and {number} have the same part of the tensor, and were "
                f"given different ones: {parts[known]} and {part}\n  layout: {layout.to_string()}"
            )
    return whole


def _equal(one: Any, other: Any) -> bool:
    if one is other or one.dtype.kind == "O":
        return one is other or bool(np.array_equal(one, other))
    return one.tobytes() == other.tobytes() or bool(np.array_equal(one, other))


def unpack(tensor: Any) -> list[Tensor]:
    """The parts that the devices have, in their order.

    Args:
        tensor: a tensor or variable with a layout.

    Raises:
        InvalidArgumentError: it has no layout.
        RuntimeError: a function is being traced.
    """
    _check_eager("unpack")
    if isinstance(tensor, Variable):
        tensor = tensor.value()
    layout = layout_of(tensor)
    if layout is None:
        raise InvalidArgumentError(
            f"DTensorUnpack expects a tensor placed on the DTensor device: {DEVICE}, but the input "
            f"has no layout, got {tensor!r}"
        )
    devices = layout.mesh.local_devices()
    parts = components(np.asarray(tensor._array), layout)
    return [
        _on_device(wrap(np.ascontiguousarray(part).reshape(part.shape)), device)
        for part, device in zip(parts, devices, strict=False)
    ]


class ComponentTensor(Tensor):
    """The part of a tensor that one device has: a plain tensor that knows the device."""

    __slots__ = ("_device",)
    _device: str

    @property
    def device(self) -> str:
        """The device that the part is on."""
        return self._device

    def __hash__(self) -> int:
        return super().__hash__()


def _on_device(tensor: Tensor, device: str) -> Tensor:
    part = ComponentTensor.__new__(ComponentTensor)
    part._array = tensor._array
    part._device = device
    return part


def _begin(layout: Layout) -> None:
    if not isinstance(layout, Layout):
        raise TypeError(f"layout must be a Layout, got {layout!r}")
    layouts.begin()


def _check_eager(name: str) -> None:
    if state.tracer is not None:
        raise RuntimeError(
            f"`{name}` must be called eagerly. A function is being traced, in which nothing has a "
            "layout yet\n  Try: relayout, or `.layout` of a DVariable"
        )
