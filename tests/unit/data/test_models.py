"""Every transformation against the same operation on a Python list."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data import Dataset
from pinnace.data.elements import Columns, Element, columns_of
from pinnace.data.stage import Run, Stage

Step = tuple[str, Callable[[Dataset], Dataset], Callable[[list[int]], list[int]]]


class OneByOne(Stage):
    """Hides that a source has blocks or rows."""

    def __init__(self, source: Stage) -> None:
        super().__init__(source.spec)
        self._source = source

    def elements(self, run: Run) -> Iterator[Element]:
        return iter(list(self._source.open(run)))


class InBlocks(Stage):
    """Hides that a source has rows: only blocks of uneven length remain."""

    def __init__(self, source: Stage, sizes: list[int]) -> None:
        super().__init__(source.spec)
        self._source = source
        self._sizes = sizes

    def blocks(self, run: Run) -> Iterator[Columns]:
        opened = self._source.open(run)
        for size in itertools.cycle(self._sizes):
            rows = list(itertools.islice(opened, size))
            if not rows:
                return
            yield columns_of(rows, self.leaves, "test")


FORMS: dict[str, Callable[[Dataset], Dataset]] = {
    "rows": lambda d: d,
    "blocks": lambda d: Dataset(InBlocks(d.stage, [3, 1, 5])),
    "elements": lambda d: Dataset(OneByOne(d.stage)),
}
every_form = pytest.mark.parametrize("form", FORMS)


def numbers(dataset: Dataset) -> list[Any]:
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def unseen(x: Any) -> Any:
    """Returns x, by a function without a form for many elements."""
    return tf.reverse(tf.stack([x, x]), [0])[0]


def windows(items: list[int], size: int, shift: int) -> list[list[int]]:
    return [items[i : i + size] for i in range(0, len(items), shift)]


@st.composite
def steps(draw: st.DrawFn) -> Step:
    n = draw(st.integers(0, 5))
    k = draw(st.integers(1, 4))
    return draw(
        st.sampled_from(
            [
                ("map", lambda d: d.map(lambda x: 3 * x + n), lambda v: [3 * x + n for x in v]),
                (
                    "map one by one",
                    lambda d: d.map(lambda x: unseen(x) + n),
                    lambda v: [x + n for x in v],
                ),
                ("map threads", lambda d: d.map(lambda x: x - n, 3), lambda v: [x - n for x in v]),
                (
                    "filter",
                    lambda d: d.filter(lambda x: x % (k + 1) != 1),
                    lambda v: [x for x in v if x % (k + 1) != 1],
                ),
                ("take", lambda d: d.take(n * 3), lambda v: v[: n * 3]),
                ("skip", lambda d: d.skip(n), lambda v: v[n:]),
                ("shard", lambda d: d.shard(k, n % k), lambda v: v[n % k :: k]),
                ("repeat", lambda d: d.repeat(k - 1), lambda v: v * (k - 1)),
                (
                    "concatenate",
                    lambda d: d.concatenate(Dataset.range(n)),
                    lambda v: v + list(range(n)),
                ),
                ("batch", lambda d: d.batch(k).unbatch(), lambda v: v),
                (
                    "batch, rest dropped",
                    lambda d: d.batch(k, drop_remainder=True).unbatch(),
                    lambda v: v[: len(v) // k * k],
                ),
                ("rebatch", lambda d: d.batch(k).rebatch([n + 1, 2]).unbatch(), lambda v: v),
                (
                    "enumerate",
                    lambda d: d.enumerate(n).map(lambda i, x: 2 * i + x),
                    lambda v: [2 * i + x for i, x in enumerate(v, n)],
                ),
                (
                    "zip",
                    lambda d: Dataset.zip(d, d.skip(1)).map(lambda a, b: a - b),
                    lambda v: [a - b for a, b in itertools.pairwise(v)],
                ),
                ("prefetch", lambda d: d.prefetch(k), lambda v: v),
                ("cache", lambda d: d.cache(), lambda v: v),
                (
                    "window",
                    lambda d: d.window(k, n + 1).flat_map(lambda w: w.batch(k)).unbatch(),
                    lambda v: [x for w in windows(v, k, n + 1) for x in w],
                ),
                (
                    "flat_map",
                    lambda d: d.flat_map(lambda x: Dataset.range(2).map(lambda y: 10 * y + x)),
                    lambda v: [10 * y + x for x in v for y in range(2)],
                ),
                (
                    "scan",
                    lambda d: d.scan(np.int64(n), lambda s, x: (s + x, s - x)),
                    lambda v: [
                        s - x for s, x in zip(itertools.accumulate([n, *v]), v, strict=False)
                    ],
                ),
                (
                    "take_while",
                    lambda d: d.take_while(lambda x: x < 20),
                    lambda v: list(itertools.takewhile(lambda x: x < 20, v)),
                ),
                ("unique", lambda d: d.unique(), lambda v: list(dict.fromkeys(v))),
            ]
        )
    )


@given(count=st.integers(0, 40), chain=st.lists(steps(), max_size=4), data=st.data())
def test_a_chain_does_what_it_does_to_a_list(
    count: int, chain: list[Step], data: st.DataObject
) -> None:
    dataset, wanted = Dataset.range(count), list(range(count))
    for _, step, model in chain:
        form = data.draw(st.sampled_from(sorted(FORMS)))
        dataset, wanted = step(FORMS[form](dataset)), model(wanted)
    assert numbers(dataset) == wanted
    assert [int(x) for x in dataset] == wanted, "the second pass, as tensors"
    assert dataset.reduce(np.int64(0), lambda total, x: total + x).numpy() == sum(wanted)
    size = int(dataset.cardinality())
    assert size in {-2, len(wanted)}


@every_form
def test_a_chain_that_is_endless_can_be_cut(form: str) -> None:
    dataset = FORMS[form](Dataset.range(3)).repeat().map(lambda x: x + 1).skip(1).take(7)
    assert numbers(dataset) == [2, 3, 1, 2, 3, 1, 2]
    assert int(Dataset.range(3).repeat().cardinality()) == -1


@every_form
@given(count=st.integers(0, 60), size=st.integers(1, 70), seed=st.integers(0, 99))
def test_shuffling_is_a_permutation_that_a_buffer_can_make(
    form: str, count: int, size: int, seed: int
) -> None:
    order = numbers(FORMS[form](Dataset.range(count)).shuffle(size, seed))
    assert sorted(order) == list(range(count))
    # The element returned at step k was in the buffer then.
    assert all(x < k + size for k, x in enumerate(order))


@given(count=st.integers(0, 3000), size=st.integers(1, 3000), seed=st.integers(0, 99))
def test_shuffling_gives_one_order_however_the_source_is_read(
    count: int, size: int, seed: int
) -> None:
    orders = [
        numbers(make(Dataset.range(count)).shuffle(size, seed).batch(7)) for make in FORMS.values()
    ]
    assert orders[0] == orders[1] == orders[2]


def test_shuffling_again_gives_another_order_unless_told_otherwise() -> None:
    anew = Dataset.range(50).shuffle(50, seed=3)
    same = Dataset.range(50).shuffle(50, seed=3, reshuffle_each_iteration=False)
    assert numbers(anew) != numbers(anew)
    assert numbers(same) == numbers(same)
    assert numbers(Dataset.range(50).shuffle(50, seed=3)) == numbers(same)
    first, second = np.array(numbers(anew.repeat(2))).reshape(2, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def test_the_global_seed_makes_unseeded_shuffles_repeatable() -> None:
    def run() -> list[list[int]]:
        tf.random.set_seed(11)
        dataset = Dataset.range(30).shuffle(30)
        return [numbers(dataset), numbers(dataset)]

    assert run() == run()
    tf.random.set_seed(None)


def test_shuffling_is_uniform() -> None:
    """Each of 6 orders of 3 elements about equally often: chi-squared below its 0.999 quantile."""
    seen: dict[tuple[int, ...], int] = {}
    dataset = Dataset.range(3).shuffle(3, seed=1)
    for _ in range(600):
        order = tuple(numbers(dataset))
        seen[order] = seen.get(order, 0) + 1
    assert sum((n - 100) ** 2 / 100 for n in seen.values()) < 20.5
    assert len(seen) == 6


@given(
    lengths=st.lists(st.integers(0, 6), max_size=7),
    cycle=st.integers(1, 4),
    block=st.integers(1, 3),
    parallel=st.sampled_from([None, 2, -1]),
)
def test_interleaving_takes_blocks_in_turn(
    lengths: list[int], cycle: int, block: int, parallel: int | None
) -> None:
    def model() -> list[int]:
        waiting = iter([[100 * i + j for j in range(n)] for i, n in enumerate(lengths)])
        slots: list[list[int] | None] = [None] * cycle
        result: list[int] = []
        ended = False
        while True:
            progress = False
            for place in range(cycle):
                items = slots[place]
                if items is None and not ended:
                    items = next(waiting, None)
                    ended = items is None
                if items is None:
                    continue
                progress = True
                result += items[:block]
                slots[place] = items[block:] if len(items) >= block else None
            if ended and not progress:
                return result

    pairs = np.array([[i, n] for i, n in enumerate(lengths)], np.int64).reshape(-1, 2)
    dataset = Dataset.from_tensor_slices(pairs).interleave(
        lambda p: Dataset.range(p[1]).map(lambda j: 100 * p[0] + j), cycle, block, parallel
    )
    assert numbers(dataset) == model()


def test_interleaving_is_that_of_the_documentation() -> None:
    dataset = Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4
    )
    wanted = "1 1 1 1 2 2 2 2 1 1 2 2 3 3 3 3 4 4 4 4 3 3 4 4 5 5 5 5 5 5"
    assert numbers(dataset) == [int(x) for x in wanted.split()]


@given(
    count=st.integers(0, 20),
    size=st.integers(1, 5),
    shift=st.integers(1, 5),
    stride=st.integers(1, 3),
    drop=st.booleans(),
)
def test_windows_are_slices(count: int, size: int, shift: int, stride: int, drop: bool) -> None:
    items = list(range(count))
    reach = (size - 1) * stride + 1
    wanted = [
        items[i : i + reach : stride]
        for i in range(0, count, shift)
        if not drop or i + reach <= count
    ]
    dataset = Dataset.range(count).window(size, shift, stride, drop)
    assert [[int(x) for x in window] for window in dataset] == wanted
    assert int(dataset.cardinality()) == len(wanted)


@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=12), size=st.integers(1, 4))
def test_padded_batches_are_filled_up(lengths: list[int], size: int) -> None:
    rows = [list(range(1, n + 1)) for n in lengths]
    dataset = Dataset.from_generator(
        lambda: iter(rows), output_signature=tf.TensorSpec([None], tf.int64)
    ).padded_batch(size, padding_values=np.int64(-1))
    for start, batch in zip(range(0, len(rows), size), numbers(dataset), strict=True):
        part = rows[start : start + size]
        width = max(map(len, part))
        assert batch == [row + [-1] * (width - len(row)) for row in part]


@given(values=st.lists(st.integers(0, 9), max_size=30), size=st.integers(1, 4))
def test_groups_are_collected_by_key(values: list[int], size: int) -> None:
    groups: dict[int, list[int]] = {}
    wanted = []
    for value in values:
        group = groups.setdefault(value % 3, [])
        group.append(value)
        if len(group) == size:
            wanted.append(groups.pop(value % 3))
    wanted += [groups[key] for key in sorted(groups)]
    dataset = Dataset.from_tensor_slices(np.array(values, np.int64)).group_by_window(
        lambda x: x % 3, lambda _, group: group.batch(size), size
    )
    assert numbers(dataset) == wanted


def test_buckets_hold_elements_of_similar_length() -> None:
    rows = [[1], [1, 2, 3], [4], [5, 6, 7, 8], [9, 10], [11] * 6]
    dataset = Dataset.from_generator(
        lambda: iter(rows), output_signature=tf.TensorSpec([None], tf.int32)
    ).bucket_by_sequence_length(lambda row: tf.shape(row)[0], [2, 4], [2, 2, 2])
    assert numbers(dataset) == [
        [[1], [4]],
        [[1, 2, 3], [9, 10, 0]],
        [[5, 6, 7, 8, 0, 0], [11] * 6],
    ]


def test_choosing_and_sampling() -> None:
    parts = [Dataset.range(10 * i, 10 * i + 3) for i in range(3)]
    choice = Dataset.from_tensor_slices(np.array([2, 0, 0, 1, 2], np.int64))
    assert numbers(Dataset.choose_from_datasets(parts, choice)) == [20, 0, 1, 10, 21]
    drawn = Dataset.sample_from_datasets(parts, [0.5, 0.25, 0.25], seed=5)
    assert sorted(numbers(drawn)) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    assert numbers(Dataset.sample_from_datasets(parts, [0.0, 0.0, 1.0], seed=5)) == [20, 21, 22]


@every_form
def test_structures_pass_through(form: str) -> None:
    source = Dataset.from_tensor_slices(
        {"b": np.arange(6.0).reshape(3, 2), "a": (np.array([1, 2, 3]), ["x", "y", "z"])}
    )
    dataset = FORMS[form](source)
    assert dataset.element_spec["b"] == tf.TensorSpec([2], tf.float64)
    mapped = dataset.map(lambda e: {"s": e["b"][0] + 1, "t": e["a"]})
    first = next(iter(mapped))
    assert first["s"].numpy() == 1.0
    assert first["t"][1].numpy() == b"x"
    batch = next(iter(mapped.batch(2)))
    assert batch["t"][0].numpy().tolist() == [1, 2]
    assert batch["t"][1].numpy().tolist() == [b"x", b"y"]
    assert list(batch) == ["s", "t"]


def test_lists_are_tensors_but_those_of_functions_are_tuples() -> None:
    assert Dataset.from_tensors([1, 2]).element_spec == tf.TensorSpec([2], tf.int32)
    number = tf.TensorSpec([], tf.int64)
    assert Dataset.range(2).map(lambda x: [x, x]).element_spec == (number, number)


def test_a_tuple_is_several_arguments_and_a_dict_is_one() -> None:
    pair = Dataset.from_tensors((1, 2)).map(lambda a, b: a + b)
    assert numbers(pair) == [3]
    one = Dataset.from_tensors({"a": 1}).map(lambda d: d["a"])
    assert numbers(one) == [1]
    nested = Dataset.from_tensors(((1, 2), 3)).map(lambda ab, c: ab[0] + ab[1] + c)
    assert numbers(nested) == [6]
    assert Dataset.from_tensors((1, 2)).reduce(0, lambda s, e: s + e[0] + e[1]).numpy() == 3


def test_counters_and_random_numbers() -> None:
    assert numbers(Dataset.counter(5, 2).take(3)) == [5, 7, 9]
    assert numbers(tf.data.experimental.Counter(1).take(2)) == [1, 2]
    drawn = numbers(Dataset.random(seed=4).take(5))
    assert drawn == numbers(Dataset.random(seed=4).take(5))
    assert all(0 <= x < 2**32 for x in drawn)


def test_cardinality_is_that_of_a_list() -> None:
    ten = Dataset.range(10)
    assert len(ten.batch(3)) == 4
    assert len(ten.batch(3, drop_remainder=True)) == 3
    assert len(ten.take(4).repeat(3)) == 12
    assert len(Dataset.zip(ten, ten.repeat())) == 10
    assert len(ten.skip(20)) == 0
    with pytest.raises(TypeError, match="infinite"):
        len(ten.repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(ten.filter(lambda x: x > 1))
    counted = ten.filter(lambda x: x > 1).apply(tf.data.experimental.assert_cardinality(8))
    assert len(counted) == 8
    assert len(list(counted)) == 8


def test_functions_are_traced_once() -> None:
    calls = []

    def double(x: Any) -> Any:
        calls.append(x)
        return 2 * x

    dataset = Dataset.range(5).map(double)
    assert numbers(dataset) == numbers(dataset) == [0, 2, 4, 6, 8]
    assert len(calls) == 1

    made = []

    def inner(x: Any) -> Dataset:
        made.append(x)
        return Dataset.range(x).map(lambda y: y + x)

    flat = Dataset.range(4).flat_map(inner)
    assert numbers(flat) == numbers(flat) == [1, 2, 3, 3, 4, 5]
    assert len(made) == 1


def test_variables_are_read_when_elements_are_made() -> None:
    v = tf.Variable(10, dtype=tf.int64)
    dataset = Dataset.range(2).map(lambda x: x + v)
    assert numbers(dataset) == [10, 11]
    v.assign(20)
    assert numbers(dataset) == [20, 21]


def test_random_ops_of_a_map_draw_for_each_element() -> None:
    dataset = Dataset.range(20).map(lambda _: tf.random.uniform([]), num_parallel_calls=4)
    assert len(set(numbers(dataset))) == 20


def test_arrays_are_copied_when_a_dataset_is_made() -> None:
    source = np.zeros(3, np.int32)
    dataset = Dataset.from_tensor_slices(source)
    source[:] = 9
    assert numbers(dataset) == [0, 0, 0]


def test_elements_cannot_be_written_to() -> None:
    row = next(Dataset.from_tensor_slices(np.zeros((2, 2))).as_numpy_iterator())
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1
