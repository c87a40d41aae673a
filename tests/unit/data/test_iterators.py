"""Iterators: their position can be saved, their threads stop, their errors keep their position."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data import AUTOTUNE, Dataset
from pinnace.data.iterator import Pass
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
)
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup


def values(dataset: Any) -> list[Any]:
    return [np.asarray(x).tolist() for x in dataset]


def data_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("pinnace-data")]


def wait_until(condition: Any, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        gc.collect()
        threading.Event().wait(0.01)
    return True


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert wait_until(lambda: not data_threads())


# Position.


def pipeline(kind: str) -> Dataset:
    base = Dataset.range(25)
    return {
        "plain": base,
        "shuffled": base.shuffle(10),
        "shuffled twice": base.shuffle(10).batch(4).shuffle(3).unbatch(),
        "repeated": base.shuffle(5, seed=1).repeat(3),
        "mapped": base.map(lambda x: tf.reverse(tf.stack([x, x + 1]), [0])[0])
        .shuffle(4)
        .prefetch(2),
        "interleaved": base.interleave(lambda x: Dataset.range(x).shuffle(9), 3, 2),
        "sampled": Dataset.sample_from_datasets([base, base.map(lambda x: -x)], seed=None),
        "zipped": Dataset.zip(base.shuffle(9), base.shuffle(7)).map(lambda a, b: 100 * a + b),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "shuffled",
        "shuffled twice",
        "repeated",
        "mapped",
        "interleaved",
        "sampled",
        "zipped",
    ],
)
@pytest.mark.parametrize("given_so_far", [0, 1, 13])
def test_a_saved_position_goes_on_where_it_was(kind: str, given_so_far: int) -> None:
    dataset = pipeline(kind)
    first = Pass(dataset.stage, Dataset)
    for _ in range(given_so_far):
        next(first)
    position = first.position()
    rest = values(first)
    other = Pass(dataset.stage, Dataset)
    for _ in range(3):
        next(other)
    other.move_to(position)
    assert values(other) == rest


def test_a_checkpoint_holds_an_iterator(tmp_path: Path) -> None:
    checkpoint_type = (
        pytest.importorskip("pinnace.checkpoint.manager").Checkpoint
        if hasattr(pytest.importorskip("pinnace.checkpoint.manager"), "Checkpoint")
        else getattr(getattr(tf, "train", None), "Checkpoint", None)
    )
    if checkpoint_type is None:
        pytest.skip("there is no train.Checkpoint yet")
    dataset = Dataset.range(10).shuffle(10)
    iterator = iter(dataset)
    for _ in range(4):
        next(iterator)
    path = checkpoint_type(iterator=iterator).save(str(tmp_path / "ckpt"))
    rest = values(iterator)
    again = iter(dataset)
    next(again)
    checkpoint_type(iterator=again).restore(path)
    assert values(again) == rest


@pytest.mark.parametrize("ragged", [False, True])
def test_a_checkpoint_holds_an_iterator_of_arrays(tmp_path: Path, ragged: bool) -> None:
    dataset = Dataset.range(10).shuffle(10)
    if ragged:
        dataset = dataset.map(lambda x: tf.RaggedTensor.from_row_lengths([x], [1]))
    iterator = dataset.as_numpy_iterator()
    for _ in range(4):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "ckpt"))
    rest = [np.asarray(x).tolist() for x in iterator]
    assert len(rest) == 6
    again = dataset.as_numpy_iterator()
    next(again)
    tf.train.Checkpoint(iterator=again).restore(path)
    assert [np.asarray(x).tolist() for x in again] == rest
    tf.train.Checkpoint(iterator=iterator).restore(path)
    assert iterator.next() == rest[0]


@given(st.binary(max_size=40))
def test_a_damaged_position_is_refused(position: bytes) -> None:
    one = Pass(Dataset.range(3).stage, Dataset)
    with pytest.raises(tf.errors.DataLossError, match="position"):
        one.move_to(position)


# Reading.


def test_get_next_says_when_there_is_no_more() -> None:
    iterator = iter(Dataset.range(1))
    assert iterator.get_next().numpy() == 0
    with pytest.raises(OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    assert not iterator.get_next_as_optional().has_value()
    optional = iter(Dataset.range(1)).get_next_as_optional()
    assert optional.has_value()
    assert optional.get_value().numpy() == 0


def test_an_iterator_can_be_read_inside_a_function() -> None:
    iterator = iter(Dataset.from_tensor_slices((np.arange(4.0), np.arange(4))))

    @tf.function
    def step() -> Any:
        x, y = iterator.get_next()
        return x + tf.cast(y, tf.float64)

    assert [float(step()) for _ in range(3)] == [0.0, 2.0, 4.0]
    assert next(iterator)[1].numpy() == 3
    with pytest.raises(OutOfRangeError):
        step()


def test_a_dataset_is_reduced_inside_a_function() -> None:
    dataset = Dataset.range(5).batch(2)
    v = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def total(start: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            v.assign_add(1)
            return state + tf.reduce_sum(x)

        return dataset.reduce(start, step)

    assert int(total(tf.constant(100, tf.int64))) == 110
    assert int(total(tf.constant(0, tf.int64))) == 10
    assert int(v) == 6


def test_plain_iteration_while_tracing_is_refused() -> None:
    dataset = Dataset.range(3)

    def loop() -> Any:
        return [x for x in iter(dataset)]  # noqa: C416 (the loop is what is refused)

    with pytest.raises(TypeError, match="while a function is traced"):
        tf.function(loop, autograph=False)()


def test_many_threads_read_one_iterator() -> None:
    iterator = iter(Dataset.range(2000).map(lambda x: tf.reverse(tf.stack([x, x]), [0])[0]))
    found: list[list[int]] = [[] for _ in range(8)]

    def work(mine: list[int]) -> None:
        mine.extend(int(x) for x in iterator)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(x for mine in found for x in mine) == list(range(2000))


# Errors.


def failing_at(place: int) -> Any:
    def function(x: Any) -> Any:
        return 10 // (x - place)

    return function


@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize("parallel", [None, 2, AUTOTUNE])
def test_an_error_comes_at_its_element_and_the_next_one_after_it(
    vectorised: bool, parallel: int | None
) -> None:
    def function(x: Any) -> Any:
        y = x if vectorised else tf.reverse(tf.stack([x, x]), [0])[0]
        return 10 // (y - 3)

    iterator = iter(Dataset.range(6).map(function, num_parallel_calls=parallel))
    assert [int(next(iterator)) for _ in range(3)] == [-4, -5, -10]
    with pytest.raises(InvalidArgumentError):
        next(iterator)
    assert [int(x) for x in iterator] == [10, 5]


def test_errors_can_be_passed_over() -> None:
    dataset = Dataset.range(6).map(lambda x: 10 // (x - 3)).ignore_errors().batch(2)
    assert values(dataset) == [[-4, -5], [-10, 10], [5]]


def test_an_error_passes_through_a_thread() -> None:
    def generator() -> Iterator[int]:
        yield 1
        yield 2
        raise RuntimeError("the disk is on fire")

    dataset = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32))
    iterator = iter(dataset.prefetch(8))
    assert int(next(iterator)) == 1
    assert int(next(iterator)) == 2
    with pytest.raises(RuntimeError, match="on fire"):
        next(iterator)


def test_calls_in_threads_keep_their_order_and_place_of_error() -> None:
    from pinnace.data.workers import InParallel

    def slow(element: Any) -> Any:
        threading.Event().wait(0.002 * (element[0] % 3))
        if element[0] == 5:
            raise ValueError("five")
        return (element[0] * 10,)

    iterator = InParallel(iter([(i,) for i in range(12)]), slow, 4, True)
    found: list[Any] = []
    while True:
        try:
            found.append(next(iterator)[0])
        except StopIteration:
            break
        except ValueError as error:
            found.append(str(error))
    assert found == [0, 10, 20, 30, 40, "five", 60, 70, 80, 90, 100, 110]
    any_order = InParallel(iter([(i,) for i in range(12) if i != 5]), slow, 4, False)
    assert sorted(x for (x,) in any_order) == [10 * i for i in range(12) if i != 5]


# Threads.


@pytest.mark.parametrize("endless", [True, False])
def test_threads_stop_when_the_iterator_is_dropped(endless: bool) -> None:
    dataset = Dataset.counter() if endless else Dataset.range(1000).map(lambda x: x)
    iterator = iter(dataset.prefetch(3).map(lambda x: x + 1).prefetch(2))
    next(iterator)
    assert len(data_threads()) == 2
    del iterator
    assert wait_until(lambda: not data_threads())


def test_threads_stop_when_a_loop_is_left() -> None:
    for x in Dataset.counter().prefetch(4):
        if int(x) == 3:
            break
    del x
    assert wait_until(lambda: not data_threads())


def test_threads_stop_at_the_end() -> None:
    assert len(values(Dataset.range(10).prefetch(4))) == 10
    assert wait_until(lambda: not data_threads())


def test_a_generator_is_closed_when_the_iterator_is_dropped() -> None:
    closed = threading.Event()

    def generator() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.set()

    dataset = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32))
    iterator = iter(dataset.prefetch(2))
    next(iterator)
    del iterator
    assert wait_until(closed.is_set)


def test_prefetching_works_ahead_and_no_further() -> None:
    made: list[int] = []

    def generator() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    dataset = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32))
    iterator = iter(dataset.prefetch(5))
    next(iterator)
    assert wait_until(lambda: len(made) >= 7)
    threading.Event().wait(0.05)
    assert len(made) == 7  # one returned, five buffered, one in progress
    del iterator


def test_autotune_starts_threads_where_they_pay_only() -> None:
    def generator() -> Iterator[int]:
        for i in range(24):
            threading.Event().wait(0.003)
            yield i

    slow = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int32))
    iterator = iter(slow.prefetch(AUTOTUNE))
    for _ in range(8):  # the reader only waits: a thread would gain nothing
        next(iterator)
    assert not data_threads()
    seen = 8
    for _ in range(8):  # now it computes in parallel
        threading.Event().wait(0.003)
        assert int(next(iterator)) == seen
        seen += 1
    assert len(data_threads()) == 1
    assert [int(x) for x in iterator] == list(range(seen, 24))
    del iterator
    fast = iter(Dataset.range(1000).prefetch(AUTOTUNE))
    for _ in range(100):
        next(fast)
    assert wait_until(lambda: not data_threads())


def test_a_dataset_and_its_cache_are_freed() -> None:
    dataset = Dataset.from_tensor_slices(np.zeros((10, 1000))).cache().batch(2)
    values(dataset)
    stage = weakref.ref(dataset.stage)
    del dataset
    gc.collect()
    assert stage() is None


def test_cache_runs_the_source_once() -> None:
    passes = []

    def generator() -> Iterator[int]:
        passes.append(1)
        yield from range(4)

    dataset = Dataset.from_generator(
        generator, output_signature=tf.TensorSpec([], tf.int64)
    ).cache()
    next(iter(dataset))  # an incomplete pass caches nothing
    assert values(dataset) == values(dataset) == [0, 1, 2, 3]
    assert len(passes) == 2
    shuffled = dataset.shuffle(4, seed=1)
    assert sorted(values(shuffled.batch(2).unbatch())) == [0, 1, 2, 3]
    assert len(passes) == 2


# Refusals.


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Dataset.range(3).batch(0), InvalidArgumentError, "batch_size must be at least 1"),
        (lambda: Dataset.range(3).batch(2.5), TypeError, "batch_size must be an integer"),
        (lambda: Dataset.range(3).shuffle(0), InvalidArgumentError, "buffer_size"),
        (lambda: Dataset.range(3).shard(2, 2), InvalidArgumentError, "index must be in"),
        (lambda: Dataset.from_tensor_slices((np.zeros(2), np.zeros(3))), ValueError, "one size"),
        (lambda: Dataset.from_tensor_slices(1), ValueError, "from_tensors"),
        (lambda: Dataset.range(3).map(lambda _: None), TypeError, "got None"),
        (lambda: Dataset.range(3).filter(lambda x: x), TypeError, "scalar bool"),
        (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (
            lambda: Dataset.range(3).concatenate(Dataset.from_tensors("a")),
            TypeError,
            "one structure",
        ),
        (lambda: Dataset.zip([Dataset.range(3)]), TypeError, "zip"),
        (lambda: Dataset.range(3).unbatch(), InvalidArgumentError, "first axis"),
        (lambda: Dataset.range(3).apply(lambda _: 1), TypeError, "must return a Dataset"),
        (lambda: Dataset.range(3).scan(0, lambda s, _: s), TypeError, "new state and the output"),
        (lambda: Dataset.range(3).reduce(0, lambda s, x: (s, x)), TypeError, "structure"),
        (lambda: Dataset.range(0).get_single_element(), InvalidArgumentError, "was empty"),
        (lambda: Dataset.range(2).get_single_element(), InvalidArgumentError, "more than one"),
        (
            lambda: Dataset.range(3).interleave(lambda x: Dataset.range(x), 0),
            InvalidArgumentError,
            "cycle",
        ),
        (lambda: Dataset(3), TypeError, "from_tensor_slices"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(make: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        make()


def ragged() -> Dataset:
    return Dataset.from_generator(
        lambda: iter([[1], [2], [3, 4]]), output_signature=tf.TensorSpec([None], tf.int32)
    )


def test_ragged_elements_of_a_batch_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"element 0: \[1\]   element 2: \[2\]"):
        list(ragged().batch(3))


def test_an_element_larger_than_its_padding_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"fit into \[1\]"):
        list(ragged().padded_batch(3, [1]))


def test_elements_of_a_generator_must_fit() -> None:
    def of(value: Any, spec: Any) -> Dataset:
        return Dataset.from_generator(lambda: iter([value]), output_signature=spec)

    with pytest.raises(InvalidArgumentError, match=r"float32\[2\]"):
        list(of([1.0], tf.TensorSpec([2], tf.float32)))
    with pytest.raises(TypeError, match="int32"):
        list(of("a", tf.TensorSpec([], tf.int32)))
    with pytest.raises(TypeError, match="structure"):
        list(of((1, 2, 3), (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32))))
    with pytest.raises(TypeError, match="output_signature"):
        Dataset.from_generator(lambda: iter([]))


def test_older_arguments_of_generators() -> None:
    dataset = Dataset.from_generator(
        lambda n: ((i, [i, i]) for i in range(n)),
        (tf.int32, tf.float32),
        (tf.TensorShape([]), tf.TensorShape([None])),
        args=(3,),
    )
    assert [(int(a), b.numpy().tolist()) for a, b in dataset] == [
        (0, [0, 0]),
        (1, [1, 1]),
        (2, [2, 2]),
    ]


def test_a_wrong_cardinality_is_found_out() -> None:
    dataset = Dataset.range(3).apply(tf.data.experimental.assert_cardinality(4))
    with pytest.raises(FailedPreconditionError, match="must be 4, is 3"):
        list(dataset)


def test_options_merge() -> None:
    options = tf.data.Options()
    options.deterministic = False
    dataset = Dataset.range(3).with_options(options).map(lambda x: x)
    assert dataset.options().deterministic is False
    assert dataset.with_options(tf.data.Options()).options().deterministic is False


def test_optionals_of_values_and_of_none() -> None:
    """Optionals of gradients of conditions in models that TensorFlow saved."""
    kept = execute(lookup("OptionalFromValue"), (tf.constant(3), tf.constant(["a"])))
    assert execute(lookup("OptionalHasValue"), kept).numpy()
    shapes, types = (tf.TensorShape([]), tf.TensorShape([1])), (tf.int32, tf.string)
    found = execute(lookup("OptionalGetValue"), kept, output_types=types, output_shapes=shapes)
    assert [one.numpy().tolist() for one in found] == [3, [b"a"]]
    none = execute(lookup("OptionalNone"))
    assert not execute(lookup("OptionalHasValue"), none).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no value"):
        execute(lookup("OptionalGetValue"), none, output_types=types, output_shapes=shapes)


def test_a_numpy_iterator_has_a_next_method() -> None:
    iterator = tf.data.Dataset.range(3).as_numpy_iterator()
    assert iterator.next() == 0
    assert next(iterator) == 1
    assert list(iterator) == [2]
