"""Columns: text has the same bytes in every container; values unfit for a tensor are refused."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.columns import column_array

# Arrow and Polars refuse lone surrogates, NumPy's own strings lose zeros at the end.
TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1
)
OF_TEXT = {
    "NumPy objects": lambda texts: np.array(texts, object),
    "NumPy's own": np.array,
    "NumPy's variable width": lambda texts: np.array(texts, np.dtypes.StringDType()),
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas str": lambda texts: pd.Series(texts, dtype="str"),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas index": pd.Index,
    "Polars": pl.Series,
    "Polars categorical": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "Polars enum": lambda texts: pl.Series(texts, dtype=pl.Enum(list(dict.fromkeys(texts)))),
    "Arrow": pa.array,
    "Arrow large": lambda texts: pa.array(texts, pa.large_string()),
    "Arrow chunks": lambda texts: pa.chunked_array([texts]),
    "Arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
}
OF_NUMBERS = {
    "objects": (lambda: np.array([1, 2], object), "int64"),
    "objects with a fraction": (lambda: np.array([1, 2.5], object), "float64"),
    "pandas Int64": (lambda: pd.Series([1, 2], dtype="Int64"), "int64"),
    "pandas UInt8": (lambda: pd.Series([1, 2], dtype="UInt8"), "uint8"),
    "pandas Float64": (lambda: pd.Series([1.5, 2], dtype="Float64"), "float64"),
    "pandas Float32": (lambda: pd.Series([1.5, 2], dtype="Float32"), "float32"),
    "pandas boolean": (lambda: pd.Series([True, False], dtype="boolean"), "bool"),
    "pandas category": (lambda: pd.Series([3, 4], dtype="category"), "int64"),
    "pandas NaN of its floats": (lambda: pd.Series([1, np.nan]), "float64"),
    "frame of Int64": (lambda: pd.DataFrame({"a": pd.array([1, 2], "Int64")}), "int64"),
    "Polars": (lambda: pl.Series([1, 2]), "int64"),
    "Polars bool": (lambda: pl.Series([True, False]), "bool"),
    "Arrow": (lambda: pa.array([1, 2], pa.uint8()), "uint8"),
    "Arrow bool": (lambda: pa.array([True, False]), "bool"),
    "Arrow table": (lambda: pa.table({"a": [1.5], "b": [2.5]}), "float64"),
}
MISSING = {
    "None among objects": lambda: np.array(["a", None], object),
    "NaN among objects": lambda: pd.Series(["a", np.nan], dtype=object),
    "pandas str": lambda: pd.Series(["a", None], dtype="str"),
    "pandas string": lambda: pd.Series(["a", pd.NA], dtype="string"),
    "pandas category": lambda: pd.Series(["a", None], dtype="category"),
    "pandas Int64": lambda: pd.Series([1, None], dtype="Int64"),
    "pandas Float64": lambda: pd.Series([1.5, None], dtype="Float64"),
    "pandas boolean": lambda: pd.Series([True, None], dtype="boolean"),
    "pandas Arrow": lambda: pd.Series([1, None], dtype=pd.ArrowDtype(pa.int64())),
    "pandas frame": lambda: pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1.0, 2.0]}),
    "Polars": lambda: pl.Series([1, None]),
    "Polars text": lambda: pl.Series(["a", None]),
    "Polars frame": lambda: pl.DataFrame({"a": [1, None]}),
    "Arrow": lambda: pa.array([1.5, None]),
    "Arrow table": lambda: pa.table({"a": [1, None]}),
}
NEITHER = {
    "both": (lambda: pd.Series([1, "a"], dtype=object), "got int and text"),
    "frame": (lambda: pd.DataFrame({"a": [1], "b": ["x"]}), r"got int and text\n.*dict\(frame\)"),
    "rows": (lambda: pd.Series([[1], [2, 3]]), r"got list\n.*pad_sequences"),
    "decimals": (lambda: pa.array([decimal.Decimal("1.5")]), r"got Decimal\n.*float64"),
    "dates": (lambda: pd.Series([dt.date(2020, 1, 1)]), r"got date\n.*numbers for the dates"),
}


@pytest.mark.parametrize("kind", OF_TEXT)
@given(texts=TEXTS)
def test_text_is_utf_8_whatever_holds_it(kind: str, texts: list[str]) -> None:
    wanted = [text.encode() for text in texts]
    column = OF_TEXT[kind](texts)
    assert tf.constant(column).numpy().tolist() == wanted
    assert tf.constant(column, tf.string).numpy().tolist() == wanted
    assert tf.function(lambda x: x)(column).numpy().tolist() == wanted
    slices = tf.data.Dataset.from_tensor_slices({"column": column})
    assert [row["column"] for row in slices.as_numpy_iterator()] == wanted
    spec = tf.TensorSpec([None], tf.string)
    made = tf.data.Dataset.from_generator(lambda: iter([column]), output_signature=spec)
    assert [row.tolist() for row in made.as_numpy_iterator()] == [wanted]


@pytest.mark.parametrize("kind", OF_TEXT)
def test_a_signature_takes_text_whatever_holds_it(kind: str) -> None:
    f = tf.function(tf.strings.upper, input_signature=[tf.TensorSpec([None], tf.string, "x")])
    concrete = f.get_concrete_function()
    assert f(OF_TEXT[kind](["a", "é"])).numpy().tolist() == [b"A", "é".encode()]
    assert concrete(OF_TEXT[kind](["a"])).numpy().tolist() == [b"A"]


def test_arrays_for_a_server_take_text_as_objects(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = tf.function(
        lambda x: {"y": tf.strings.upper(x)},
        input_signature=[tf.TensorSpec([None], tf.string, "x")],
    )
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": module.f})
    signature = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    for given_text in (np.array(["a"], object), np.array(["a"]), np.array([b"a"], object)):
        assert signature.run_arrays({"x": given_text})["y"].tolist() == [b"A"]


@pytest.mark.parametrize("kind", OF_NUMBERS)
def test_numbers_keep_their_dtype(kind: str) -> None:
    make, dtype = OF_NUMBERS[kind]
    found = tf.constant(make())
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.numpy(), np.asarray(make()).astype(dtype))


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_are_refused_by_name(kind: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)'age' has a missing value.*Try: fillna"):
        column_array(MISSING[kind](), "'age'")
    with pytest.raises(ValueError, match="has a missing value"):
        tf.data.Dataset.from_tensor_slices({"age": MISSING[kind]()})


@pytest.mark.parametrize("kind", NEITHER)
def test_what_is_neither_text_nor_numbers_is_refused_with_a_remedy(kind: str) -> None:
    make, message = NEITHER[kind]
    with pytest.raises(ValueError, match=f"'age' must hold text only or numbers only, {message}"):
        column_array(make(), "'age'")


def test_an_array_that_fits_is_not_copied() -> None:
    for array in (np.ones(3), np.array([b"a"], object)):
        assert column_array(array) is array


def test_an_integer_beside_a_fraction_is_told_to_become_one() -> None:
    with pytest.raises(TypeError, match=r"cast\(x, 'float32'\)"):
        tf.constant([1]) + 1.5
    with pytest.raises(TypeError, match=r"make the int32 a float64: cast\(x, 'float64'\)"):
        tf.add(tf.constant([1]), [np.float64(1.5)])
