"""Loops over datasets inside functions: the function that AutoGraph calls for `for`."""

from typing import Any

import pytest

import pinnace as tf
from pinnace.data import Dataset
from pinnace.data.loops import for_dataset


def total_below(iterated: Any, limit: Any = None) -> Any:
    """The sum of the elements until it reaches `limit`, as AutoGraph would write the loop."""
    total: Any = tf.constant(0, tf.int64)

    def get_state() -> tuple[Any, ...]:
        return (total,)

    def set_state(values: tuple[Any, ...]) -> None:
        nonlocal total
        (total,) = values

    def body(x: Any) -> None:
        nonlocal total
        total = total + x

    for_dataset(
        iterated,
        None if limit is None else lambda: total < limit,
        body,
        get_state,
        set_state,
        ("total",),
        {},
    )
    return total


@pytest.mark.parametrize("traced", [True, False])
def test_a_loop_over_a_dataset(traced: bool) -> None:
    dataset = Dataset.range(5)

    def run() -> Any:
        return total_below(dataset)

    step = tf.function(run, autograph=False) if traced else run
    assert [int(step()) for _ in range(2)] == [10, 10]


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("limit", [0, 6, 100])
def test_a_loop_that_stops_early_also_over_an_endless_dataset(traced: bool, limit: int) -> None:
    dataset = Dataset.range(5).repeat()

    def run() -> Any:
        return total_below(dataset, tf.constant(limit, tf.int64))

    step = tf.function(run, autograph=False) if traced else run
    wanted = next(t for t in running_totals() if t >= limit)
    assert [int(step()) for _ in range(2)] == [wanted, wanted]


def running_totals() -> Any:
    total, number = 0, 0
    while True:
        yield total
        total, number = total + number % 5, number + 1


def test_a_loop_over_an_iterator_goes_on_where_it_is() -> None:
    iterator = iter(Dataset.range(5))
    assert int(next(iterator)) == 0
    assert int(next(iterator)) == 1
    step = tf.function(lambda: total_below(iterator), autograph=False)
    assert int(step()) == 9
    assert int(step()) == 0


def test_a_loop_without_variables_of_its_own_has_effects() -> None:
    v = tf.Variable(0, dtype=tf.int64)
    dataset = Dataset.range(4)

    @tf.function(autograph=False)
    def step() -> None:
        for_dataset(dataset, None, lambda x: v.assign_add(x), tuple, lambda _: None)

    step()
    step()
    assert int(v) == 12
