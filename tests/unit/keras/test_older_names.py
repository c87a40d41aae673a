"""Names from older versions keep their meaning."""

import logging

import numpy as np
import pytest

import pinnace as tf


def test_reductions_are_those_that_losses_take() -> None:
    y, p = np.array([[0.0], [2.0]], np.float32), np.array([[1.0], [4.0]], np.float32)
    wanted = {"AUTO": 2.5, "SUM": 5.0, "SUM_OVER_BATCH_SIZE": 2.5, "NONE": [1.0, 4.0]}
    for name, value in wanted.items():
        reduction = getattr(tf.keras.losses.Reduction, name)
        tf.keras.losses.Reduction.validate(reduction)
        loss = tf.keras.losses.MeanSquaredError(reduction=reduction)
        np.testing.assert_allclose(loss(y, p), value)
    with pytest.raises(ValueError, match="expected one of auto, none, sum"):
        tf.keras.losses.Reduction.validate("most")


def test_legacy_optimizers_are_optimizers() -> None:
    weight = tf.Variable([1.0, 2.0])
    tf.keras.optimizers.legacy.SGD(0.5).apply_gradients([(tf.constant([1.0, 2.0]), weight)])
    np.testing.assert_allclose(weight, [0.5, 1.0])


def test_short_names_of_metrics_are_the_functions_of_losses() -> None:
    for name in ("mse", "MAE", "mape", "msle", "kld", "logcosh", "kullback_leibler_divergence"):
        assert getattr(tf.keras.metrics, name) is getattr(tf.keras.losses, name)


def test_a_keras_tensor_is_symbolic() -> None:
    assert tf.keras.utils.is_keras_tensor(tf.keras.Input([2]))
    assert not tf.keras.utils.is_keras_tensor(tf.constant(1))
    assert not tf.keras.utils.is_keras_tensor("a")


def test_uids_count_from_one_and_names_go_on_from_them() -> None:
    tf.keras.backend.clear_session()
    assert [tf.keras.backend.get_uid(stem) for stem in ("a", "a", "b")] == [1, 2, 1]
    assert tf.keras.layers.Dense(1).name == "dense"
    assert tf.keras.backend.get_uid("dense") == 1
    assert tf.keras.layers.Dense(1).name == "dense_2"


def test_the_logger_is_the_one_that_programs_configure() -> None:
    assert tf.get_logger() is logging.getLogger("tensorflow")
    assert tf.keras.__version__.startswith("3.")


def test_linspace_of_integers_is_float64() -> None:
    # Results of TensorFlow 2.21.
    found = tf.linspace(0, 10, 5)
    assert found.dtype == tf.float64
    np.testing.assert_array_equal(found, [0, 2.5, 5, 7.5, 10])
    np.testing.assert_array_equal(tf.linspace([0, 1], [10, 5], 3), [[0, 1], [5, 3], [10, 5]])


def test_raw_ops_any_is_the_op() -> None:
    found = tf.raw_ops.Any(input=[[True, False], [False, False]], reduction_indices=1)
    np.testing.assert_array_equal(found, [True, False])
