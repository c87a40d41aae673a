"""Options of checkpoints and models: they can be changed after creation, and copied."""

import copy
from typing import Any

import pytest

import pinnace as tf


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (tf.train.CheckpointOptions, "experimental_enable_async_checkpoint"),
        (tf.train.CheckpointOptions, "enable_async"),
        (tf.saved_model.SaveOptions, "experimental_skip_saver"),
        (tf.saved_model.LoadOptions, "experimental_skip_checkpoint"),
    ],
)
def test_options_may_be_set_later_and_copied(kind: Any, field: str) -> None:
    options = kind()
    other = copy.copy(options)
    setattr(options, field, True)
    assert getattr(options, field)
    assert not getattr(other, field)
    assert len({options, other}) == 2
