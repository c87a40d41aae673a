"""Epochs with a given number of steps: each continues where the previous one stopped."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras.training.data_adapter import batches_of

keras = tf.keras


class Counted(keras.utils.PyDataset):
    """Batches that contain their index; counts epochs."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.begun = 0

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return np.array([index])

    def on_epoch_begin(self) -> None:
        self.begun += 1


def numbers(batches: Any) -> list[int]:
    return [int(batch[0].numpy()[0]) for batch in batches.epoch()]


@pytest.mark.filterwarnings("ignore:fit. an epoch of")
@given(size=st.integers(1, 7), steps=st.integers(1, 9), epochs=st.integers(1, 6))
def test_an_epoch_goes_on_where_the_last_one_stopped(size: int, steps: int, epochs: int) -> None:
    """Batches follow each other; an epoch ends early when all of them have been seen."""
    dataset = Counted(size)
    for source in (np.arange(size), dataset):
        options = {} if source is dataset else {"batch_size": 1}
        batches = batches_of("fit", source, steps=steps, **options)
        begin = 0
        for _ in range(epochs):
            found = numbers(batches)
            assert found == list(range(begin, min(begin + steps, size)))
            begin = (begin + len(found)) % size
    assert dataset.begun == epochs


def test_an_epoch_that_is_cut_short_says_so() -> None:
    batches = batches_of("fit", np.arange(5), batch_size=1, steps=3)
    assert len(numbers(batches)) == 3
    with pytest.warns(UserWarning, match="fit: an epoch of 3 steps ends after 2: your input ran"):
        assert len(numbers(batches)) == 2


@given(size=st.integers(2, 7), steps=st.integers(1, 5))
def test_two_passes_have_all_samples_twice(size: int, steps: int) -> None:
    """Each pass over the arrays has a separate order, and every sample once."""
    batches = batches_of("fit", np.arange(size * steps), batch_size=1, steps=steps, shuffle=True)
    for _ in range(2):
        found = [number for _ in range(size) for number in numbers(batches)]
        assert sorted(found) == list(range(size * steps))


def test_validation_begins_anew_each_time() -> None:
    seen: list[float] = []

    class Watched(keras.Model):
        def call(self, x: Any) -> Any:
            return x

        def test_step(self, data: Any) -> Any:
            seen.append(float(data[0][0, 0]))
            return {"loss": tf.constant(0.0)}

        def train_step(self, data: Any) -> Any:
            del data
            return {"loss": tf.constant(0.0)}

    x = np.arange(6, dtype=np.float32)[:, None]
    for data in ((x, x), tf.data.Dataset.from_tensor_slices((x, x)).batch(1)):
        model = Watched()
        model.compile("sgd", "mse", run_eagerly=True)
        seen.clear()
        given_size = {"validation_batch_size": 1} if isinstance(data, tuple) else {}
        model.fit(x, x, epochs=3, verbose=0, validation_data=data, validation_steps=2, **given_size)
        assert seen == [0, 1, 0, 1, 0, 1]
