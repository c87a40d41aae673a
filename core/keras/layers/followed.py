"""The base class of layers that resize or crop images together with their masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.layer import Layer, LayerOptions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class FollowedOptions(LayerOptions, total=False):
    """The arguments of every layer of this kind.

    bounding_box_format: stored in files; boxes are not transformed.
    """

    bounding_box_format: str | None


def refuse_boxes(who: str, data: dict[str, Any]) -> None:
    """Raise for a dict with bounding boxes, whose transformation is not supported.

    Raises:
        NotImplementedError: the dict has bounding boxes.
    """
    if "bounding_boxes" in data:
        raise NotImplementedError(
            f"{who}: bounding boxes do not follow images in pinnace\n"
            "  Try: segmentation masks, which do; or keep 'bounding_boxes' out of the dict and "
            "move them in the program"
        )


class FollowedLayer(Layer):
    """The base of layers for images, or dicts with "images", "segmentation_masks" and more.

    Args:
        bounding_box_format: kept for files; boxes do not follow images here.
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
        """Images, or masks, in the layer's target size."""
        raise NotImplementedError

    def _with_company(self, data: dict[str, Any]) -> dict[str, Any]:
        """The transformed images of a dict, together with its other entries."""
        refuse_boxes(self._described(), data)
        found = {**data, "images": self._picture(convert_to_tensor(data["images"]))}
        if "segmentation_masks" in data:
            masks = convert_to_tensor(data["segmentation_masks"])
            found["segmentation_masks"] = self._picture(masks, is_mask=True)
        return found
