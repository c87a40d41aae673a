"""Python control flow on tensors in functions of datasets, and Python's functions of datasets."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

Dataset = tf.data.Dataset


def collatz(x: Any) -> Any:
    """The number of steps to reach 1, or -1 for even numbers above 8."""
    if x % 2 == 0 and x > 8:
        steps = tf.constant(-1, tf.int64)
    else:
        steps = tf.constant(0, tf.int64)
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
    return steps


def in_python(n: int) -> int:
    if n % 2 == 0 and n > 8:
        return -1
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


NUMBERS = Dataset.range(1, 13)


def values(dataset: Any) -> list[int]:
    return [int(x) for x in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("parallel", [None, 2])
def test_map_takes_control_flow_on_tensors(parallel: int | None) -> None:
    mapped = NUMBERS.map(collatz, num_parallel_calls=parallel)
    assert values(mapped) == [in_python(n) for n in range(1, 13)]
    batched = mapped.batch(5)
    np.testing.assert_array_equal(
        np.concatenate(list(batched.as_numpy_iterator())), [in_python(n) for n in range(1, 13)]
    )


def test_predicates_states_and_makers_of_datasets_take_it_too() -> None:
    def early(x: Any) -> Any:
        if x > 3:
            return x % 2 == 0
        return x == 1

    def larger(total: Any, x: Any) -> Any:
        if x > total:
            total = x * 2
        return total

    def some(x: Any) -> Any:
        return Dataset.range(x if x > 10 else x - x)

    assert values(NUMBERS.filter(early)) == [1, 4, 6, 8, 10, 12]
    assert values(NUMBERS.take_while(lambda x: not x > 3)) == [1, 2, 3]
    start = tf.constant(0, tf.int64)
    assert int(NUMBERS.reduce(start, larger)) == 14
    assert values(NUMBERS.scan(start, lambda t, x: (larger(t, x), larger(t, x)))) == [
        *(2, 2, 6, 6, 6, 6, 14, 14, 14, 14, 14, 14)
    ]
    assert values(NUMBERS.flat_map(some).take(13)) == [*range(11), 0, 1]


def test_do_not_convert_also_holds_for_the_functions_of_datasets() -> None:
    @tf.autograph.experimental.do_not_convert
    def mapped() -> Any:
        return NUMBERS.map(collatz)

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        mapped()
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        NUMBERS.map(tf.autograph.experimental.do_not_convert(collatz))


def test_zip_enumerate_map_and_filter_of_datasets_are_datasets_while_traced() -> None:
    @tf.function
    def weighed(a: Any, b: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for i, (x, y) in enumerate(zip(a, b), 2):  # noqa: B905 (as people write it)
            total += i * x * y
        for x in filter(lambda x: x > 3, map(lambda x: x * 2, a)):  # noqa: C417 (likewise)
            total += 1000 * x
        return total

    a, b = range(1, 5), range(10, 16)
    expected = sum(i * x * y for i, (x, y) in enumerate(zip(a, b, strict=False), 2))
    expected += sum(1000 * 2 * x for x in a if x * 2 > 3)
    assert int(weighed(Dataset.range(1, 5), Dataset.range(10, 16))) == expected


def test_any_all_and_len_of_a_dataset_while_traced() -> None:
    @tf.function
    def told(dataset: Any) -> Any:
        return any(dataset), all(dataset), len(dataset)

    for truths in ([True, False], [False, False], [True, True]):
        some, every, count = told(Dataset.from_tensor_slices(truths))
        assert (bool(some), bool(every), int(count)) == (any(truths), all(truths), 2)
        assert count.dtype is tf.int64


def test_what_cannot_be_told_of_datasets_is_refused() -> None:
    @tf.function
    def strictly(dataset: Any) -> Any:
        for _ in zip(dataset, dataset, strict=True):
            pass

    @tf.function
    def numbers(dataset: Any) -> Any:
        return any(dataset)

    with pytest.raises(NotImplementedError, match="zip: strict=True"):
        strictly(NUMBERS)
    with pytest.raises(ValueError, match="any: the elements of a dataset must be scalar bools"):
        numbers(NUMBERS)
