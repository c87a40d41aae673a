"""Eager ops have run when their call returns, also in a block for asynchronous execution."""

import pytest

import pinnace as tf


def test_an_error_in_the_block_is_raised_where_it_happens() -> None:
    with tf.experimental.async_scope():
        assert (tf.constant(1) + 2).numpy() == 3
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.constant([1, 2]) + tf.constant([1, 2, 3])
    tf.experimental.async_clear_error()
    assert (tf.constant(1) + 2).numpy() == 3


def test_names_that_will_not_be_here_say_what_to_use() -> None:
    with pytest.raises(AttributeError, match=r"Try: tf\.io\.decode_image"):
        _ = tf.image.decode_jxl  # type: ignore[attr-defined]
