"""DTensor: a tensor with a layout. It keeps its whole value once; the parts are slices of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import numpy as np

from pinnace.framework import layouts
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.tensor import OpaqueTensor, Tensor, wrap
from pinnace.ops.control.printing import array_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.distribute.dtensor.layout import Layout
    from pinnace.framework.tensor import Array

# What TensorFlow's tensors with layouts are on: a device of their own.
DEVICE = "/job:localhost/replica:0/task:0/device:CUSTOM:0"


class LaidOut:
    """What a tensor with a layout adds to a tensor, whatever its dtype."""

    __slots__ = ()
    _layout: Layout
    _array: Array

    @property
    def layout(self) -> Layout:
        """How the tensor is divided over its mesh."""
        return self._layout

    @property
    def device(self) -> str:
        """The device that stands for the devices of all meshes."""
        return DEVICE


class DTensor(LaidOut, Tensor):
    """A tensor with a layout."""

    __slots__ = ()

    def numpy(self) -> Any:
        """The value as a NumPy array, of a tensor that every device has whole.

        Raises:
            UnimplementedError: it is divided; `unpack` gives the parts.
        """
        if not self._layout.is_fully_replicated():
            self._refuse_copy()
        return Tensor.numpy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not self._layout.is_fully_replicated():
            self._refuse_copy()
        return Tensor.__array__(self, dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        if not self._layout.is_fully_replicated():
            self._refuse_copy()
        return Tensor.__dlpack__(self, **options)

    def _refuse_copy(self) -> NoReturn:
        raise UnimplementedError(
            "Trying to copy a non-single-device and non-replicated DTensor is not supported. Input "
            f"tensor is: {self!r}\n  Try: experimental.dtensor.unpack, which gives the parts, or "
            "relayout to Layout.replicated first"
        )

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("a scalar tensor cannot be iterated over")
        return iter([self[index] for index in range(len(self._array))])

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return (laid_out_array, (np.asarray(self._array), self._layout))

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self._array.shape}, dtype={self.dtype.name}, "
            f'value={values_text(self._array, self._layout)}, layout="{self._layout.to_string()}">'
        )

    def _repr_html_(self) -> str:
        from pinnace.framework import html

        title = f"tf.Tensor, shape={self._array.shape}, dtype={self.dtype.name}"
        layout, mesh = ",".join(self._layout.specs), self._layout.mesh
        text = values_text(self._array, self._layout)
        return html.table(title, ["layout", "mesh", "value"], [[layout, mesh, text]])

    def __str__(self) -> str:
        return (
            f"tf.Tensor({values_text(self._array, self._layout)}, "
            f'layout="{self._layout.to_string()}", shape={self._array.shape}, '
            f"dtype={self.dtype.name})"
        )


class DTensorHandle(LaidOut, OpaqueTensor):
    """The handle of a variable with a layout, which is that of the variable's value."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()

    def __str__(self) -> str:
        resource = self._array[()]
        text = f'<ResourceHandle(name="{getattr(resource, "name", "")}", type="tensorflow::Var")>'
        return f'tf.Tensor({text}, layout="{self._layout.to_string()}", shape=(), dtype=resource)'

    def __repr__(self) -> str:
        return f'<tf.Tensor: shape=(), dtype=resource, layout="{self._layout.to_string()}">'


AnyDTensor: TypeAlias = DTensor | DTensorHandle


def layout_of(x: object) -> Layout | None:
    """The layout of a tensor, None if it has none."""
    return x._layout if isinstance(x, LaidOut) else None


def lay_out(tensor: Tensor, layout: Layout) -> AnyDTensor:
    """Give a tensor that nobody else holds yet a layout: the object itself changes its class.

    So a tape that recorded it knows it still.
    """
    layouts.begin()
    given: Any = tensor
    if type(given) is Tensor:
        given.__class__ = DTensor
    elif type(given) is OpaqueTensor:
        given.__class__ = DTensorHandle
    given._layout = layout
    return cast("AnyDTensor", given)


def laid_out_array(array: Array, layout: Layout) -> AnyDTensor:
    """A tensor of an array, which it takes over, and a layout."""
    return lay_out(wrap(array), layout)


def check_fits(what: str, shape: Sequence[int], layout: Layout) -> None:
    """Check that a tensor of that shape can have that layout.

    Raises:
        InvalidArgumentError: the number of axes differs, or an axis cannot be divided evenly.
    """
    if len(shape) != layout.rank:
        raise InvalidArgumentError(
            f"{what} requires matching rank for layout and input, but got {layout.rank} as "
            f"suggested rank from layout but {len(shape)} from shape {list(shape)}.\n"
            f"  layout: {layout.to_string()}"
        )
    for axis, size in enumerate(shape):
        shards = layout.num_shards(axis)
        if size % shards:
            raise InvalidArgumentError(
                f"{what} requires dimension {axis} to be divisible by sharding specified in "
                f"layout, but got dimension size={size} is not divisible by number of shards in "
                f"layout for this dimension={shards}.\n  layout: {layout.to_string()}"
            )


def components(array: Array, layout: Layout) -> list[Array]:
    """The part of each device: views of the whole."""
    if layout.is_fully_replicated():
        return [array] * layout.mesh.size
    sizes = layout.local_shape_from_global_shape(array.shape)
    return [
        array[
            tuple(
                slice(place * size, (place + 1) * size)
                for place, size in zip(shard, sizes, strict=True)
            )
        ]
        for shard in layout.offset_to_shard()
    ]


def values_text(array: Array, layout: Layout) -> str:
    """The value as TensorFlow shows it: whole, or the part of each device by its name."""
    if layout.is_fully_replicated():
        return array_text(np.asarray(array), 3).decode("utf-8", "replace")
    names = [name.rpartition("device:")[2] for name in layout.mesh.local_devices()]
    parts = [
        f'"{name}": {array_text(part, 3).decode("utf-8", "replace")}'
        for name, part in zip(names, components(array, layout), strict=False)
    ]
    return "{" + ", ".join(parts) + "}"
