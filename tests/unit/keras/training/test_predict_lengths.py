"""predict over batches whose samples differ in shape gives ragged tensors, as Keras does."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
BATCHES = [np.ones((2, 3, 1)), np.zeros((1, 2, 1)), np.full((2, 2, 1), 2.0)]


def predicted(outputs: Callable[[Any], Any], **kwargs: Any) -> Any:
    inputs = keras.Input((None, 1))
    model = keras.Model(inputs, outputs(inputs))
    model.compile(**kwargs)

    def batches() -> Iterator[tuple[Any]]:
        yield from ((batch,) for batch in BATCHES)

    return model.predict(batches(), verbose=0)


@pytest.mark.parametrize("eager", [False, True])
def test_the_last_axes_that_agree_stay_dense(eager: bool) -> None:
    found = predicted(lambda x: keras.ops.concatenate([x, x], -1), run_eagerly=eager)
    assert isinstance(found, tf.RaggedTensor)
    assert found.shape.as_list() == [5, None, 2]
    assert found.ragged_rank == 1
    assert found.dtype == tf.float32
    assert found.to_list() == [row.repeat(2, -1).tolist() for batch in BATCHES for row in batch]


def test_every_axis_up_to_the_last_that_differs_is_a_row() -> None:
    found = predicted(lambda x: keras.ops.repeat(keras.ops.transpose(x, (0, 2, 1)), 2, axis=1))
    assert found.ragged_rank == 2
    assert found.to_list() == [[row[:, 0].tolist()] * 2 for batch in BATCHES for row in batch]


def test_outputs_that_agree_are_arrays_beside_ragged_ones() -> None:
    found = predicted(lambda x: {"all": x[..., 0], "sum": keras.ops.sum(x, axis=1)})
    assert found["all"].to_list() == [row[:, 0].tolist() for batch in BATCHES for row in batch]
    assert isinstance(found["sum"], np.ndarray)
    np.testing.assert_array_equal(found["sum"][:, 0], [3, 3, 0, 4, 4])


def test_callbacks_see_several_batches_together() -> None:
    seen = []

    class Seer(keras.callbacks.Callback):
        def on_predict_batch_end(self, _: int, logs: Any = None) -> None:
            seen.append(logs["outputs"])

    inputs = keras.Input((None, 1))
    model = keras.Model(inputs, inputs * 2)
    model.compile(steps_per_execution=2)
    model.predict(((batch,) for batch in BATCHES), verbose=0, callbacks=[Seer()])
    assert seen[0].shape.as_list() == [3, None, 1]
