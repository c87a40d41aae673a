"""An error keeps its position: elements before it arrive, whatever consumes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

Data = tf.data.Dataset


def for_many(x: Any) -> Any:
    """A function that fails for 3; on many rows at once, for all of them."""
    return 12 // (3 - x)


def one_by_one(x: Any) -> Any:
    """The same, without a form for many rows."""
    with tf.control_dependencies([tf.debugging.assert_none_equal(x, np.int64(3))]):
        return 12 // (3 - x + tf.cast(x == 3, tf.int64))


FUNCTIONS = pytest.mark.parametrize("function", [for_many, one_by_one])


WAYS = {
    "take": lambda data: data.take(6),
    "skip": lambda data: data.skip(1),
    "repeat": lambda data: data.repeat(2),
    "shard": lambda data: data.shard(1, 0),
    "batch": lambda data: data.batch(1),
}


@FUNCTIONS
@pytest.mark.parametrize("way", WAYS)
def test_what_comes_before_a_failing_row_arrives(way: str, function: Any) -> None:
    data = WAYS[way](Data.range(8).map(function))
    found = iter(data)
    first = [int(np.ravel(next(found))[0]) for _ in range(2 if way == "skip" else 3)]
    assert first == ([6, 12] if way == "skip" else [4, 6, 12])
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(found)


@FUNCTIONS
@pytest.mark.parametrize("way", sorted(set(WAYS) - {"batch"}))
def test_only_what_fails_is_left_out(way: str, function: Any) -> None:
    data = WAYS[way](Data.range(5).map(function)).ignore_errors()
    once = [4, 6, 12, -12]
    wanted = {"repeat": once * 2, "skip": once[1:]}.get(way, once)
    assert [int(one) for one in data] == wanted


def test_what_fails_for_many_alone_is_done_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from pinnace.data.functions import BatchedFunction

    def broken(*_: Any) -> Any:
        raise RuntimeError("not for many")

    data = Data.range(5).map(lambda n: (n * 2, n + 1))
    monkeypatch.setattr(BatchedFunction, "__call__", broken)
    assert [[part.numpy().tolist() for part in batch] for batch in data.batch(3)] == [
        [[0, 2, 4], [1, 2, 3]],
        [[6, 8], [4, 5]],
    ]
    assert sorted(int(a) for a, _ in data.shuffle(5)) == [0, 2, 4, 6, 8]
