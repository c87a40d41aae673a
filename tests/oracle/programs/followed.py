"""Boxes and masks that follow pictures through the layers that resize and crop."""

from typing import Any


def changed(
    tf: Any, _: Any, kind: Any, form: Any, images: Any, boxes: Any, masks: Any
) -> list[Any]:
    """Pictures, boxes, labels and masks, of a layer made anew from its configuration."""
    layers, form = tf.keras.layers, form.numpy().decode()
    made = {
        "cropped": lambda: layers.CenterCrop(4, 6, bounding_box_format=form),
        "stretched": lambda: layers.Resizing(5, 7, bounding_box_format=form),
        "padded": lambda: layers.Resizing(5, 7, pad_to_aspect_ratio=True, bounding_box_format=form),
        "cut": lambda: layers.Resizing(5, 7, crop_to_aspect_ratio=True, bounding_box_format=form),
    }
    layer = made[kind.numpy().decode()]()
    layer = type(layer).from_config(layer.get_config())
    labels = tf.constant([[0, 1, -1], [2, 3, -1]])
    found = layer(
        {
            "images": images,
            "bounding_boxes": {"boxes": boxes, "labels": labels},
            "labels": tf.constant([5, 6]),
            "segmentation_masks": masks,
        }
    )
    inside = found["bounding_boxes"]
    alone = layer({"images": images[0], "labels": tf.constant(5)})
    return [
        found["images"],
        inside["boxes"],
        tf.cast(inside["labels"], tf.int64),
        found["segmentation_masks"],
        found["labels"],
        alone["images"],
    ]
