"""confusion_matrix drops a last axis of size 1, whether tracing or running shows its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

LABELS, PREDICTIONS = np.array([0, 1, 2, 2, 1]), np.array([[0], [2], [2], [1], [1]])
WANTED = [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
WEIGHTS = np.array([1, 2, 3, 4, 5])
WEIGHTED = [[1, 0, 0], [0, 5, 2], [0, 4, 3]]


@pytest.mark.parametrize("shape", [[None, 1], [None, None], None])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_a_last_axis_that_only_one_has_is_dropped(shape: Any, turned: bool, known: bool) -> None:
    flat = tf.TensorSpec([None] if known else None, tf.int64)
    column = tf.TensorSpec(shape, tf.int64)
    specs = [column, flat] if turned else [flat, column]
    given = (PREDICTIONS, LABELS) if turned else (LABELS, PREDICTIONS)

    @tf.function(input_signature=specs)
    def counted(a: Any, b: Any) -> Any:
        return tf.math.confusion_matrix(a, b), tf.math.confusion_matrix(a, b, 3, WEIGHTS)

    plain, weighted = counted(*given)
    assert plain.numpy().tolist() == (np.transpose(WANTED).tolist() if turned else WANTED)
    assert weighted.numpy().tolist() == (np.transpose(WEIGHTED).tolist() if turned else WEIGHTED)


def test_an_axis_that_is_larger_when_it_runs_is_refused() -> None:
    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([None, None], tf.int64)]
    )
    def counted(a: Any, b: Any) -> Any:
        return tf.math.confusion_matrix(a, b, 3)

    with pytest.raises(tf.errors.InvalidArgumentError):
        counted(np.array([0, 1]), np.array([[0, 1], [1, 1]]))
