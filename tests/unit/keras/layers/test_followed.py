"""Pictures in dicts: what comes with them follows them, or comes back as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

LAYERS = {"resized": tf.keras.layers.Resizing, "cropped": tf.keras.layers.CenterCrop}
every_layer = pytest.mark.parametrize("kind", LAYERS)


def given(boxes: Any) -> dict[str, Any]:
    return {
        "images": tf.ones([1, 8, 8, 3]),
        "bounding_boxes": {"boxes": tf.constant(boxes), "labels": tf.constant([[1, 2]])},
    }


def test_boxes_are_scaled_or_cut() -> None:
    data = given([[[2.0, 2.0, 6.0, 8.0], [0.0, 0.0, 1.0, 1.0]]])
    resized = tf.keras.layers.Resizing(4, 16, bounding_box_format="xyxy")(data)
    np.testing.assert_allclose(
        resized["bounding_boxes"]["boxes"], [[[4, 1, 12, 4], [0, 0, 2, 0.5]]]
    )
    cropped = tf.keras.layers.CenterCrop(4, 4, bounding_box_format="xyxy")(data)
    np.testing.assert_allclose(cropped["bounding_boxes"]["boxes"], [[[0, 0, 4, 4], [0] * 4]])
    np.testing.assert_array_equal(cropped["bounding_boxes"]["labels"], [[1, -1]])


def test_sizes_that_a_function_does_not_know_are_computed() -> None:
    layer = tf.keras.layers.Resizing(4, 4, bounding_box_format="xyxy")
    spec = tf.TensorSpec([None, None, None, 3])
    boxes = tf.constant([[[2.0, 2.0, 6.0, 8.0]]])

    @tf.function(input_signature=[spec])
    def call(images: Any) -> Any:
        beside = {"boxes": boxes, "labels": tf.constant([[1]])}
        return layer({"images": images, "bounding_boxes": beside})["bounding_boxes"]["boxes"]

    np.testing.assert_allclose(call(tf.ones([1, 8, 16, 3])), [[[0.5, 1, 1.5, 4]]])


@every_layer
def test_a_dict_keeps_what_does_not_move(kind: str) -> None:
    layer = LAYERS[kind](4, 4)
    found = layer({"images": tf.ones([2, 8, 8, 3]), "labels": tf.constant([1, 2])})
    assert found["images"].shape == [2, 4, 4, 3]
    np.testing.assert_array_equal(found["labels"], [1, 2])


@every_layer
def test_boxes_without_a_format_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="you didn't specify a bounding box format"):
        LAYERS[kind](4, 4)(given([[[2.0, 2.0, 6.0, 8.0], [0.0, 0.0, 1.0, 1.0]]]))


@every_layer
def test_the_format_is_in_the_configuration(kind: str) -> None:
    layer = LAYERS[kind](4, 4, bounding_box_format="rel_xywh")
    assert layer.get_config()["bounding_box_format"] == "rel_xywh"
    assert type(layer).from_config(layer.get_config()).bounding_box_format == "rel_xywh"
    assert "bounding_box_format" not in LAYERS[kind](4, 4).get_config()
