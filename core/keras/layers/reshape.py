"""Layers that rearrange elements: flatten, reshape, pad, crop, repeat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers import composite_inputs
from pinnace.keras.layers.windows import per_axis
from pinnace.ops.array import casting, padding, permutations, reshaping, shapes, tiling
from pinnace.ops.image import resizing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class Flatten(Layer):
    """Flattens all axes except the batch axis.

    Args:
        data_format: `channels_first` moves the channels last before.
        **options: see Layer.

    Shapes:
        x [b, ...] → [b, n]; [b] → [b, 1].
    """

    def __init__(self, data_format: str | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.data_format = checked_format("Flatten", data_format)
        self.input_spec = InputSpec(min_ndim=1)
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The input with at most two axes; sparse if the input is."""
        rank = len(x.shape)
        if rank > 2 and self.data_format == "channels_first":
            x = composite_inputs.transposed(x, [0, *range(2, rank), 1])
        return composite_inputs.reshaped(x, [_product(x.shape[1:])])


class Reshape(Layer):
    """The elements of a sample in another shape.

    Args:
        target_shape: without the batch axis; one size may be -1.
        **options: see Layer.

    Shapes:
        x [b, ...] → [b, *target_shape].
    """

    def __init__(self, target_shape: Sequence[int], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.target_shape = tuple(target_shape)
        who = f"{type(self).__name__}: target_shape"
        if any(n is None or n < -1 for n in self.target_shape):
            raise ValueError(
                f"{who} must contain non-negative integers, and at most one -1: got "
                f"target_shape={self.target_shape}"
            )
        if self.target_shape.count(-1) > 1:
            raise ValueError(
                f"{who} may hold at most one unknown dimension, -1: got "
                f"target_shape={self.target_shape}"
            )
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The input in the target shape; sparse if the input is."""
        target = list(self.target_shape)
        count = _product(x.shape[1:])
        if count != -1:
            known = math.prod(n for n in target if n != -1)
            fits = known and count % known == 0 if -1 in target else known == count
            if not fits:
                raise ValueError(
                    f"{self._described()}: target_shape {self.target_shape} must have the "
                    f"{count} elements of a sample of {x.shape.text}"
                )
            target = [count // known if n == -1 else n for n in target]
        return composite_inputs.reshaped(x, target)


class Permute(Layer):
    """The axes of a sample in another order.

    Args:
        dims: the axes, counted from 1.
        **options: see Layer.

    Shapes:
        x [b, n₁, n₂, ...] → [b, n of dims[0], n of dims[1], ...].
    """

    def __init__(self, dims: Sequence[int], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                "Permute: Invalid permutation argument `dims`: it must hold 1 to n in some order, "
                f"got {self.dims}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The input with permuted axes; sparse if the input is."""
        return composite_inputs.transposed(x, [0, *self.dims])


class RepeatVector(Layer):
    """Repeats each sample n times: [b, c] → [b, n, c].

    Args:
        n: number of repetitions.
        **options: see Layer.

    Shapes:
        x [b, c] → [b, n, c].
    """

    def __init__(self, n: int, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.n = _count("RepeatVector", "n", n)
        self.input_spec = InputSpec(ndim=2)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The repeated samples."""
        return tiling.tile(reshaping.expand_dims(x, 1), [1, self.n, 1])


class Sided(Layer):
    """The base of layers that pad or crop both ends of spatial axes."""

    _rank = 2
    _argument = "padding"

    def _sides(self, value: Any) -> tuple[tuple[int, int], ...]:
        who, rank = type(self).__name__, self._rank
        if isinstance(value, int):
            value = (value,) * rank if rank > 1 else (value, value)
        if rank == 1:
            value = (value,)
        if len(value) != rank:
            raise ValueError(f"{who}: {self._argument} must have {rank} entries, got {value!r}")
        return tuple(
            (side, side)  # type: ignore[misc]  # two of them
            if isinstance(side, int)
            else per_axis(who, self._argument, side, 2, 0)
            for side in value
        )

    def _around(self, sides: tuple[tuple[int, int], ...], data_format: str) -> list[list[int]]:
        spatial = [list(side) for side in sides]
        if data_format == "channels_last":
            return [[0, 0], *spatial, [0, 0]]
        return [[0, 0], [0, 0], *spatial]

    def _check_left(self, x: Tensor, sides: tuple[tuple[int, int], ...], data_format: str) -> None:
        """Raise if cropping would remove everything along an axis.

        Raises:
            ValueError: nothing would be left.
        """
        first = 1 if data_format == "channels_last" else 2
        for axis, side in enumerate(sides, first):
            size = x.shape[axis]
            if size is not None and sum(side) >= size:
                who = type(self).__name__
                words = (
                    f"`cropping` parameter of `{who}` layer must be smaller than the input"
                    if self._rank == 1
                    else f"{who}: Values in `cropping` argument should be smaller than the "
                    "corresponding spatial dimension of the input."
                )
                raise ValueError(f"{words}: {side} are taken from the {size} along axis {axis}")


class ZeroPadding1D(Sided):
    """[b, steps, c] padded with zeros before and after the steps.

    Args:
        padding: sizes; a pair for each side its own.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, steps, c] → [b, steps + before + after, c].
    """

    _rank = 1

    def __init__(
        self, padding: Any = 1, data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.padding = self._sides(padding)[0]
        self.data_format = checked_format("ZeroPadding1D", data_format)
        self.input_spec = InputSpec(ndim=3)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The padded input."""
        return padding.pad(x, self._around((self.padding,), self.data_format))


class ZeroPadding2D(Sided):
    """[b, rows, columns, c] padded with zeros around rows and columns.

    Args:
        padding: sizes; a pair per axis, each a number or a pair.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, c] → [b, rows', columns', c].
    """

    def __init__(
        self, padding: Any = (1, 1), data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.padding = self._sides(padding)
        self.data_format = checked_format("ZeroPadding2D", data_format)
        self.input_spec = InputSpec(ndim=4)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The padded input."""
        return padding.pad(x, self._around(self.padding, self.data_format))


class Cropping1D(Sided):
    """[b, steps, c] cropped at both ends of the steps.

    Args:
        cropping: sizes; a pair for each side its own.
        **options: see Layer.

    Shapes:
        x [b, steps, c] → [b, steps - first - last, c].
    """

    _rank = 1
    _argument = "cropping"

    def __init__(self, cropping: Any = (1, 1), **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.cropping = self._sides(cropping)[0]
        self.input_spec = InputSpec(ndim=3)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The cropped input."""
        self._check_left(x, (self.cropping,), "channels_last")
        return x[:, kept(self.cropping)]


class Cropping2D(Sided):
    """[b, rows, columns, c] cropped at the ends of rows and columns.

    Args:
        cropping: sizes; a pair per axis, each a number or a pair.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, c] → [b, rows', columns', c].
    """

    _argument = "cropping"

    def __init__(
        self,
        cropping: Any = ((0, 0), (0, 0)),
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.cropping = self._sides(cropping)
        self.data_format = checked_format("Cropping2D", data_format)
        self.input_spec = InputSpec(ndim=4)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The cropped input."""
        self._check_left(x, self.cropping, self.data_format)
        rows, columns = (kept(side) for side in self.cropping)
        return (
            x[:, rows, columns] if self.data_format == "channels_last" else x[:, :, rows, columns]
        )


class UpSampling1D(Layer):
    """Repeats each step `size` times: [b, steps, c] → [b, steps · size, c].

    Args:
        size: number of repetitions.
        **options: see Layer.

    Shapes:
        x [b, steps, c] → [b, steps · size, c].
    """

    def __init__(self, size: int = 2, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.size = _count("UpSampling1D", "size", size)
        self.input_spec = InputSpec(ndim=3)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The repeated steps."""
        return tiling.repeat(x, self.size, axis=1)


class UpSampling2D(Layer):
    """Enlarges images by repeating rows and columns, or by interpolation.

    Args:
        size: factors of rows and of columns.
        data_format: `channels_last` or `channels_first`.
        interpolation: `nearest`, `bilinear`, `bicubic`, `lanczos3` or `lanczos5`.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, c] → [b, rows · size[0], columns · size[1], c].
    """

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.size = per_axis("UpSampling2D", "size", size, 2)
        self.data_format = checked_format("UpSampling2D", data_format)
        known = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
        if interpolation not in known:
            raise ValueError(
                f"UpSampling2D: interpolation must be one of {', '.join(known)}, "
                f"got {interpolation!r}"
            )
        self.interpolation = interpolation
        self.input_spec = InputSpec(ndim=4)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The enlarged images."""
        first = 1 if self.data_format == "channels_last" else 2
        if self.interpolation == "nearest":
            for axis, count in enumerate(self.size, first):
                x = tiling.repeat(x, count, axis=axis)
            return x
        if first == 2:
            x = permutations.transpose(x, [0, 2, 3, 1])
        sizes: Any = shapes.shape(x)
        known: list[Any] = x.shape.as_list()
        wanted = [
            (sizes[axis] if known[axis] is None else known[axis]) * count
            for axis, count in enumerate(self.size, 1)
        ]
        y = resizing.resize(x, wanted, method=self.interpolation)
        y = y if y.dtype is x.dtype else casting.cast(y, x.dtype)
        return permutations.transpose(y, [0, 3, 1, 2]) if first == 2 else y


def kept(side: tuple[int, int]) -> slice:
    """The size after cropping both ends."""
    return slice(side[0], -side[1] if side[1] else None)


def _count(who: str, name: str, value: Any) -> int:
    """A number of repetitions.

    Raises:
        TypeError: no integer.
        ValueError: below 1.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{who}: Expected an integer value for `{name}`, got {value!r}")
    if value < 1:
        raise ValueError(f"{who}: `{name}` should be a positive integer, got {value}")
    return value


def _product(sizes: Any) -> int:
    """The product of sizes; -1 if one is unknown."""
    known = list(sizes)
    return -1 if None in known else math.prod(known)
