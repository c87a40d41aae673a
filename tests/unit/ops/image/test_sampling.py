"""Random crops of images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf

SIDES = st.integers(8, 200)
CORNERS = st.integers(0, 32).map(lambda n: n / 64)


@given(
    height=SIDES,
    width=SIDES,
    corner=st.tuples(CORNERS, CORNERS),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    seed=st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 99)),
)
def test_a_part_keeps_to_its_ranges_and_covers_enough(
    height: int, width: int, corner: tuple[float, float], share: float, seed: tuple[int, int]
) -> None:
    top, left = corner
    box = np.array([[[top, left, top + 0.5, left + 0.5]]], np.float32)
    begin, size, part = tf.image.stateless_sample_distorted_bounding_box(
        [height, width, 3], box, seed, share, (0.5, 2.0), (0.25, 0.75)
    )
    y, x, _ = begin.numpy().tolist()
    tall, wide, channels = size.numpy().tolist()
    assert channels == -1
    assert 0 <= y <= y + tall <= height
    assert 0 <= x <= x + wide <= width
    corners = np.array([y / height, x / width, (y + tall) / height, (x + wide) / width])
    np.testing.assert_allclose(part.numpy()[0, 0], corners, rtol=1e-6)
    if (tall, wide) == (height, width):
        return  # no crop was found
    assert 0.25 <= tall * wide / (height * width) <= 0.75
    # Sides are integers, so the aspect ratio is kept within a pixel.
    assert 0.5 * (tall - 1) - 1 <= wide <= 2.0 * (tall + 1) + 1
    sides = np.array([height, width, height, width], np.float32)
    a, b, c, d = (box.reshape(4) * sides).astype(int).tolist()
    covered = max(min(c, y + tall) - max(a, y), 0) * max(min(d, x + wide) - max(b, x), 0)
    assert covered >= share * (c - a) * (d - b) * (1 - 1e-6)


def test_boxes_and_ranges_that_cannot_be_are_refused() -> None:
    sample = tf.image.stateless_sample_distorted_bounding_box
    box = [[[0.0, 0.0, 1.0, 1.0]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be from 0 to 1"):
        sample([8, 8, 3], [[[0.0, 0.0, 1.5, 1.0]]], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must not be empty\n  Try: use_im"):
        sample([8, 8, 3], np.zeros([1, 0, 4], np.float32), [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"area_range must be two numbers"):
        sample([8, 8, 3], box, [1, 2], area_range=(0.5, 1.5))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"max_attempts must be positive"):
        sample([8, 8, 3], box, [1, 2], max_attempts=0)
    begin, size, _ = sample(
        [8, 6, 3],
        np.zeros([1, 0, 4], np.float32),
        [1, 2],
        area_range=(1.0, 1.0),
        use_image_if_no_bounding_boxes=True,
    )
    assert begin.numpy().tolist() == [0, 0, 0]
    assert size.numpy().tolist() == [8, 6, -1]


def test_a_seeded_op_goes_on_in_its_stream_and_starts_anew() -> None:
    box = np.array([[[0.25, 0.25, 0.75, 0.75]]], np.float32)

    def drawn() -> list[list[int]]:
        tf.random.set_seed(3)
        return [
            tf.image.sample_distorted_bounding_box([90, 70, 3], box, seed=5)[0].numpy().tolist()
            for _ in range(6)
        ]

    first = drawn()
    assert first == drawn()
    assert len({tuple(one) for one in first}) > 1


@given(share=st.sampled_from([0.25, 0.5, 1.0]), seed=st.integers(1, 99))
def test_both_seeded_ops_draw_the_same_part(share: float, seed: int) -> None:
    # An attribute of the first op is an input of the second.
    given_ = {"image_size": [40, 60, 3], "bounding_boxes": [[[0.25, 0.25, 0.75, 0.75]]]}
    first = tf.raw_ops.SampleDistortedBoundingBox(
        **given_, seed=seed, seed2=7, min_object_covered=share
    )
    second = tf.raw_ops.SampleDistortedBoundingBoxV2(
        **given_, seed=seed, seed2=7, min_object_covered=np.float32(share)
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
