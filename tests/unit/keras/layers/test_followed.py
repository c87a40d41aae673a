"""Images in dicts: their labels and masks are transformed with them, or returned unchanged."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf

LAYERS = {"resized": tf.keras.layers.Resizing, "cropped": tf.keras.layers.CenterCrop}
every_layer = pytest.mark.parametrize("kind", LAYERS)


@every_layer
def test_a_dict_keeps_what_does_not_move(kind: str) -> None:
    layer = LAYERS[kind](4, 4)
    found = layer({"images": tf.ones([2, 8, 8, 3]), "labels": tf.constant([1, 2])})
    assert found["images"].shape == [2, 4, 4, 3]
    np.testing.assert_array_equal(found["labels"], [1, 2])


@every_layer
def test_boxes_are_refused(kind: str) -> None:
    given = {"images": tf.ones([1, 8, 8, 3]), "bounding_boxes": {"boxes": [[[2.0, 2.0, 6.0, 8.0]]]}}
    with pytest.raises(NotImplementedError, match=r"do not follow images in pinnace\n  Try: segm"):
        LAYERS[kind](4, 4, bounding_box_format="xyxy")(given)


@every_layer
def test_the_format_is_in_the_configuration(kind: str) -> None:
    layer = LAYERS[kind](4, 4, bounding_box_format="rel_xywh")
    assert layer.get_config()["bounding_box_format"] == "rel_xywh"
    assert type(layer).from_config(layer.get_config()).bounding_box_format == "rel_xywh"
    assert "bounding_box_format" not in LAYERS[kind](4, 4).get_config()
