"""Boundaries behind a handle are returned unchanged, and missing ones are named in errors."""

from __future__ import annotations

from typing import Any

import pytest

import pinnace as tf

raw: Any = tf.raw_ops


def boundaries(handle: Any, count: int) -> list[list[float]]:
    found = raw.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
        quantile_stream_resource_handle=handle, num_features=count
    )
    return [one.numpy().tolist() for one in found]


def create(handle: Any, count: int = 2, epsilon: float = 0.1) -> None:
    raw.BoostedTreesCreateQuantileStreamResource(
        quantile_stream_resource_handle=handle,
        epsilon=tf.constant(epsilon),
        num_streams=tf.constant(count, tf.int64),
    )


def give(handle: Any, *edges: Any) -> None:
    raw.BoostedTreesQuantileStreamResourceDeserialize(
        quantile_stream_resource_handle=handle, bucket_boundaries=[tf.constant(e) for e in edges]
    )


def is_ready(handle: Any) -> bool:
    told = raw.IsBoostedTreesQuantileStreamResourceInitialized(
        quantile_stream_resource_handle=handle
    )
    return bool(told)


def test_boundaries_are_what_was_given() -> None:
    handle = raw.BoostedTreesQuantileStreamResourceHandleOp()
    assert not is_ready(handle)
    with pytest.raises(tf.errors.FailedPreconditionError, match="were not created yet"):
        boundaries(handle, 2)
    create(handle)
    assert (is_ready(handle), boundaries(handle, 2)) == (True, [[], []])
    give(handle, [1.0, 2.5], [3.0])
    assert boundaries(handle, 2) == [[1.0, 2.5], [3.0]]
    create(handle)  # restoring came first
    assert boundaries(handle, 2) == [[1.0, 2.5], [3.0]]


def test_what_is_wrong_is_said() -> None:
    handle = raw.BoostedTreesQuantileStreamResourceHandleOp()
    with pytest.raises(tf.errors.InvalidArgumentError, match="epsilon must be between 0 and 1"):
        create(handle, epsilon=2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_streams must be in"):
        create(handle, count=-1)
    give(handle, [1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_features must be 1, got 3"):
        boundaries(handle, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be vectors, got \[\[1, 1\]\]"):
        give(handle, [[1.0]])
    other = raw.BoostedTreesEnsembleResourceHandleOp()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be the handle of boundaries"):
        give(other, [1.0])
