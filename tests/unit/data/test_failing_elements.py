"""`ignore_errors` loses only what fails, whatever stands between the failure and it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

Data = tf.data.Dataset
KEPT = [0, 1, 3, 4, 6, 7]


def _checked(x: Any) -> Any:
    with tf.control_dependencies(
        [
            tf.debugging.assert_none_equal(x, np.int64(2)),
            tf.debugging.assert_none_equal(x, np.int64(5)),
        ]
    ):
        return tf.identity(x)


def _at_once(x: Any) -> Any:
    """Fails for 2 and 5 by a division that works on many rows at once."""
    return x + 0 * (7 // ((x - 2) * (x - 5)))


def _failing(function: Any) -> Any:
    return Data.range(8).map(function)


def _fill(x: Any) -> Any:
    return tf.fill([x], x)


def _sums(total: Any, x: Any) -> Any:
    return total + x, total + x


WAYS: dict[str, tuple[Any, Any]] = {
    "filter": (lambda d: d.filter(lambda x: x % 2 == 0), [0, 4, 6]),
    "flat_map": (lambda d: d.flat_map(Data.range), [n for k in KEPT for n in range(k)]),
    "inner": (lambda d: Data.range(2).flat_map(lambda _: d), KEPT * 2),
    "interleave": (
        lambda d: d.interleave(Data.range, cycle_length=1),
        [n for k in KEPT for n in range(k)],
    ),
    "parallel interleave": (
        lambda d: d.interleave(Data.range, cycle_length=1, num_parallel_calls=1),
        [n for k in KEPT for n in range(k)],
    ),
    "two at a time": (
        lambda d: Data.range(2).interleave(lambda _: d, cycle_length=2),
        [n for k in KEPT for n in (k, k)],
    ),
    "concatenate": (lambda d: d.concatenate(d), KEPT * 2),
    "zip": (lambda d: Data.zip(d, Data.range(9)), [(k, k) for k in KEPT]),
    "zip behind": (lambda d: Data.zip(Data.range(9), d), [(k, k) for k in KEPT]),
    "enumerate": (lambda d: d.enumerate(), [(k, k) for k in KEPT]),
    "scan": (lambda d: d.scan(np.int64(0), _sums), np.cumsum(KEPT).tolist()),
    "take_while": (lambda d: d.take_while(lambda x: x < 7), KEPT[:-1]),
    "unique": (lambda d: d.concatenate(d).unique(), KEPT),
    "cache": (lambda d: d.cache(), KEPT),
    "prefetch": (lambda d: d.prefetch(2), KEPT),
    "group_by_window": (
        lambda d: d.group_by_window(lambda x: x % 2, lambda _, w: w.batch(2), window_size=2),
        [[1, 3], [0, 4], [6], [7]],
    ),
    "window": (lambda d: d.window(2).flat_map(lambda w: w), [0, 1, 6, 7]),
    "choose_from_datasets": (
        lambda d: Data.choose_from_datasets([d, Data.range(9)], Data.range(2).repeat(6)),
        [0, 0, 1, 1, 2, 3, 3, 4, 4, 5],
    ),
    "batch": (lambda d: d.filter(lambda _: True).batch(2), [[0, 1], [3, 4], [6, 7]]),
}
FUNCTIONS = pytest.mark.parametrize("function", [_checked, _at_once])


def _plain(element: Any) -> Any:
    if isinstance(element, tuple):
        return tuple(map(_plain, element))
    return element.numpy().tolist()


@FUNCTIONS
@pytest.mark.parametrize("way", WAYS)
def test_only_what_fails_is_lost(way: str, function: Any) -> None:
    pipeline, expected = WAYS[way]
    assert [_plain(e) for e in pipeline(_failing(function)).ignore_errors()] == expected


@FUNCTIONS
@pytest.mark.parametrize("size", [3, 30])
def test_a_shuffled_dataset_loses_only_what_fails(size: int, function: Any) -> None:
    found = _failing(function).shuffle(size).ignore_errors()
    assert sorted(_plain(e) for e in found) == KEPT


def test_a_cache_in_a_file_does_not_hold_what_failed(tmp_path: Any) -> None:
    data = _failing(_checked).cache(str(tmp_path / "cache")).ignore_errors()
    assert [_plain(e) for e in data] == KEPT
    assert [_plain(e) for e in data] == KEPT


def test_an_iterator_goes_on_after_an_error() -> None:
    found = iter(_failing(_checked).flat_map(lambda x: Data.from_tensors(-x)))
    assert [_plain(next(found)) for _ in range(2)] == [0, -1]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(found)
    assert [_plain(next(found)) for _ in range(2)] == [-3, -4]


@pytest.mark.parametrize("wrong", ["text", [1, 2]])
def test_an_item_of_a_generator_that_does_not_fit_ends_nothing(wrong: Any) -> None:
    spec = tf.TensorSpec((), tf.int32)
    data = Data.from_generator(lambda: iter([1, wrong, 3]), output_signature=spec)
    assert [_plain(e) for e in data.ignore_errors()] == [1, 3]
