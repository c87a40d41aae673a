"""Recurrences, convolutions and losses of `keras.backend`, against formulas."""

import numpy as np
import pytest

import pinnace as tf

K = tf.keras.backend
RNG = np.random.default_rng(0)


def summed(x: tf.Tensor, states: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
    total = states[0] + x
    return total, [total]


@pytest.mark.parametrize("unroll", [False, True])
def test_rnn_sums_the_steps_that_count(unroll: bool) -> None:
    x = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    mask = np.array([[True, False, True], [False, True, False]])
    wanted = np.cumsum(np.where(mask[..., None], x, 0), axis=1)
    last, outputs, (state,) = K.rnn(
        summed, x, [tf.zeros((2, 4))], mask=tf.constant(mask), unroll=unroll
    )
    # A sample that is always masked has the initial output: zeros.
    np.testing.assert_allclose(outputs, wanted, rtol=1e-6)
    np.testing.assert_allclose(last, wanted[:, -1], rtol=1e-6)
    np.testing.assert_allclose(state, wanted[:, -1], rtol=1e-6)


def test_rnn_takes_a_number_of_steps_that_is_known_when_it_runs() -> None:
    @tf.function(input_signature=[tf.TensorSpec([2, None, 4])])
    def run(x: tf.Tensor) -> tf.Tensor:
        return K.rnn(summed, x, [tf.zeros((2, 4))])[0]

    x = RNG.normal(size=(2, 5, 4)).astype(np.float32)
    np.testing.assert_allclose(run(tf.constant(x)), x.sum(1), rtol=1e-5)
    with pytest.raises(ValueError, match="fixed number of timesteps"):
        tf.function(
            lambda x: K.rnn(summed, x, [tf.zeros((2, 4))], unroll=True),
            input_signature=[tf.TensorSpec([2, None, 4])],
        ).get_concrete_function()


def test_channels_first_is_channels_last_moved() -> None:
    x, kernel = RNG.normal(size=(1, 5, 4, 2)), RNG.normal(size=(2, 3, 2, 3))
    last = K.conv2d(x, kernel, data_format="channels_last")
    first = K.conv2d(x.transpose(0, 3, 1, 2), kernel, data_format="channels_first")
    np.testing.assert_allclose(first, np.transpose(last, (0, 3, 1, 2)))
    window = sum(x[0, i : i + 4, j : j + 2] @ kernel[i, j] for i in range(2) for j in range(3))
    np.testing.assert_allclose(last[0], window)


def test_focal_losses_are_their_formulas() -> None:
    share = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    truth = np.eye(3)[[1, 0]]
    found = K.categorical_focal_crossentropy(truth, share, alpha=0.4, gamma=3.0)
    np.testing.assert_allclose(found, [-0.4 * 0.7**3 * np.log(0.3), -0.4 * 0.4**3 * np.log(0.6)])
    binary = K.binary_focal_crossentropy(truth, share, apply_class_balancing=True)
    one, zero = -0.25 * 0.7**2 * np.log(0.3), -0.75 * 0.2**2 * np.log(0.8)
    np.testing.assert_allclose(binary[0, :2], [zero, one], rtol=1e-5)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="Unknown data_format: other"):
        K.pool3d(np.zeros((1, 2, 2, 2, 1)), (1, 1, 1), data_format="other")
    with pytest.raises(ValueError, match="Invalid padding: full"):
        K.conv1d(np.zeros((1, 2, 1)), np.zeros((1, 1, 1)), padding="full")
