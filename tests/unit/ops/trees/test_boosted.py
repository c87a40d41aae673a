"""Ensembles of trees give the results of walking them node by node, and refuse invalid bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.proto.tree_ensemble_pb2 import TreeEnsemble

FEATURES, COLUMNS = 3, 2


@st.composite
def trees(draw: st.DrawFn, logits: int) -> dict[str, Any]:
    """A tree whose splits come before their children."""
    splits = draw(st.integers(0, 4))
    nodes: list[dict[str, Any]] = []
    open_ends, count = 1, 1
    for _ in range(splits):
        left, count = count, count + 2
        names = ("bucketized_split", "threshold"), ("categorical_split", "value")
        kind, bound = draw(st.sampled_from(names))
        nodes.append(
            {
                kind: {
                    "feature_id": draw(st.integers(0, FEATURES - 1)),
                    "dimension_id": draw(st.integers(0, COLUMNS - 1)),
                    bound: draw(st.integers(0, 4)),
                    "left_id": left,
                    "right_id": left + 1,
                }
            }
        )
        open_ends += 1
    for _ in range(open_ends):
        values = [draw(st.integers(-16, 16)) / 8 for _ in range(logits)]
        leaf = {"scalar": values[0]} if logits == 1 else {"vector": {"value": values}}
        nodes.append({"leaf": leaf})
    return {"nodes": nodes}


@st.composite
def ensembles(draw: st.DrawFn) -> tuple[TreeEnsemble, int]:
    logits = draw(st.integers(1, 3))
    found = [draw(trees(logits)) for _ in range(draw(st.integers(0, 3)))]
    weights = [draw(st.integers(0, 8)) / 4 for _ in found]
    return TreeEnsemble(trees=found, tree_weights=weights), logits


def walked(message: TreeEnsemble, features: list[Any], row: int, logits: int) -> list[float]:
    total = [0.0] * logits
    for tree, weight in zip(message.trees, message.tree_weights, strict=True):
        node = tree.nodes[0]
        while node.WhichOneof("node") != "leaf":
            kind = node.WhichOneof("node")
            split = getattr(node, kind)
            bucket = features[split.feature_id][row][split.dimension_id]
            left = bucket <= split.threshold if kind[0] == "b" else bucket == split.value
            node = tree.nodes[split.left_id if left else split.right_id]
        values = list(node.leaf.vector.value) or [node.leaf.scalar]
        total = [t + weight * v for t, v in zip(total, values, strict=True)]
    return total


def handle_of(data: bytes) -> Any:
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp()
    tf.raw_ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle,
        stamp_token=tf.constant(3, tf.int64),
        tree_ensemble_serialized=tf.constant(data),
    )
    return handle


@given(drawn=ensembles(), seed=st.integers(0, 2**16), batch=st.integers(0, 4))
def test_logits_are_those_of_walking_every_tree(
    drawn: tuple[TreeEnsemble, int], seed: int, batch: int
) -> None:
    message, logits = drawn
    rng = np.random.default_rng(seed)
    features = [rng.integers(0, 5, (batch, COLUMNS)).astype(np.int32) for _ in range(FEATURES)]
    handle = handle_of(message.SerializeToString())
    found = tf.raw_ops.BoostedTreesPredict(
        tree_ensemble_handle=handle, bucketized_features=features, logits_dimension=logits
    )
    lists = [one.tolist() for one in features]
    wanted = [walked(message, lists, row, logits) for row in range(batch)]
    # Multiples of 1/32: sums are exact.
    np.testing.assert_array_equal(found.numpy(), np.reshape(wanted, (batch, logits)))


def test_an_ensemble_is_given_back_as_it_was() -> None:
    message = TreeEnsemble(trees=[{"nodes": [{"leaf": {"scalar": 2.0}}]}], tree_weights=[1.0])
    message.growing_metadata.num_layers_attempted = 5
    handle = handle_of(message.SerializeToString())
    stamp, data = tf.raw_ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    assert (int(stamp), data.numpy()) == (3, message.SerializeToString())
    states = tf.raw_ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle)
    assert [one.numpy().tolist() for one in states] == [3, 1, 0, 5, [0, 0]]
    # A restored ensemble is not created again.
    tf.raw_ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle,
        stamp_token=tf.constant(9, tf.int64),
        tree_ensemble_serialized=tf.constant(b""),
    )
    assert int(tf.raw_ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)[0]) == 3


def test_an_ensemble_that_was_not_created_cannot_predict() -> None:
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp()
    told = tf.raw_ops.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=handle)
    assert not told.numpy()
    with pytest.raises(tf.errors.FailedPreconditionError, match="was not created yet"):
        predict(handle)


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([{"bucketized_split": {"left_id": 1, "right_id": 7}}], "leads to"),
        ([{"bucketized_split": {"left_id": 1, "right_id": 1}}] * 2, "leads to"),
        (
            [{"bucketized_split": {"left_id": n, "right_id": n}} for n in (1, 2, 1)],
            "form a cycle",
        ),
        ([{}], "no leaf and no split"),
        ([{"leaf": {"vector": {"value": [1.0, 2.0]}}}], "a leaf has 2 values"),
    ],
)
def test_trees_that_are_none_are_refused(nodes: list[Any], problem: str) -> None:
    message = TreeEnsemble(trees=[{"nodes": nodes}], tree_weights=[1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=problem):
        predict(handle_of(message.SerializeToString()))


def test_bytes_that_are_no_ensemble_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is no ensemble of trees"):
        handle_of(b"\xff\xff\xff")


def predict(handle: Any) -> Any:
    return tf.raw_ops.BoostedTreesPredict(
        tree_ensemble_handle=handle,
        bucketized_features=[np.zeros((2, 1), np.int32)],
        logits_dimension=1,
    )
