"""Boxes from anchors: which are kept, where they lie, what is refused."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf


def proposals(**changed: Any) -> Any:
    """One image of 20 by 30, one row of three anchors."""
    anchors = [[[0, 0, 10, 10, 0, 1, 10, 11, 5, 15, 15, 25]]]
    options = {
        "scores": np.float32([[[[0.5, 0.9, 0.7]]]]),
        "bbox_deltas": np.zeros((1, 1, 1, 12), np.float32),
        "image_info": np.float32([[20, 30, 1, 0, 0]]),
        "anchors": np.float32(anchors),
        "min_size": 2.0,
        "post_nms_topn": 3,
    }
    return [
        np.asarray(x) for x in tf.image.generate_bounding_box_proposals(**{**options, **changed})
    ]


def test_the_best_that_do_not_overlap_come_first_and_zeros_after_them() -> None:
    rois, chances = proposals()
    np.testing.assert_array_equal(rois[0], [[0, 1, 10, 11], [5, 15, 15, 25], [0, 0, 0, 0]])
    np.testing.assert_array_equal(chances, np.float32([[0.9, 0.7, 0]]))


def test_boxes_move_grow_and_stay_in_the_image() -> None:
    deltas = np.zeros((1, 1, 1, 12), np.float32)
    deltas[..., 8:] = [0.1, -0.5, np.log(2), 100]
    rois, _ = proposals(bbox_deltas=deltas, nms_threshold=1.0)
    # Centre (10, 20) goes to (11, 15); 20 high; wider than the image, which cuts it.
    np.testing.assert_allclose(rois[0, 1], [1, 0, 20, 30], rtol=1e-6)


def test_small_boxes_and_those_of_low_scores_are_left_out() -> None:
    assert (proposals(min_size=11.0)[1] == 0).all()
    np.testing.assert_array_equal(proposals(pre_nms_topn=1)[1], np.float32([[0.9, 0, 0]]))


@pytest.mark.parametrize(
    "wrong", [{"nms_threshold": 1.5}, {"pre_nms_topn": 0}, {"post_nms_topn": 0}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=next(iter(wrong))):
        proposals(**wrong)
