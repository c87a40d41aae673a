"""Datasets with random elements, shards of saved datasets, and options."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.data import Dataset, Options
from pinnace.framework.errors import InvalidArgumentError


def test_rejection_gives_the_distribution_wanted() -> None:
    numbers = Dataset.range(20_000)
    wanted = [0.5, 0.3, 0.2]
    drawn = numbers.rejection_resample(
        lambda x: tf.cast(tf.minimum(x % 10, 2), tf.int32), wanted, seed=1
    )
    pairs = list(drawn.as_numpy_iterator())
    classes = np.array([c for c, _ in pairs])
    assert all(c == min(x % 10, 2) for c, x in pairs)
    # Five standard deviations of a count of len(pairs) draws.
    margin = 5 * np.sqrt(0.25 / len(pairs))
    np.testing.assert_allclose(np.bincount(classes) / len(pairs), wanted, atol=margin)
    assert [x for _, x in pairs] == sorted(x for _, x in pairs)
    with pytest.raises(InvalidArgumentError, match="class must be in"):
        list(numbers.rejection_resample(lambda x: tf.cast(x, tf.int32), [0.5, 0.5]))


def test_weights_may_change_at_each_step() -> None:
    weights = Dataset.from_tensor_slices([[1.0, 0.0], [0.0, 1.0]]).repeat(3)
    found = Dataset.sample_from_datasets([Dataset.range(9), Dataset.range(100, 109)], weights)
    assert list(found.as_numpy_iterator()) == [0, 100, 1, 101, 2, 102]


def test_files_of_a_saved_dataset_are_read_as_wanted(tmp_path: Path) -> None:
    Dataset.range(12).save(str(tmp_path / "x"), shard_func=lambda x: x % 3)
    counted: list[int] = []

    def reader(files: Dataset) -> Dataset:
        counted.append(int(files.cardinality()))
        return files.interleave(lambda file: file, cycle_length=3)

    again = Dataset.load(str(tmp_path / "x"), reader_func=reader)
    assert list(again.as_numpy_iterator()) == list(range(12))
    assert counted == [3]
    with pytest.raises(InvalidArgumentError, match="shard_func"):
        Dataset.range(3).save(str(tmp_path / "y"), shard_func=lambda x: x - 1)


def test_a_snapshot_has_files_too(tmp_path: Path) -> None:
    made: list[int] = []

    def seen(x: int) -> int:
        made.append(int(x))
        return x

    source = Dataset.range(8).map(lambda x: tf.py_function(seen, [x], tf.int64))
    kept = source.snapshot(
        str(tmp_path / "s"),
        shard_func=lambda x: tf.reshape(x % 2, []),
        reader_func=lambda files: files.flat_map(lambda file: file),
    )
    assert [int(x) for x in kept] == list(range(8))
    assert [int(x) for x in kept] == [0, 2, 4, 6, 1, 3, 5, 7]
    assert made == list(range(8))


@pytest.mark.filterwarnings("ignore:.* has no effect:UserWarning")
def test_options_are_known_ones_and_merge() -> None:
    options = Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 4
    other = Options()
    other.experimental_slack = True
    merged = Dataset.range(3).with_options(options).with_options(other).options()
    assert merged.experimental_deterministic is False
    assert merged.threading.private_threadpool_size == 4
    assert merged.experimental_slack is True
    with pytest.raises(AttributeError, match="no option 'determinstic'"):
        options.determinstic = True  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="ThreadingOptions"):
        options.threading = 3


def _drawn(_: Any) -> Any:
    return tf.random.uniform((), maxval=1 << 30, dtype=tf.int32, seed=4)


def _pass(dataset: Dataset) -> list[int]:
    return [int(x) for x in dataset.as_numpy_iterator()]


@pytest.mark.parametrize(
    "made",
    [
        lambda source: source.map(_drawn),
        lambda source: source.map(lambda x: tf.cond(x < 99, lambda: _drawn(x), lambda: 0)),
        lambda source: source.filter(lambda x: _drawn(x) < (1 << 29)),
        lambda source: source.scan(0, lambda state, x: (state, _drawn(x))),
        lambda source: source.flat_map(lambda x: Dataset.from_tensors(_drawn(x))),
        lambda source: source.flat_map(lambda _: Dataset.range(4).map(_drawn)),
        lambda source: source.interleave(lambda _: Dataset.range(9).shuffle(9, seed=2)),
    ],
    ids=["map", "cond", "filter", "scan", "flat_map", "inner map", "inner shuffle"],
)
def test_functions_with_a_seed_draw_the_same_in_each_pass(made: Any) -> None:
    dataset = made(Dataset.range(20))
    first = _pass(dataset)
    assert len(set(first)) > 4
    assert _pass(dataset) == first
    iterator = dataset.as_numpy_iterator()
    assert [int(next(iterator)), *_pass(dataset)] == [first[0], *first]


def test_within_a_pass_draws_go_on_and_inner_shuffles_begin_anew() -> None:
    twice = _pass(Dataset.range(6).map(_drawn).repeat(2))
    assert twice[:6] != twice[6:]
    inner = _pass(Dataset.range(2).flat_map(lambda _: Dataset.range(4).map(_drawn)))
    assert inner[:4] != inner[4:]
    orders = _pass(Dataset.range(2).flat_map(lambda _: Dataset.range(9).shuffle(9, seed=2)))
    assert orders[:9] == orders[9:] != list(range(9))
    outer = Dataset.range(9).shuffle(9, seed=2)  # made outside: another order each time
    orders = _pass(Dataset.range(2).flat_map(lambda _: outer))
    assert orders[:9] != orders[9:]


@pytest.mark.parametrize("anew", [None, False, True])
def test_samples_are_drawn_anew_only_if_asked(anew: Any) -> None:
    sources = [Dataset.range(20), Dataset.range(100, 120)]
    sampled = Dataset.sample_from_datasets(sources, seed=5, rerandomize_each_iteration=anew)
    assert (_pass(sampled) != _pass(sampled)) == bool(anew)
