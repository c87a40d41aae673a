"""Bounding boxes drawn into images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.extras import install_command
from pinnace.keras.bounding_boxes.formats import convert_format
from pinnace.keras.visualization.image_batches import image_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Array

# Height of a capital letter at font_scale 1, in pixels, and the room between text and box.
_LETTER = 22
_ROOM = 3


def draw_bounding_boxes(
    images: Any,
    bounding_boxes: dict[str, Any],
    bounding_box_format: str,
    class_mapping: Mapping[int, str] | None = None,
    color: Sequence[int] = (128, 128, 128),
    line_thickness: int = 2,
    text_thickness: int = 1,
    font_scale: float = 1.0,
    data_format: str | None = None,
) -> Array:
    """Images with their boxes.

    Args:
        images: [batch, height, width, channels], uint8, or floats up to 1 or up to 255.
        bounding_boxes: "boxes" [batch, n, 4], "labels" [batch, n], of which -1 is not drawn, and
            perhaps "confidences" [batch, n], which are written beside names.
        bounding_box_format: see `keras.utils.bounding_boxes.convert_format`.
        class_mapping: names by label; others have none. Names need Pillow.
        color: of lines and names, from 0 to 255.
        line_thickness: of lines, in pixels.
        text_thickness: of names, in pixels.
        font_scale: size of names; 1 is about 22 pixels.
        data_format: "channels_last" or "channels_first"; as the configuration says if None.

    Returns:
        [batch, height, width, channels], uint8.

    Raises:
        ImportError: there are names to write, and no Pillow.
        TypeError: `bounding_boxes` is no dict.
        ValueError: it has no "boxes" or "labels", or there is no batch.
    """
    who = "draw_bounding_boxes"
    if not isinstance(bounding_boxes, dict):
        raise TypeError(
            f"{who}: `bounding_boxes` should be a dict, got {type(bounding_boxes).__name__}"
        )
    if not {"boxes", "labels"} <= bounding_boxes.keys():
        raise ValueError(
            f"{who}: `bounding_boxes` should be a dict containing 'boxes' and 'labels' keys, got "
            f"{sorted(bounding_boxes)}"
        )
    canvas = _bytes(image_batch(who, images, data_format))
    height, width = canvas.shape[1:3]
    corners = convert_format(bounding_boxes["boxes"], bounding_box_format, "xyxy", height, width)
    boxes, labels = np.asarray(corners).astype(np.int32), np.asarray(bounding_boxes["labels"])
    trust = bounding_boxes.get("confidences")
    names = class_mapping or {}
    for place, image in enumerate(canvas):
        for index, (box, label) in enumerate(zip(boxes[place], labels[place], strict=True)):
            if int(label) == -1:
                continue
            _rectangle(image, box, color, line_thickness)
            if int(label) in names:
                text = names[int(label)]
                if trust is not None:
                    text = f"{text} | {np.asarray(trust)[place][index]:.2f}"
                _text(image, box, text, color, font_scale, text_thickness or line_thickness)
    return canvas


def _bytes(images: Array) -> Array:
    if images.dtype.kind == "f":
        # Keras: what is nowhere above 1 is in shares.
        scale = 255 if images.size and images.max() <= 1.0 else 1
        images = np.clip(images * scale, 0, 255)
    return images.astype(np.uint8)


def _rectangle(image: Array, box: Array, color: Sequence[int], thickness: int) -> None:
    """Four lines, each around the coordinate it stands for."""
    before = thickness // 2
    after = thickness - before
    x1, y1, x2, y2 = (int(n) for n in box)
    columns = slice(max(x1 - before, 0), max(x2 + after, 0))
    rows = slice(max(y1 - before, 0), max(y2 + after, 0))
    for y in (y1, y2):
        image[max(y - before, 0) : max(y + after, 0), columns] = color
    for x in (x1, x2):
        image[rows, max(x - before, 0) : max(x + after, 0)] = color


def _text(
    image: Array, box: Array, text: str, color: Sequence[int], scale: float, thickness: int
) -> None:
    """A name above its box, or inside where there is no room above."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise ImportError(
            f"draw_bounding_boxes: names need Pillow\n  Try: {install_command('image')}"
        ) from error
    size = _LETTER * scale
    x, y = int(box[0]), int(box[1]) - _ROOM - size
    if y < 0:
        x, y = x + _ROOM, int(box[1]) + _ROOM
    picture = Image.new("L", (image.shape[1], image.shape[0]))
    font = ImageFont.load_default(size)
    pen = ImageDraw.Draw(picture)
    pen.text((x, y), text, fill=255, font=font, stroke_width=max(thickness - 1, 0))
    share = np.asarray(picture, np.float32)[..., None] / 255
    image[:] = np.round(image * (1 - share) + np.asarray(color) * share).astype(np.uint8)
