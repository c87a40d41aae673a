import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.running.batching import (
    agree,
    batch_key,
    can_split,
    count_elements,
    has_open_batch,
    join,
    split,
)

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(SIZES, st.integers(0, 4))
def test_what_is_joined_comes_apart_again(rows: list[int], extra: int) -> None:
    generator = np.random.default_rng(0)
    parts = [
        {"a": generator.random((n, 3)).astype(np.float32), "b": generator.integers(0, 9, (n,))}
        for n in rows
    ]
    padded = sum(rows) + extra
    joined = join(parts, padded)
    assert [len(array) for array in joined.values()] == [padded, padded]
    assert can_split(joined, padded)
    found = split(joined, rows)
    for part, expected in zip(found, parts, strict=True):
        for name, array in expected.items():
            np.testing.assert_array_equal(part[name], array)


def test_strings_are_joined_too() -> None:
    parts = [{"s": np.array([b"a", b"bc"], object)}, {"s": np.array([b""], object)}]
    assert join(parts, 4)["s"].tolist() == [b"a", b"bc", b"", b""]


def test_texts_count_by_their_length() -> None:
    texts = np.array([[b"ab", b""], [b"c", b"defg"]], object)
    assert count_elements({"x": texts, "y": np.zeros((2, 3))}) == 4 + 7 + 6
    many = np.full(100_000, b"x" * 1000, object)  # their lengths are not summed
    assert count_elements({"x": many}) >= 100_000


def test_outputs_without_a_row_each_are_not_taken_apart() -> None:
    assert not can_split({"y": np.zeros(3)}, 2)
    assert not can_split({"y": np.float32(1)}, 2)
    assert can_split({"y": np.zeros((2, 3))}, 2)


def test_calls_join_when_their_rows_have_one_shape() -> None:
    one, two = {"x": np.zeros((2, 3))}, {"x": np.zeros((5, 3))}
    assert batch_key(one) == (2, ((3,),))
    assert batch_key(two) == (5, ((3,),))
    assert batch_key({"x": np.zeros((2, 3)), "y": np.zeros((3,))}) is None
    assert batch_key({"x": np.float32(1)}) is None
    assert batch_key({"x": np.zeros((0, 3))}) is None


def test_only_an_open_first_axis_can_be_joined() -> None:
    def spec(*dims: int | None) -> TensorSpec:
        return TensorSpec(list(dims), "float32")

    assert has_open_batch({"x": spec(None, 3), "y": spec(None)})
    assert not has_open_batch({"x": spec(None, 3), "y": spec(1)})
    assert not has_open_batch({"x": TensorSpec(None, "float32")})
    assert not has_open_batch({"x": spec()})
    assert not has_open_batch({})


def test_runs_are_padded_to_the_next_size() -> None:
    options = BatchOptions(max_batch_size=8, allowed_batch_sizes=(2, 4, 8))
    assert [options.padded(n) for n in (1, 2, 3, 5, 8, 9)] == [2, 2, 4, 8, 8, 9]
    assert BatchOptions().padded(3) == 3


@pytest.mark.parametrize(
    ("size", "allowed", "message"),
    [
        (0, (), "max_batch_size must be above 0, got 0"),
        (4, (4, 2), "must be positive and ascending"),
        (4, (1, 2), "must be max_batch_size, 4, got 2"),
    ],
)
def test_options_that_contradict_themselves(
    size: int, allowed: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        BatchOptions(max_batch_size=size, allowed_batch_sizes=allowed)


def test_rounding_is_no_difference_and_another_answer_is() -> None:
    alone = {"y": np.float32([1.0, -2.0, np.nan])}
    assert agree({"y": np.float32([1.00001, -2.0, np.nan])}, alone)
    assert not agree({"y": np.float32([1.1, -2.0, np.nan])}, alone)
    assert not agree({"y": np.float32([1.0, -2.0, 0.0])}, alone)
    assert not agree({"y": np.int64([1])}, {"y": np.int64([2])})
    assert not agree({"z": np.int64([1])}, {"y": np.int64([1])})
