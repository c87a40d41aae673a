"""Checkpoints in several data files: what shares one, what is cut, what a callback must not do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import AlreadyExistsError, InvalidArgumentError
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter

Policy = tf.train.experimental.MaxShardSizePolicy


def written(folder: Path, callback: Any) -> tuple[str, tf.train.Checkpoint]:
    checkpoint = tf.train.Checkpoint(
        table=tf.Variable(np.arange(1000, dtype=np.float32).reshape(10, 100)),
        count=tf.Variable(3),
        words=tf.Variable(["a", "bc"]),
    )
    options = tf.train.CheckpointOptions(experimental_sharding_callback=callback)
    return checkpoint.write(folder / "ckpt", options), checkpoint


def restored(path: str) -> list[Any]:
    table, count = tf.Variable(tf.zeros([10, 100])), tf.Variable(0)
    words = tf.Variable(["", ""])
    fresh = tf.train.Checkpoint(table=table, count=count, words=words)
    fresh.read(path).assert_consumed()
    return [table.numpy().tolist(), int(count), words.numpy().tolist()]


@pytest.mark.parametrize("size", [1, 999, 1000, 3999, 4000, 10**9])
def test_values_that_were_cut_come_back_whole(tmp_path: Path, size: int) -> None:
    path, checkpoint = written(tmp_path, Policy(size))
    wanted = [checkpoint.table.numpy().tolist(), 3, [b"a", b"bc"]]
    assert restored(path) == wanted


def test_files_are_as_small_as_was_asked(tmp_path: Path) -> None:
    path, _ = written(tmp_path, Policy(1000))
    sizes = [file.stat().st_size for file in tmp_path.glob("*.data-*")]
    assert len(sizes) == 6
    # The graph of objects, in the last one, is not counted.
    assert max(sorted(sizes)[:-1]) <= 1000
    assert BundleReader(path).shards == 6


def test_one_process_writes_one_file(tmp_path: Path) -> None:
    path, checkpoint = written(tmp_path, tf.train.experimental.ShardByTaskPolicy())
    assert BundleReader(path).shards == 1
    assert restored(path)[0] == checkpoint.table.numpy().tolist()


class Own(tf.train.experimental.ShardingCallback):
    """What a test gives."""

    def __init__(self, shards: Any) -> None:
        self.shards = shards

    @property
    def description(self) -> str:
        return "a test's"

    def __call__(self, shardable_tensors: Any) -> Any:
        return self.shards({one.checkpoint_key: one for one in shardable_tensors})


def test_a_callback_sees_every_value(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def all_in_one(values: dict[str, Any]) -> Any:
        seen.update(values)
        return [{key: {"": one.tensor} for key, one in values.items()}]

    path, _ = written(tmp_path, Own(all_in_one))
    assert {key.partition("/")[0] for key in seen} == {"table", "count", "words"}
    table = seen["table/.ATTRIBUTES/VARIABLE_VALUE"]
    assert (table.dtype, table.shape, table.slice_spec) == (tf.float32, (10, 100), "")
    assert "table" in repr(table)
    assert restored(path)[1] == 3


@pytest.mark.parametrize(
    ("shards", "told"),
    [
        (lambda _: [], "must be in one file"),
        (lambda _: [{"other": {"": 1}}], "there is no value 'other'"),
        (
            lambda values: [{key: {"5 0,2": one.tensor} for key, one in values.items()}],
            "is no part of",
        ),
    ],
)
def test_what_is_left_out_or_no_part_is_refused(tmp_path: Path, shards: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        written(tmp_path, Own(shards))
    assert not list(tmp_path.iterdir())


def test_a_size_below_1_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Policy(0)


def test_parts_must_fit_and_come_once(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "x") as bundle:
        bundle.add_part("a", [4], ((0, 2),), np.zeros(2))
        with pytest.raises(AlreadyExistsError):
            bundle.add_part("a", [4], ((0, 2),), np.zeros(2))
        for box in (((3, 2),), ((0, 3),), ()):
            with pytest.raises(InvalidArgumentError, match="no part"):
                bundle.add_part("a", [4], box, np.zeros(2))
        bundle.add_part("a", [4], ((2, 2),), np.ones(2))
    np.testing.assert_array_equal(BundleReader(tmp_path / "x").read("a"), [0, 0, 1, 1])
