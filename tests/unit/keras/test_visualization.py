"""Boxes and masks drawn into images."""

import importlib.util

import numpy as np
import pytest

import pinnace as tf

visualization = tf.keras.visualization
IMAGES = np.full((2, 20, 30, 3), 50, np.uint8)
BOXES = np.array([[[5, 4, 20, 15], [2, 2, 6, 6]]] * 2, np.float32)
LABELS = np.array([[1, -1], [0, 0]])


def test_a_box_is_a_frame_of_its_colour() -> None:
    given = {"boxes": BOXES, "labels": LABELS}
    found = visualization.draw_bounding_boxes(
        IMAGES, given, "xyxy", color=(1, 2, 3), line_thickness=1
    )
    wanted = np.zeros((20, 30), bool)
    wanted[4, 5:21] = wanted[15, 5:21] = wanted[4:16, 5] = wanted[4:16, 20] = True
    np.testing.assert_array_equal((found[0] == [1, 2, 3]).all(-1), wanted)
    np.testing.assert_array_equal(found[0][~wanted], 50)
    assert (IMAGES == 50).all()
    first = visualization.draw_bounding_boxes(
        IMAGES.transpose(0, 3, 1, 2),
        given,
        "xyxy",
        None,
        (1, 2, 3),
        1,
        data_format="channels_first",
    )
    np.testing.assert_array_equal(first, found)


def test_names_are_written_beside_boxes() -> None:
    given = {"boxes": BOXES, "labels": LABELS, "confidences": np.full((2, 2), 0.5)}
    plain = visualization.draw_bounding_boxes(IMAGES, given, "xyxy")
    named = visualization.draw_bounding_boxes(IMAGES, given, "xyxy", {1: "cat"})
    assert (plain[0] != named[0]).any()
    np.testing.assert_array_equal(plain[1], named[1])


@pytest.mark.parametrize("blend", [True, False])
def test_a_mask_is_a_share_of_its_colour(blend: bool) -> None:
    masks = np.zeros((2, 20, 30, 1), np.int32)
    masks[:, :10], masks[:, 15:] = 1, -1
    colours = {0: (200, 0, 100), 1: (0, 250, 0)}
    found = visualization.draw_segmentation_masks(IMAGES, masks, 2, colours, 0.5, blend)
    for row, colour in ((12, colours[0]), (3, colours[1])):
        wanted = (np.array(colour) * 0.5 + 25).astype(int) if blend else colour
        np.testing.assert_array_equal(found[:, row], np.broadcast_to(wanted, (2, 30, 3)))
    np.testing.assert_array_equal(found[:, 15:], 50)


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(ValueError, match="batched 4D"):
        visualization.draw_segmentation_masks(IMAGES[0], IMAGES[..., :1])
    with pytest.raises(TypeError, match="integer dtype"):
        visualization.draw_segmentation_masks(IMAGES, IMAGES[..., :1] / 2)
    with pytest.raises(ValueError, match="'boxes' and 'labels'"):
        visualization.draw_bounding_boxes(IMAGES, {"boxes": BOXES}, "xyxy")
    with pytest.raises(ValueError, match="`label_map` must also"):
        visualization.plot_image_gallery(IMAGES, y_true=[0, 1])


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is not None, reason="it is about its absence"
)
def test_galleries_say_what_they_need() -> None:
    with pytest.raises(ImportError, match=r"pip install .*plot"):
        visualization.plot_image_gallery(IMAGES)
    with pytest.raises(ImportError, match=r"pip install .*plot"):
        visualization.plot_segmentation_mask_gallery(IMAGES, 2, y_true=IMAGES[..., :1])
