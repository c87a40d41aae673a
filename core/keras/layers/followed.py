"""Resized and cropped pictures with what comes with them: boxes and masks go where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import shapes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class FollowedOptions(LayerOptions, total=False):
    """The arguments of every layer whose pictures are followed.

    bounding_box_format: of the boxes; see `keras.utils.bounding_boxes.convert_format`.
    """

    bounding_box_format: str | None


class Move(TypedDict):
    """Where pixels go: those in a window (left, top, right, bottom), scaled, then shifted.

    Scale and shift are of x and of y; no window is the whole plane.
    """

    window: tuple[int, int, int, int] | None
    scale: tuple[Any, Any]
    shift: tuple[Any, Any]


class FollowedLayer(Layer):
    """Takes pictures, or a dict with "images" and perhaps "bounding_boxes" and more.

    Args:
        bounding_box_format: of the boxes; needed if there are any.
        **options: see Layer.
    """

    height: int
    width: int
    data_format: str

    def __init__(
        self, *, bounding_box_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.bounding_box_format = bounding_box_format

    def _picture(self, x: Tensor, is_mask: bool = False) -> Tensor:
        """Pictures, or masks, in the size of the layer."""
        raise NotImplementedError

    def _move(self, rows: Any, columns: Any) -> Move:
        """Where pixels of pictures of a size go."""
        raise NotImplementedError

    def _with_company(self, data: dict[str, Any]) -> dict[str, Any]:
        """The pictures of a dict, changed, with all that is beside them."""
        images = convert_to_tensor(data["images"])
        found = {**data, "images": self._picture(images)}
        if "segmentation_masks" in data:
            masks = convert_to_tensor(data["segmentation_masks"])
            found["segmentation_masks"] = self._picture(masks, is_mask=True)
        if "bounding_boxes" in data:
            found["bounding_boxes"] = self._boxes(data["bounding_boxes"], images)
        return found

    def _boxes(self, given: Any, images: Tensor) -> dict[str, Any]:
        # Late: few pictures have boxes.
        from pinnace.keras import ops
        from pinnace.keras.bounding_boxes.changes import clip_to_image_size
        from pinnace.keras.bounding_boxes.formats import convert_format
        from pinnace.keras.bounding_boxes.inputs import dense_boxes

        own = self.bounding_box_format
        if not own:
            raise ValueError(
                f"{self._described()}: You passed an input with a 'bounding_boxes' key, but you "
                "didn't specify a bounding box format\n  Try: bounding_box_format='xyxy'"
            )
        axes = (-3, -2) if self.data_format == "channels_last" else (-2, -1)
        known, sizes = images.shape.as_list(), shapes.shape(images)
        rows, columns = (sizes[axis] if known[axis] is None else known[axis] for axis in axes)
        whole = dense_boxes(self._described(), given)
        held = ops.convert_to_tensor(whole["boxes"])
        # Those that stand for none, as they were given.
        none = ops.all(held == -1, axis=-1, keepdims=True) | ops.all(
            held == 0, axis=-1, keepdims=True
        )
        found = convert_format(whole, own, "xyxy", rows, columns, "float32")
        boxes = found["boxes"]
        move = self._move(rows, columns)
        parts = ops.split(boxes, 4, -1)
        if move["window"] is not None:
            left, top, right, bottom = move["window"]
            ends = ((left, right), (top, bottom)) * 2
            parts = [
                ops.clip(x, low, high) - low for x, (low, high) in zip(parts, ends, strict=True)
            ]
        changes = zip(parts, move["scale"] * 2, move["shift"] * 2, strict=True)
        moved = [x * scale + shift for x, scale, shift in changes]
        found = {**found, "boxes": ops.concatenate(moved, -1)}
        clipped = clip_to_image_size(found, self.height, self.width)
        clipped["boxes"] = ops.where(none, 0.0, clipped["boxes"])
        back: dict[str, Any] = convert_format(
            clipped, "xyxy", own, self.height, self.width, "float32"
        )
        return back
