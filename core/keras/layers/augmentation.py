"""Pictures changed at random while training: flips, crops, contrast, brightness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.followed import FollowedLayer, FollowedOptions, Move
from pinnace.keras.layers.preprocessing import Resizing
from pinnace.keras.seeds import SeedGenerator, make_default_seed
from pinnace.ops.array import casting, joining, permutations, reshaping, shapes
from pinnace.ops.random import stateless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class PictureLayer(Layer):
    """What layers of pictures share: [b, rows, columns, c] or [rows, columns, c].

    Args:
        data_format: `channels_last` or `channels_first`.
        seed: of the draws; None takes one from the global seed.
        **options: see Layer.
    """

    _draws_seeds = True

    def __init__(
        self,
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.data_format = checked_format(type(self).__name__, data_format)
        if self._draws_seeds:
            self.seed = seed
            self.generator = SeedGenerator(seed)
        self._build_at_init()

    def call(self, x: Tensor, training: bool = True) -> Tensor:
        """The pictures; changed while training."""
        kind = self._policy._compute
        x = x if x.dtype is kind else casting.cast(x, kind)
        if not training:
            return self._unchanged(x)
        single = len(x.shape) == 3
        if single:
            x = reshaping.expand_dims(x, 0)
        first = self.data_format == "channels_first"
        if first:
            x = permutations.transpose(x, [0, 2, 3, 1])
        shape = x.shape
        y = self._changed(x)
        if len(y.shape) == 4 and y.shape.as_list()[1:3] == shape.as_list()[1:3]:
            y.set_shape(shape)
        if first:
            y = permutations.transpose(y, [0, 3, 1, 2])
        return reshaping.squeeze(y, [0]) if single else y

    def _unchanged(self, x: Tensor) -> Tensor:
        return x

    def _changed(self, x: Tensor) -> Tensor:
        """The changed pictures, [b, rows, columns, c]."""
        raise NotImplementedError

    def drawn(self, x: Tensor, low: float, high: float, axes: int = 4) -> Tensor:
        """A number for each picture, from `low` up to `high`, [b, 1, …]."""
        size: Any = x.shape[0]
        shape: Any = [size, *[1] * (axes - 1)]
        if size is None:
            shape = joining.stack([shapes.shape(x)[0], *[1] * (axes - 1)])
        kind = x.dtype
        return stateless.stateless_uniform(shape, self.generator.next(), low, high, kind)


def interval(who: str, name: str, factor: Any, least: float | None = None) -> tuple[float, float]:
    """A factor as a range around 0: itself, or two ends.

    Raises:
        ValueError: another number of ends, or in the wrong order.
    """
    ends = factor if isinstance(factor, (list, tuple)) else (-abs(factor), abs(factor))
    if len(ends) != 2 or ends[0] > ends[1] or (least is not None and ends[0] < least):
        raise ValueError(f"{who}: {name} must be a number, or two ascending ones, got {factor!r}")
    return float(ends[0]), float(ends[1])


class CenterCrop(FollowedLayer, PictureLayer):
    """The middle of pictures, or of those in a dict; smaller ones are resized.

    Args:
        height: of the result.
        width: of the result.
        data_format: `channels_last` or `channels_first`.
        **options: `bounding_box_format`; see Layer.
    """

    _draws_seeds = False

    def __init__(
        self,
        height: int,
        width: int,
        data_format: str | None = None,
        **options: Unpack[FollowedOptions],
    ) -> None:
        super().__init__(data_format=data_format, **options)  # type: ignore[call-arg] # of PictureLayer
        self.height = height
        self.width = width

    def call(self, x: Any, training: bool = True) -> Any:
        """The middle; of a dict with what is beside the pictures."""
        del training
        return self._with_company(x) if isinstance(x, dict) else self._picture(x)

    def _picture(self, x: Tensor, is_mask: bool = False) -> Tensor:
        del is_mask  # cut as a picture is
        kind = self._policy._compute
        x = x if x.dtype is kind else casting.cast(x, kind)
        return cut_or_fitted(self, x, None)

    def _move(self, rows: Any, columns: Any) -> Move:
        if not (isinstance(rows, int) and isinstance(columns, int)):
            raise ValueError(  # noqa: TRY004 (a size is no matter of types)
                f"{self._described()}: the size of pictures with boxes must be known, got "
                f"{rows} and {columns}"
            )
        high, wide = self.height, self.width
        if rows < high or columns < wide:  # what has the right ratio in the middle
            high = max(min(rows, int(columns * self.height / self.width)), 1)
            wide = max(min(columns, int(rows * self.width / self.height)), 1)
        left, top = (columns - wide) // 2, (rows - high) // 2
        return {
            "window": (left, top, left + wide, top + high),
            "scale": (self.width / wide, self.height / high),
            "shift": (0.0, 0.0),
        }


class RandomCrop(PictureLayer):
    """While training, a part of the pictures, at one place for a batch; else all of them, resized.

    Args:
        height: of the result.
        width: of the result.
        seed: of the draws.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Source:
        Keras `RandomCrop`: without training, what has the right ratio in the middle, resized.
    """

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        # Keras: a seed is kept, and another drawn for the generator, if none is given.
        kept = make_default_seed() if seed is None else seed
        super().__init__(data_format=data_format, seed=seed, **options)
        self.seed = kept
        self.height = height
        self.width = width

    def call(self, x: Tensor, training: bool = True) -> Tensor:
        """The part, or all of it resized."""
        kind = self._policy._compute
        x = x if x.dtype is kind else casting.cast(x, kind)
        if not training:
            return fitted_picture(self, x)
        places = [
            stateless.stateless_uniform([], self.generator.next(), 0.0, 1.0) for _ in range(2)
        ]
        return cut_or_fitted(self, x, places)


def _picture_axes(layer: Any, x: Tensor) -> tuple[int, int]:
    rank = len(x.shape)
    last = rank - 1 if layer.data_format == "channels_last" else rank
    return last - 2, last - 1


def cut_or_fitted(layer: Any, x: Tensor, places: Sequence[Tensor] | None) -> Tensor:
    """A part of pictures in the size of a layer, in the middle if no places are given.

    Args:
        layer: has height, width and data_format.
        x: pictures.
        places: of the part down and across, from 0 to 1.
    """
    rows, columns = _picture_axes(layer, x)
    known = x.shape.as_list()
    sizes = shapes.shape(x)
    if (
        known[rows] is not None
        and known[columns] is not None
        and (known[rows] < layer.height or known[columns] < layer.width)
    ):
        return fitted_picture(layer, x)
    parts: list[Any] = [slice(None)] * len(known)
    for number, (axis, wanted) in enumerate(((rows, layer.height), (columns, layer.width))):
        over = (sizes[axis] if known[axis] is None else known[axis]) - wanted
        if places is None:
            begin = over // 2
        else:
            free = casting.cast(over + 1, "float32")
            begin = casting.cast(places[number] * free, "int32")
        parts[axis] = slice(begin, begin + wanted)
    y = x[tuple(parts)]
    after = list(known)
    after[rows], after[columns] = layer.height, layer.width
    y.set_shape(after)
    return y


def fitted_picture(layer: Any, x: Tensor) -> Tensor:
    """What has the right ratio in the middle of pictures, resized."""
    resizing = Resizing(
        layer.height,
        layer.width,
        crop_to_aspect_ratio=True,
        data_format=layer.data_format,
        dtype=layer.dtype_policy,
    )
    return resizing._picture(x)
