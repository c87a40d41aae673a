"""A program's own resource: created once, captured by functions, created again on loading."""

from pathlib import Path
from typing import Any

import pytest

import pinnace as tf

raw: Any = tf.raw_ops


class Counts(tf.saved_model.experimental.TrackableResource):
    """A table from words to numbers that initially contains "first"."""

    def _create_resource(self) -> tf.Tensor:
        return raw.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)

    def _initialize(self) -> None:
        self.put(tf.constant("first"), tf.constant(1, tf.int64))

    def put(self, key: tf.Tensor, value: tf.Tensor) -> None:
        raw.LookupTableInsertV2(table_handle=self.resource_handle, keys=key, values=value)

    def get(self, key: tf.Tensor) -> tf.Tensor:
        default = tf.constant(0, tf.int64)
        return raw.LookupTableFindV2(
            table_handle=self.resource_handle, keys=key, default_value=default
        )


def test_it_is_saved_and_made_anew(tmp_path: Path) -> None:
    module = tf.Module()
    module.counts = Counts()
    assert module.counts.resource_handle is module.counts.resource_handle

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def count(word: tf.Tensor) -> tf.Tensor:
        module.counts.put(word, module.counts.get(word) + 1)
        return module.counts.get(word)

    module.count = count
    assert [int(module.count(tf.constant("a"))) for _ in range(2)] == [1, 2]
    tf.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    assert [int(loaded.count(tf.constant(word))) for word in ("a", "a", "first")] == [1, 2, 2]


def test_the_handle_must_be_made_by_the_program() -> None:
    with pytest.raises(NotImplementedError, match="_create_resource must be defined"):
        _ = tf.saved_model.experimental.TrackableResource().resource_handle
