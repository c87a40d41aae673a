"""Bounding boxes: formats there and back, and areas by counting pixels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras.bounding_boxes.formats import FORMATS

boxes = tf.keras.utils.bounding_boxes
corners = st.tuples(*[st.integers(0, 9)] * 2, *[st.integers(1, 9)] * 2).map(
    lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
)


@pytest.mark.parametrize("form", FORMATS)
@given(box=corners)
def test_a_format_leads_back(form: str, box: list[int]) -> None:
    there = boxes.convert_format(np.array([box], np.float32), "xyxy", form, 20, 16)
    back = boxes.convert_format(there, form, "xyxy", 20, 16)
    np.testing.assert_allclose(back, [box], rtol=1e-5, atol=1e-5)


def pixels(box: list[int]) -> np.ndarray:
    field = np.zeros((20, 20), bool)
    field[box[1] : box[3], box[0] : box[2]] = True
    return field


@given(one=corners, other=corners)
def test_overlaps_are_counted_pixels(one: list[int], other: list[int]) -> None:
    a, b = pixels(one), pixels(other)
    wanted = (a & b).sum() / (a | b).sum()
    found = boxes.compute_iou(np.array([one], "f"), np.array([other], "f"), "xyxy")
    np.testing.assert_allclose(found, [[wanted]], rtol=1e-5, atol=1e-6)


@given(one=corners, other=corners)
def test_complete_overlaps_are_less_but_for_equal_boxes(one: list[int], other: list[int]) -> None:
    a, b = np.array([one], "f"), np.array([other], "f")
    plain = float(boxes.compute_iou(a, b, "xyxy")[0, 0])
    complete = float(boxes.compute_ciou(a, b, "xyxy")[0])
    assert complete <= plain + 1e-5
    if one == other:
        assert complete == pytest.approx(1, abs=1e-5)


@given(anchor=corners, box=corners)
def test_offsets_lead_back(anchor: list[int], box: list[int]) -> None:
    a, b = np.array([anchor], "f"), np.array([box], "f")
    for encoding in ("center_xywh", "center_yxhw"):
        settings = ("xyxy", "xyxy", encoding, [0.1, 0.1, 0.2, 0.2])
        deltas = boxes.encode_box_to_deltas(a, b, *settings)
        back = boxes.decode_deltas_to_boxes(a, deltas, *settings)
        np.testing.assert_allclose(back, b, rtol=1e-4, atol=1e-4)


@given(box=corners, turns=st.integers(0, 3))
def test_quarter_turns_turn_boxes(box: list[int], turns: int) -> None:
    """About the middle of an image of 20 x 20 pixels, whose middle is at 9.5."""
    found = boxes.affine_transform(
        np.array([[box]], "f"), *(np.array([x], "f") for x in (90.0 * turns, 0, 0, 1, 0, 0)), 20, 20
    )
    points = np.array([box[:2], box[2:]], float) - 9.5
    for _ in range(turns):
        points = points[:, ::-1] * [1, -1]
    wanted = np.concatenate([points.min(0), points.max(0)]) + 9.5
    np.testing.assert_allclose(found[0, 0], wanted, atol=1e-4)


def test_what_is_outside_is_cut_off() -> None:
    given_boxes = {"boxes": np.array([[-2, 3, 5, 30], [-9, 1, -2, 4]], "f"), "labels": [1, 2]}
    found = boxes.clip_to_image_size(given_boxes, 10, 8)
    np.testing.assert_array_equal(found["boxes"], [[0, 3, 5, 10], [0, 1, 0, 4]])
    np.testing.assert_array_equal(found["labels"], [1, -1])
    np.testing.assert_array_equal(
        boxes.crop(np.array([[2.0, 3, 9, 9]]), 1, 1, 5, 4), [[1, 2, 4, 5]]
    )
    np.testing.assert_array_equal(boxes.pad(np.array([[2.0, 3, 9, 9]]), 1, 2), [[4, 4, 11, 10]])


def test_what_is_wrong_is_told() -> None:
    box = np.zeros((1, 4), "f")
    with pytest.raises(ValueError, match="Invalid source or target format"):
        boxes.convert_format(box, "xyxy", "corners")
    with pytest.raises(ValueError, match="last dimension of 4"):
        boxes.convert_format(box[:, :3], "xyxy", "xywh")
    with pytest.raises(ValueError, match="must receive `height` and `width`"):
        boxes.convert_format(box, "xyxy", "rel_xywh")
    with pytest.raises(NotImplementedError, match="must be xyxy"):
        boxes.crop(box, 0, 0, 1, 1, "xywh")
    with pytest.raises(ValueError, match="`image_shape` argument"):
        boxes.compute_iou(box, box, "rel_xyxy")
    with pytest.raises(ValueError, match="must be length 4"):
        boxes.encode_box_to_deltas(box, box, "xyxy", "xyxy", variance=[1.0])
