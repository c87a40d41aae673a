"""tf.nn.ctc_loss: labels that are the blank, and half precision. Numbers from TensorFlow 2.21."""

import numpy as np
import pytest

import pinnace as tf

LOGITS = np.random.default_rng(0).normal(size=(6, 3, 5)).astype("float32")
LABELS = np.array([[1, 0, 3, 2], [0, 0, 4, 4], [3, 2, 0, 1]])
# Blank -> loss of each row, sum of the squares of the gradient.
DENSE = {
    0: ([9.839, 13.9791, 4.3912], 9.561),
    1: ([10.4967, 10.6421, 3.655], 10.246),
    3: ([6.1796, 12.6072, 6.7423], 10.486),
    4: ([6.8984, 12.7607, 3.6212], 9.159),
    -1: ([6.8984, 12.7607, 3.6212], 9.159),
    -5: ([9.839, 13.9791, 4.3912], 9.561),
}
SPARSE = {
    1: ([9.3865, 10.6421, 11.0728], 14.293),
    3: ([8.5854, 12.6072, 9.5132], 14.031),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("blank", DENSE)
def test_dense_labels_may_be_the_blank(blank: int, dtype: str) -> None:
    logits = tf.cast(LOGITS, dtype)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss(LABELS, logits, [3, 4, 2], [6, 6, 5], blank_index=blank)
    slopes = tf.cast(tape.gradient(loss, logits), "float32")
    assert loss.dtype == dtype
    close = 5e-5 if dtype == "float32" else 1e-2
    np.testing.assert_allclose(tf.cast(loss, "float32"), DENSE[blank][0], rtol=close)
    np.testing.assert_allclose(tf.reduce_sum(slopes**2), DENSE[blank][1], rtol=max(close, 1e-4))


@pytest.mark.parametrize("blank", SPARSE)
def test_sparse_labels_may_be_a_blank_that_is_not_the_first_or_last(blank: int) -> None:
    places = np.argwhere(np.ones_like(LABELS))
    labels = tf.SparseTensor(places, LABELS.reshape(-1).astype("int32"), LABELS.shape)
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss(labels, logits, None, [6, 6, 5], blank_index=blank)
    np.testing.assert_allclose(loss, SPARSE[blank][0], rtol=5e-5)
    slopes = tape.gradient(loss, logits)
    np.testing.assert_allclose(tf.reduce_sum(slopes**2), SPARSE[blank][1], rtol=1e-4)


def test_dense_labels_have_a_loss_inside_a_function() -> None:
    signature = [tf.TensorSpec([None, 3, None]), tf.TensorSpec([3, None], "int32")]

    @tf.function(input_signature=signature)
    def loss(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return tf.nn.ctc_loss(labels, logits, [3, 4, 2], [6, 6, 5], blank_index=-1)

    np.testing.assert_allclose(loss(LOGITS, LABELS.astype("int32")), DENSE[-1][0], rtol=5e-5)
