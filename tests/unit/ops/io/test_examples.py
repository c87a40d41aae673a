"""Example messages: a batch gives the same as protobuf one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data import Dataset
from pinnace.data.examples import (
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.composites.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from pinnace.ops.kernels import example_columns

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(width=32, allow_nan=False)


def feature(values: Any) -> Feature:
    if isinstance(values[0], bytes):
        return Feature(bytes_list=BytesList(value=values))
    if isinstance(values[0], float):
        return Feature(float_list=FloatList(value=values))
    return Feature(int64_list=Int64List(value=values))


def example(**features: Any) -> bytes:
    found = {key: feature(values) for key, values in features.items()}
    return Example(features=Features(feature=found)).SerializeToString()


def array(items: list[bytes]) -> np.ndarray[Any, Any]:
    out = np.empty(len(items), object)
    out[:] = items
    return out


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "i": draw(st.lists(st.integers(0, 300) | INT64, min_size=2, max_size=2)),
        "f": draw(st.lists(FLOAT, min_size=3, max_size=3)),
        "s": [draw(st.binary(min_size=2, max_size=3))],
        "seq": draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)),
    }


SPEC = {
    "i": FixedLenFeature([2], tf.int64),
    "f": FixedLenFeature([3], tf.float32),
    "s": FixedLenFeature([], tf.string),
    "missing": FixedLenFeature([2], tf.float32, [1.5, 2.5]),
    "seq": FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1),
}


@given(st.lists(rows(), min_size=1, max_size=30))
def test_many_at_once_are_what_they_were(items: list[dict[str, Any]]) -> None:
    parsed = parse_example(array([example(**row) for row in items]), SPEC)
    assert parsed["i"].numpy().tolist() == [row["i"] for row in items]
    assert parsed["f"].numpy().tolist() == [row["f"] for row in items]
    assert parsed["s"].numpy().tolist() == [row["s"][0] for row in items]
    assert parsed["missing"].numpy().tolist() == [[1.5, 2.5]] * len(items)
    width = max(len(row["seq"]) for row in items)
    wanted = [row["seq"] + [-1] * (width - len(row["seq"])) for row in items]
    assert parsed["seq"].numpy().tolist() == wanted
    one = parse_single_example(example(**items[0]), SPEC)
    assert one["i"].numpy().tolist() == items[0]["i"]
    assert one["s"].numpy() == items[0]["s"][0]


SIZES = st.sampled_from([0, 1, 5, 90, 100, 110, 120, 128, 300, 16_300, 16_384, 20_000])


@st.composite
def mixed_rows(draw: st.DrawFn) -> dict[str, Any]:
    """Rows with optional features, in any order, with values of any size."""
    row: dict[str, Any] = {}
    for key in draw(st.permutations(["a", "long" * 20, "n", "m", "f", "extra"])):
        if draw(st.integers(0, 5)) == 0:
            continue
        if key in {"a", "long" * 20, "extra"}:
            row[key] = [bytes([draw(st.integers(0, 255))]) * draw(SIZES)]
        elif key == "n":
            row[key] = [draw(INT64 | st.integers(0, 200))]
        elif key == "m":
            row[key] = draw(st.lists(INT64 | st.integers(0, 200), min_size=1, max_size=40))
        else:
            row[key] = draw(st.lists(FLOAT, min_size=1, max_size=40))
    return row


KINDS = {b"a": 1, b"long" * 20: 1, b"n": 3, b"m": 3, b"f": 2}


@given(st.lists(mixed_rows(), min_size=8, max_size=24), st.booleans())
def test_reading_side_by_side_gives_what_was_written(
    items: list[dict[str, Any]], doubled: bool
) -> None:
    items = items * 2 if doubled else items
    reader = example_columns.Reader([example(**row) for row in items], KINDS)
    for key in KINDS:
        column = reader.columns[key]
        stops = np.cumsum(column.lengths).tolist()
        found = {
            row: column.values[stop - length : stop].tolist()
            for row, stop, length in zip(
                column.rows.tolist(), stops, column.lengths.tolist(), strict=True
            )
        }
        wanted = {
            number: row[key.decode()]
            for number, row in enumerate(items)
            if key.decode() in row and number not in reader.rest
        }
        assert found == wanted


@given(st.lists(mixed_rows(), min_size=8, max_size=24))
def test_features_that_come_and_go_are_what_they_were(items: list[dict[str, Any]]) -> None:
    spec = {
        "a": FixedLenFeature([], tf.string, "?"),
        "n": FixedLenFeature([], tf.int64, -1),
        "m": FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "f": FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }
    parsed = parse_example(array([example(**row) for row in items]), spec)
    assert parsed["a"].numpy().tolist() == [row.get("a", [b"?"])[0] for row in items]
    assert parsed["n"].numpy().tolist() == [row.get("n", [-1])[0] for row in items]
    for key in ("m", "f"):
        width = max(len(row.get(key, [])) for row in items)
        wanted = [row.get(key, []) + [0] * (width - len(row.get(key, []))) for row in items]
        assert parsed[key].numpy().tolist() == wanted


@pytest.mark.parametrize("size", [0, 1, 100, 120, 127, 128, 16_383, 16_384, 70_000, 2_100_000])
def test_records_written_alike_are_read_side_by_side(size: int) -> None:
    records = [example(image=[bytes([i]) * size], label=[1 << i]) for i in range(20)]
    reader = example_columns.Reader(records, {b"image": 1, b"label": 3})
    assert reader.rest == []
    assert reader.columns[b"image"].values.tolist() == [bytes([i]) * size for i in range(20)]
    assert reader.columns[b"label"].values.tolist() == [1 << i for i in range(20)]


def test_unusual_writing_is_left_to_protobuf() -> None:
    packed = example(x=[1, 2])
    inner = b"\x1a\x04\x08\x01\x08\x02"  # the same values, unpacked
    entry = b"\x0a\x01x\x12" + bytes([len(inner)]) + inner
    loose = b"\x0a" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry
    unknown = packed + b"\x7a\x01z"
    records = [packed, loose, unknown] * 10
    found = parse_example(array(records), {"x": FixedLenFeature([2], tf.int64)})
    assert found["x"].numpy().tolist() == [[1, 2]] * 30


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=12), st.integers(0, 2**32))
def test_any_bytes_are_values_or_one_error(items: list[bytes], seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = bytearray(example(i=[1, 2], s=[b"abc"]))
    for _ in range(6):
        changed = bytearray(good)
        changed[rng.integers(len(good))] = rng.integers(256)
        items.append(bytes(changed))
    spec = {
        "i": FixedLenFeature([2], tf.int64, [0, 0]),
        "s": FixedLenFeature([], tf.string, ""),
    }
    try:
        found = parse_example(array(items * 3), spec)
    except InvalidArgumentError:
        return
    for index, record in enumerate(items):
        message = Example.FromString(record).features.feature
        wanted = list(message["i"].int64_list.value) or [0, 0] if "i" in message else [0, 0]
        assert found["i"].numpy()[index].tolist() == wanted


@pytest.mark.parametrize(
    ("record", "spec", "words"),
    [
        (example(x=[1]), FixedLenFeature([], tf.float32), "must hold float, record 0 holds int64"),
        (example(x=[1, 2]), FixedLenFeature([], tf.int64), "needs 1 values, record 0 has 2"),
        (example(y=[1]), FixedLenFeature([], tf.int64), "has no default and is not in record 0"),
        (b"\xff\xff", FixedLenFeature([], tf.int64), "record 0 is no Example"),
    ],
)
def test_what_does_not_fit_is_named(record: bytes, spec: Any, words: str) -> None:
    for count in (1, 20):
        with pytest.raises(InvalidArgumentError, match=words):
            parse_example(array([record] * count), {"x": spec})


def test_specs_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one feature"):
        parse_example(array([b""]), {})
    with pytest.raises(ValueError, match="float32, int64 or string"):
        parse_example(array([b""]), {"x": FixedLenFeature([], tf.int32)})
    with pytest.raises(ValueError, match="scalar"):
        parse_single_example(array([b""]), {"x": FixedLenFeature([], tf.int64)})
    with pytest.raises(ValueError, match="known in full"):
        parse_example(array([b""]), {"x": FixedLenFeature([None], tf.int64)})


def test_sparse_features_are_sparse_tensors_or_refused() -> None:
    records = array([example(x=[1, 2]), example(y=[1]), example(x=[3])])
    try:
        found = parse_example(records, {"x": VarLenFeature(tf.int64)})["x"]
    except tf.errors.UnimplementedError as error:
        assert "SparseTensor" in str(error)  # noqa: PT017 (until there is one)
        return
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]
    assert found.values.numpy().tolist() == [1, 2, 3]
    assert found.dense_shape.numpy().tolist() == [3, 2]


def test_parsing_in_a_map_is_done_for_many_at_once() -> None:
    records = array([example(x=[i, 2 * i], y=[float(i)]) for i in range(40)])
    spec = {"x": FixedLenFeature([2], tf.int64), "y": FixedLenFeature([], tf.float32)}

    def parse(record: Any) -> Any:
        found = parse_single_example(record, spec)
        return tf.cast(found["x"], tf.float32) * 2.0, found["y"]

    dataset = Dataset.from_tensor_slices(records).map(parse)
    assert dataset.stage.blocks is not None
    assert dataset.stage._function.batched() is not None  # type: ignore[attr-defined]  # of Mapped
    assert dataset.element_spec[0] == tf.TensorSpec([2], tf.float32)
    pairs = [(x.tolist(), float(y)) for x, y in dataset.as_numpy_iterator()]
    assert pairs == [([2.0 * i, 4.0 * i], float(i)) for i in range(40)]


def test_parsing_inside_a_function_of_unknown_batch() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def parse(records: Any) -> Any:
        return parse_example(records, {"x": FixedLenFeature([1], tf.float32)})["x"]

    assert parse.get_concrete_function().output_shapes == tf.TensorShape([None, 1])
    assert parse(array([example(x=[0.5])])).numpy().tolist() == [[0.5]]
