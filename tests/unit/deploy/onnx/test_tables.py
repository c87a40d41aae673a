"""Tables as LabelEncoder, to values or to their indices."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification.checking import str_of
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.one_op import run_model

WORDS = [b"a", b"pinnace", "größer".encode()]
KEYS: dict[str, list[Any]] = {"string": WORDS, "int64": [3, -7, 1 << 40], "int32": [3, -7, 9]}
VALUES: dict[str, list[Any]] = {
    "string": [b"x", b"", "ü".encode()],
    "int64": [5, -1, 1 << 50],
    "int32": [5, -1, 7],
    "float32": [0.5, -1.0, 3.25],
    "float64": [0.1, -1.0, 3.25],
}


def table(keys: str, values: str) -> tuple[Any, Any]:
    missing = b"none" if values == "string" else -3
    start = tf.lookup.KeyValueTensorInitializer(
        tf.constant(KEYS[keys], keys), tf.constant(VALUES[values], values)
    )
    return tf.lookup.StaticHashTable(start, tf.constant(missing, values)), missing


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ("string", "int64"),
        ("string", "float32"),
        ("string", "string"),
        ("string", "int32"),
        ("string", "float64"),
        ("int64", "string"),
        ("int64", "int64"),
        ("int64", "float32"),
        ("int32", "int32"),
    ],
)
def test_a_table_is_looked_into(keys: str, values: str) -> None:
    found, missing = table(keys, values)

    @tf.function
    def look(x: Any) -> Any:
        return found.lookup(x), found.size()

    spec = TensorSpec([None, 2], keys, name="x")
    report = export(look.get_concrete_function(spec))
    unknown = b"nobody" if keys == "string" else 4
    asked = [[KEYS[keys][2], unknown], [KEYS[keys][0], KEYS[keys][1]]]
    kind = object if keys == "string" else np.dtype(keys)
    x = np.array([[str_of(k) if keys == "string" else k for k in row] for row in asked], kind)
    got, size = run_model(report, [x])
    wanted = [VALUES[values][2], missing, VALUES[values][0], VALUES[values][1]]
    assert size == 3
    if values == "string":
        assert [str_of(s) for s in got.reshape(-1)] == [str_of(s) for s in wanted]
    else:
        np.testing.assert_array_equal(got.reshape(-1), np.array(wanted, values))
    if (keys, values) == ("string", "int64"):
        assert report.op_counts["LabelEncoder"] == 1
        assert {i.domain: i.version for i in report.model.opset_import} == {"": 18, "ai.onnx.ml": 3}


def test_a_default_that_is_fed() -> None:
    found, _ = table("string", "int64")

    @tf.function
    def look(x: Any, other: Any) -> Any:
        return tf.raw_ops.LookupTableFindV2(
            table_handle=found.resource_handle, keys=x, default_value=other
        )

    specs = TensorSpec([None], "string", name="x"), TensorSpec([], "int64", name="other")
    report = export(look.get_concrete_function(*specs))
    (got,) = run_model(report, [np.array(["a", "b"], object), np.array(11, np.int64)])
    np.testing.assert_array_equal(got, [5, 11])


def test_strings_that_are_no_text_are_refused() -> None:
    start = tf.lookup.KeyValueTensorInitializer(tf.constant([b"\xff"]), tf.constant([1], "int64"))
    found = tf.lookup.StaticHashTable(start, tf.constant(0, "int64"))

    @tf.function
    def look(x: Any) -> Any:
        return found.lookup(x)

    with pytest.raises(UnimplementedError, match="UTF-8"):
        export(look.get_concrete_function(TensorSpec([None], "string", name="x")))
