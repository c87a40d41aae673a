"""Decision forests in ONNX give the forest's results, including missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.proto import decision_forest_pb2 as proto
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path


def session(path: Path) -> Any:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    "name", ["boosted_number", "boosted_three", "cart_three", "forest_oblique"]
)
def test_files_of_ydf_are_written_and_give_the_answers_of_tensorflow(
    name: str, tmp_path: Path
) -> None:
    onnx.export(golden(f"forests/{name}") / "model", tmp_path / "forest.onnx")
    run = session(tmp_path / "forest.onnx")
    with np.load(golden(f"forests/{name}") / "io.npz") as arrays:
        feeds = {one.name: arrays[f"in/{one.name}"] for one in run.get_inputs()}
        for key, value in feeds.items():
            if value.dtype.kind == "S":
                feeds[key] = np.array([one.decode() for one in value])
        (y,) = run.run(None, feeds)
        np.testing.assert_allclose(y, arrays["out/output"], rtol=1e-5, atol=1e-6)


def written(folder: Path, conditions: list[dict[str, Any]]) -> None:
    """Two trees of a boosted regression: a chain of conditions, and a leaf."""
    types = proto.DataColumn
    nodes = [proto.ForestNode(condition=one) for one in conditions]
    chain: list[Any] = []
    for k, node in enumerate(nodes):
        chain += [node, proto.ForestNode(regressor={"top_value": 2.0**k})]
    chain.append(proto.ForestNode(regressor={"top_value": -1.0}))
    leaf = proto.ForestNode(regressor={"top_value": 0.25})
    body = b"".join(
        len(data).to_bytes(4, "little") + data
        for data in (node.SerializeToString() for node in (*chain, leaf))
    )
    spec = proto.DataSpecification(
        columns=[
            {"type": types.NUMERICAL, "name": b"a"},
            {"type": types.NUMERICAL, "name": b"b"},
            {"type": types.BOOLEAN, "name": b"t"},
            {
                "type": types.CATEGORICAL,
                "name": b"c",
                "categorical": {"number_of_unique_values": 5},
            },
        ]
    )
    header = proto.GradientBoostedTreesHeader(
        loss="SQUARED_ERROR", initial_predictions=[0.5], num_trees=2, num_node_shards=1
    )
    model = proto.ForestModel(
        name="GRADIENT_BOOSTED_TREES",
        task=proto.ForestModel.REGRESSION,
        input_features=[0, 1, 2, 3],
        label_col_idx=0,
    )
    (folder / "nodes-00000-of-00001").write_bytes(b"BS\x01\x00\x00\x00\x00\x00" + body)
    (folder / "header.pb").write_bytes(model.SerializeToString())
    (folder / "data_spec.pb").write_bytes(spec.SerializeToString())
    (folder / "gradient_boosted_trees_header.pb").write_bytes(header.SerializeToString())


CONDITIONS: dict[str, dict[str, Any]] = {
    "higher": {"attribute": 0, "condition": {"higher_condition": {"threshold": 0.5}}},
    "missing number": {"attribute": 1, "condition": {"na_condition": {}}},
    "missing category": {"attribute": 3, "condition": {"na_condition": {}}},
    "true": {"attribute": 2, "condition": {"true_value_condition": {}}},
    "list": {"attribute": 3, "condition": {"contains_condition": {"elements": [0, 3]}}},
    "bits": {
        "attribute": 3,
        "condition": {"contains_bitmap_condition": {"elements_bitmap": b"\x16"}},
    },
    "sum": {
        "attribute": 0,
        "condition": {
            "oblique_condition": {"attributes": [0, 1], "weights": [1.0, -2.0], "threshold": 0.25}
        },
    },
    "sum with replacements": {
        "attribute": 0,
        "condition": {
            "oblique_condition": {
                "attributes": [0, 1],
                "weights": [1.0, 0.5],
                "threshold": 0.75,
                "na_replacements": [1.0, 3.0],
            }
        },
    },
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("names", [*((name,) for name in CONDITIONS), tuple(CONDITIONS)], ids=str)
def test_each_condition_is_that_of_the_forest(
    names: tuple[str, ...], missing: bool, tmp_path: Path
) -> None:
    written(tmp_path, [{**CONDITIONS[name], "na_value": missing} for name in names])
    handle = tf.raw_ops.SimpleMLCreateModelResource()
    tf.raw_ops.SimpleMLLoadModelFromPathWithHandle(
        model_handle=handle, path=f"{tmp_path}/", file_prefix=""
    )
    spec = tf.TensorSpec
    nothing = tf.zeros([0], tf.int32), tf.zeros([1], tf.int64), tf.zeros([1], tf.int64)

    @tf.function(
        input_signature=[
            spec([None, 2], tf.float32, name="numbers"),
            spec([None, 1], tf.float32, name="booleans"),
            spec([None, 1], tf.int32, name="categories"),
        ]
    )
    def ask(numbers: tf.Tensor, booleans: tf.Tensor, categories: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.SimpleMLInferenceOpWithHandle(
            numerical_features=numbers,
            boolean_features=booleans,
            categorical_int_features=categories,
            categorical_set_int_features_values=nothing[0],
            categorical_set_int_features_row_splits_dim_1=nothing[1],
            categorical_set_int_features_row_splits_dim_2=nothing[2],
            model_handle=handle,
            dense_output_dim=1,
        )[0]

    onnx.export(ask.get_concrete_function(), tmp_path / "forest.onnx")
    grid = [-1.0, 0.0, 0.5, 1.0, np.inf, -np.inf, np.nan]
    rows = [
        (a, b, t, c)
        for a in grid
        for b in grid
        if not (np.isinf(a) and np.isinf(b))  # their sum is NaN
        for t in (0.0, 1.0, np.nan)
        for c in (-1, 0, 1, 3, 4, 5, -7)
    ]
    columns = np.array(rows, np.float64)
    feeds = {
        "numbers": columns[:, :2].astype(np.float32),
        "booleans": columns[:, 2:3].astype(np.float32),
        "categories": columns[:, 3:].astype(np.int32),
    }
    wanted = ask(*(tf.constant(x) for x in feeds.values())).numpy()
    (found,) = session(tmp_path / "forest.onnx").run(None, feeds)
    # Only the forest distinguishes infinite sums from missing ones.
    finite = (
        ~np.isinf(columns[:, :2]).any(axis=1) if any("sum" in n for n in names) else slice(None)
    )
    np.testing.assert_array_equal(found[finite], wanted[finite])
