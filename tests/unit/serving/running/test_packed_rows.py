"""Feeds kept as bytes equal the arrays that they represent, alone and joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.specs import TensorSpec
from pinnace.serving.running.batching import batch_key, count_elements, join
from pinnace.serving.running.packed_rows import PackedRows, RowKind, kind_of
from unit.serving.numpy_models import NumpyModel

F32, F64, I32 = (np.dtype(name) for name in ("float32", "float64", "int32"))


def model(spec: TensorSpec, *more: str) -> NumpyModel:
    inputs = dict.fromkeys(["x", *more], spec)
    return NumpyModel(inputs, {"y": spec}, lambda feeds: {"y": feeds["x"]})


def kind(source: np.dtype = F32, *shape: int | None) -> RowKind:  # type: ignore[type-arg]
    made = kind_of(
        model(TensorSpec([None, *shape], "float32")),
        "x",
        source,
        tuple(size or 3 for size in shape),
        casts=True,
    )
    assert made is not None
    return made


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(0, 3),
    st.sampled_from([(), (3,), (2, 3), (1, 1, 2)]),
    st.sampled_from([F32, F64]),
)
def test_bytes_are_joined_as_arrays_are(
    rows: list[int],
    extra: int,
    shape: tuple[int, ...],
    source: np.dtype,  # type: ignore[type-arg]
) -> None:
    one = kind(source, *shape)
    random = np.random.default_rng(len(rows))
    arrays = [random.standard_normal((n, *shape)).astype(source) * 1e30 for n in rows]
    packed = [PackedRows(one, a.tobytes(), n) for a, n in zip(arrays, rows, strict=True)]
    with np.errstate(over="ignore"):
        plain = [{"x": array.astype(np.float32)} for array in arrays]
    for part, expected in zip(packed, plain, strict=True):
        assert dict(part).keys() == {"x"}
        np.testing.assert_array_equal(part["x"], expected["x"])
        assert batch_key(part) == batch_key(expected)
        assert count_elements(part) == count_elements(expected)
    padded = sum(rows) + extra
    expected = join(plain, padded)["x"]
    for parts in (packed, [*packed[:1], *plain[1:]], [*plain[:1], *packed[1:]]):
        found = join(parts, padded)["x"]
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 9), st.sampled_from([F32, F64]), st.integers(0, 2))
def test_bytes_may_begin_anywhere(
    offset: int,
    source: np.dtype,  # type: ignore[type-arg]
    extra: int,
) -> None:
    one = kind(source, 3)
    values = np.arange(6, dtype=source).reshape(2, 3)
    rows = PackedRows(one, memoryview(bytes(offset) + values.tobytes())[offset:], 2)
    assert rows["x"].flags.aligned
    np.testing.assert_array_equal(rows["x"], values)
    joined = join([rows, rows], 4 + extra)["x"]
    assert joined.flags.aligned
    expected = np.concatenate([values, values, *[values[-1:]] * extra])
    np.testing.assert_array_equal(joined, expected)


def test_only_rows_that_a_signature_takes_have_a_kind() -> None:
    spec = TensorSpec([None, 2, None], "float32")
    assert kind_of(model(spec), "x", F32, (2, 5)) is not None
    assert kind_of(model(TensorSpec(None, "float32")), "x", F32, (7,)) is not None
    assert kind_of(model(spec), "x", F64, (2, 5), casts=True) is not None
    assert kind_of(model(spec), "x", F64, (2, 5)) is None
    assert kind_of(model(spec), "x", I32, (2, 5), casts=True) is None
    assert kind_of(model(spec), "y", F32, (2, 5)) is None
    assert kind_of(model(spec, "z"), "x", F32, (2, 5)) is None
    assert kind_of(model(spec), "x", F32, (3, 5)) is None
    assert kind_of(model(spec), "x", F32, (2,)) is None
    assert kind_of(model(TensorSpec([4, 2], "float32")), "x", F32, (2,)) is None
    assert kind_of(model(TensorSpec([None], "int32")), "x", F64, (), casts=True) is None
    assert kind_of(model(TensorSpec([None], "string")), "x", np.dtype(object), ()) is None


def test_there_is_no_other_input() -> None:
    rows = PackedRows(kind(F32, 3), np.zeros(3, np.float32).tobytes(), 1)
    assert len(rows) == 1
    with pytest.raises(KeyError):
        rows["y"]
