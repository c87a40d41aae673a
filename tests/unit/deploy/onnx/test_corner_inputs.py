"""Inputs of the comparison besides random numbers, and inputs of models that refuse those."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.converters.functional import loops
from pinnace.framework import errors
from unit.deploy.onnx.one_op import run_model


def spec(shape: Any, dtype: Any = tf.float32) -> Any:
    return tf.TensorSpec(shape, dtype)


def exported(function: Any, *specs: Any) -> Any:
    return export(tf.function(function, input_signature=list(specs)).get_concrete_function())


def at_most_twenty(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[])
    for i in tf.range(tf.minimum(tf.shape(x)[0], 20)):
        rows = rows.write(i, x[i])
    return rows.stack()


def up_to_the_padding(x: Any) -> Any:
    length = tf.cast(tf.reduce_sum(tf.sign(tf.reduce_max(tf.abs(x), 0))), tf.int32)
    rows = tf.TensorArray(tf.float32, tf.shape(x)[1], element_shape=[])
    for i in tf.range(length):
        rows = rows.write(i, tf.reduce_sum(x[:, i]))
    return rows.stack()


@pytest.mark.parametrize(
    ("program", "shape", "kind"),
    [(at_most_twenty, [None], "long"), (up_to_the_padding, [None, 4], "zeros")],
)
def test_a_converter_that_loses_rows_is_found(
    monkeypatch: pytest.MonkeyPatch, program: Any, shape: Any, kind: str
) -> None:
    report = exported(program, spec(shape))
    assert report.compared[kind] >= 1
    assert report.compared["drawn"] >= 1
    monkeypatch.setattr(loops, "_is_full", lambda *_: True)  # the earlier behaviour
    with pytest.raises(errors.InternalError, match="has shape"):
        exported(program, spec(shape))


def test_kinds_are_told() -> None:
    report = exported(lambda x: tf.nn.relu(x) + 1.0, spec([None, 3]))
    assert report.compared["padded"] == 1
    assert report.batches == sum(report.compared.values())


COUNTS, MANY = spec([None], tf.int32), spec([6], tf.int32)
STYLED = {
    "divisor": (lambda x, y: x // y, (spec([100], tf.int32), spec([100], tf.int32))),
    "remainder": (lambda x, y: x % y, (spec([100], tf.int64), spec([100], tf.int64))),
    "reshape": (tf.reshape, (spec([2, 3]), spec([2], tf.int32))),
    "flat": (tf.reshape, (spec([2, 3]), spec([1], tf.int32))),
    "broadcast": (tf.broadcast_to, (spec([3]), spec([2], tf.int32))),
    "segments": (tf.math.segment_sum, (spec([6, 2]), MANY)),
    "permutation": (tf.math.invert_permutation, (MANY,)),
    "numbers": (tf.strings.to_number, (spec([3], tf.string),)),
    "splits": (
        lambda values, splits: tf.RaggedTensor.from_row_splits(values, splits).to_tensor(),
        (spec([10]), spec([6], tf.int64)),
    ),
    "splits of splits": (
        lambda outer, inner, values: tf.RaggedTensor.from_nested_row_splits(
            values, [outer, inner]
        ).to_tensor(),
        (spec([4], tf.int64), spec([6], tf.int64), spec([10])),
    ),
    "parts": (lambda x, sizes: tf.split(x, sizes, 1)[0], (spec([5, 30]), spec([3], tf.int32))),
    "places": (
        lambda places, values, shape: tf.sparse.to_dense(tf.SparseTensor(places, values, shape)),
        (spec([5, 3], tf.int64), spec([5]), spec([3], tf.int64)),
    ),
    "search": (tf.searchsorted, (spec([6]), spec([4]))),
    "wave": (lambda x: tf.reduce_sum(tf.ensure_shape(x, [16000])), (spec([None]),)),
    "waves": (lambda x: tf.reduce_sum(tf.ensure_shape(x, [None, 97]), 1), (spec([None, None]),)),
}


@pytest.mark.parametrize("name", STYLED)
def test_inputs_of_a_form_are_found(name: str) -> None:
    function, specs = STYLED[name]
    assert exported(function, *specs).batches >= 1


def test_whole_numbers_are_divided_as_numpy_does() -> None:
    report = exported(lambda x, y: x // y, COUNTS, COUNTS)
    x, y = np.int32([7, -7, 7, -7]), np.int32([2, 2, -2, -2])
    (got,) = run_model(report, [x, y])
    np.testing.assert_array_equal(got, x // y)


NOTHING = {
    "sum": (lambda x: tf.reduce_sum(x), [None, 3], {"no rows"}),
    "softmax": (tf.nn.softmax, [None, None], {"no rows", "no elements"}),
    "conv": (
        lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), 1, "SAME"),
        [None, 8, 8, 3],
        {"no rows"},
    ),
    "loop": (at_most_twenty, [None], {"no rows"}),
}


@pytest.mark.parametrize("name", NOTHING)
def test_inputs_without_elements_are_compared(name: str) -> None:
    function, shape, kinds = NOTHING[name]
    report = exported(function, spec(shape))
    assert kinds <= set(report.compared)
    assert not report.empty


def test_a_mean_of_nothing_is_nan_but_not_in_the_runtime() -> None:
    report = exported(lambda x: tf.reduce_mean(x, 1), spec([2, None]))
    assert "NaN" in report.empty["no elements"]


def test_where_the_runtime_does_otherwise_it_is_said() -> None:
    report = exported(
        lambda x: tf.nn.conv2d(x, tf.ones([1, 1, 3, 4]), 1, "SAME"), spec([1, None, None, 3])
    )
    assert report.empty.keys() == {"no elements"}
    assert "Conv" in report.empty["no elements"]
    assert "no elements" not in report.compared
    assert report.as_dict()["empty"] == report.empty


@pytest.mark.parametrize("layer", [tf.keras.layers.GRU, tf.keras.layers.LSTM])
def test_a_runtime_that_would_end_the_process_is_not_asked(layer: Any) -> None:
    model = tf.keras.Sequential([tf.keras.Input([3, 2]), layer(4)])
    report = export(model)
    assert "ends the process" in report.empty["no rows"]
    assert report.compared["drawn"] >= 1
