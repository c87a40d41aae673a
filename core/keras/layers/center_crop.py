"""The centre crop of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.layers.followed import FollowedLayer, FollowedOptions
from pinnace.keras.layers.preprocessing import Resizing
from pinnace.ops.array import casting, shapes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class CenterCrop(FollowedLayer):
    """Crops the centre of images, also in a dict; smaller images are resized.

    Args:
        height: height of the result.
        width: width of the result.
        data_format: `channels_last` or `channels_first`.
        **options: `bounding_box_format`; see Layer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same with `height` rows and `width`
        columns.
    """

    def __init__(
        self,
        height: int,
        width: int,
        data_format: str | None = None,
        **options: Unpack[FollowedOptions],
    ) -> None:
        super().__init__(**options)
        self.data_format = checked_format("CenterCrop", data_format)
        self.height = height
        self.width = width
        self._build_at_init()

    def call(self, x: Any, training: bool = True) -> Any:
        """The centre crop; for a dict, of its images and masks."""
        del training
        return self._with_company(x) if isinstance(x, dict) else self._picture(x)

    def _picture(self, x: Tensor, is_mask: bool = False) -> Tensor:
        del is_mask  # cropped like an image
        kind = self._policy._compute
        x = x if x.dtype is kind else casting.cast(x, kind)
        return cut_or_fitted(self, x)


def _picture_axes(layer: Any, x: Tensor) -> tuple[int, int]:
    rank = len(x.shape)
    last = rank - 1 if layer.data_format == "channels_last" else rank
    return last - 2, last - 1


def cut_or_fitted(layer: Any, x: Tensor) -> Tensor:
    """The centre crop of images with the size of a layer.

    Args:
        layer: has height, width and data_format.
        x: pictures.
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
    for axis, wanted in ((rows, layer.height), (columns, layer.width)):
        begin = ((sizes[axis] if known[axis] is None else known[axis]) - wanted) // 2
        parts[axis] = slice(begin, begin + wanted)
    y = x[tuple(parts)]
    after = list(known)
    after[rows], after[columns] = layer.height, layer.width
    y.set_shape(after)
    return y


def fitted_picture(layer: Any, x: Tensor) -> Tensor:
    """The largest centre crop with the target's aspect ratio, resized."""
    resizing = Resizing(
        layer.height,
        layer.width,
        crop_to_aspect_ratio=True,
        data_format=layer.data_format,
        dtype=layer.dtype_policy,
    )
    return resizing._picture(x)
