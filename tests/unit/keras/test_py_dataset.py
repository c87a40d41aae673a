"""PyDataset: batches in order, whichever thread makes them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras.training.data_adapter import batches_of


class Counted(tf.keras.utils.PyDataset):
    """Batch i contains i; records which threads make batches, and when epochs begin and end."""

    def __init__(self, count: int | None, **options: Any) -> None:
        super().__init__(**options)
        self.count = count
        self.threads: set[int] = set()
        self.events: list[str] = []

    @property
    def num_batches(self) -> int | None:
        return self.count

    def __getitem__(self, index: int) -> Any:
        self.threads.add(threading.get_ident())
        if index == 7:
            raise OSError("batch 7 is lost")
        return np.full((2, 3), index, np.float32), np.zeros((2, 1), np.float32)

    def on_epoch_begin(self) -> None:
        self.events.append("begin")

    def on_epoch_end(self) -> None:
        self.events.append("end")


def numbers(source: Counted, **options: Any) -> list[int]:
    return [int(x.numpy()[0, 0]) for x, _ in batches_of("fit", source, **options).epoch()]


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
@pytest.mark.parametrize("waiting", [1, 10])
def test_batches_come_in_their_order(workers: int, waiting: int) -> None:
    source = Counted(6, workers=workers, max_queue_size=waiting)
    assert numbers(source) == list(range(6))
    assert sorted(numbers(source, shuffle=True)) == list(range(6))
    assert (threading.get_ident() in source.threads) == (workers < 2)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_surfaces_at_its_batch(workers: int) -> None:
    epoch = batches_of("fit", Counted(9, workers=workers)).epoch()
    assert [int(next(epoch)[0].numpy()[0, 0]) for _ in range(7)] == list(range(7))
    with pytest.raises(OSError, match="batch 7"):
        next(epoch)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_without_an_end_needs_a_number_of_steps(workers: int) -> None:
    source = Counted(None, workers=workers)
    assert numbers(source, steps=3) == [0, 1, 2]


def test_a_model_is_fitted_on_one() -> None:
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    source = Counted(4, workers=2)
    assert len(model.fit(source, epochs=2, verbose=0).history["loss"]) == 2
    assert source.events == ["begin", "end"] * 2
    assert tf.keras.utils.Sequence is tf.keras.utils.PyDataset


def test_what_a_subclass_must_define_is_told() -> None:
    with pytest.raises(NotImplementedError, match="__len__"):
        len(tf.keras.utils.PyDataset())
    with pytest.raises(ValueError, match="workers must be 0 or more, got -1"):
        tf.keras.utils.PyDataset(workers=-1)
