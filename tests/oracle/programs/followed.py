"""Masks that are transformed with images by layers that resize and crop."""

from typing import Any


def changed(tf: Any, _: Any, kind: Any, images: Any, masks: Any) -> list[Any]:
    """Images, masks and labels, from a layer rebuilt from its configuration."""
    layers = tf.keras.layers
    made = {
        "cropped": lambda: layers.CenterCrop(4, 6),
        "stretched": lambda: layers.Resizing(5, 7),
        "padded": lambda: layers.Resizing(5, 7, pad_to_aspect_ratio=True),
        "cut": lambda: layers.Resizing(5, 7, crop_to_aspect_ratio=True),
    }
    layer = made[kind.numpy().decode()]()
    layer = type(layer).from_config(layer.get_config())
    found = layer(
        {
            "images": images,
            "labels": tf.constant([5, 6]),
            "segmentation_masks": masks,
        }
    )
    alone = layer({"images": images[0], "labels": tf.constant(5)})
    return [
        found["images"],
        found["segmentation_masks"],
        found["labels"],
        alone["images"],
    ]
