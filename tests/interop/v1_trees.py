"""Exports of estimators with boosted trees: trees and buckets as resources in checkpoints.

TensorFlow 2.21 still has the Python classes with which estimators built the graph, but no kernels
for the ops: a session can neither save nor run them. So the op SaveV2 writes the checkpoint, and
the results are those of the same trees written as conditions on the features (`_walked`), which
TensorFlow runs.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import boosted_trees_ops, resources
from v1_estimators import CLASSIFY, PREDICT, REGRESS, classified
from v1_writing import Model, Programs, Signature, example, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

v1, raw = tf.compat.v1, tf.raw_ops
programs = Programs()

# A node is a leaf, `[numbers]`, or a split: (kind, feature, column, bound, left, right).
_Node = Any
_STAMP = 7


# The message, byte by byte: TensorFlow's package has no classes for it.


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _numbers(*pairs: tuple[int, int]) -> bytes:
    return b"".join(_varint(field << 3) + _varint(value) for field, value in pairs if value)


def _floats(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def _node(node: _Node) -> bytes:
    # The gain of a split is stored beside the node; predictions ignore it.
    metadata = _message(777, _varint(1 << 3 | 5) + _floats([0.5]))
    if isinstance(node, list):
        one = len(node) == 1
        leaf = (
            _varint(3 << 3 | 5) + _floats(node) if one else _message(1, _message(1, _floats(node)))
        )
        return _message(1, leaf)
    kind, feature, column, bound, left, right = node
    split = _numbers((1, feature), (2, bound), (3, left), (4, right), (5, column))
    return _message(2 if kind == "<=" else 3, split) + metadata


def _ensemble(trees: Sequence[Sequence[_Node]], weights: Sequence[float]) -> bytes:
    out = b"".join(
        _message(1, b"".join(_message(1, _node(node)) for node in tree)) for tree in trees
    )
    out += _message(2, _floats(weights))
    out += b"".join(_message(3, _numbers((2, 2), (3, 1))) for _ in trees)
    return out + _message(4, _numbers((1, len(trees)), (2, 2 * len(trees))))


class _Written(v1.train.Saver):
    """A saver that writes given values, since a session cannot read the resources.

    Args:
        values: values by their names in the checkpoint.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self._values = dict(values)

    def save(self, sess: Any, save_path: str, *_args: Any, **_options: Any) -> str:
        """Save the variables and `values` to files."""
        variables = {one.op.name: one for one in v1.global_variables()}
        values = {**self._values, **sess.run(variables)}
        with tf.Graph().as_default(), v1.Session() as session:
            session.run(
                raw.SaveV2(
                    prefix=save_path,
                    tensor_names=list(values),
                    shape_and_slices=[""] * len(values),
                    tensors=[tf.constant(value) for value in values.values()],
                )
            )
        return save_path


def _walked(
    trees: Sequence[Sequence[_Node]], weights: Sequence[float], features: Sequence[Any]
) -> Any:
    """The logits, computed by conditions."""

    def value(tree: Sequence[_Node], index: int) -> Any:
        node = tree[index]
        if isinstance(node, list):
            return tf.tile(tf.constant([node]), [tf.shape(features[0])[0], 1])
        kind, feature, column, bound, left, right = node
        found = features[feature][:, column]
        goes_left = found <= bound if kind == "<=" else tf.equal(found, bound)
        return tf.where(goes_left[:, None], value(tree, left), value(tree, right))

    pairs = zip(trees, weights, strict=True)
    return tf.add_n([value(tree, 0) * weight for tree, weight in pairs])


class _Trees:
    """An ensemble, as estimators build it or by conditions.

    Args:
        trees: the nodes of each tree.
        weights: the weight of each tree.
        plain: whether conditions compute it.
        is_copied: whether a local copy predicts, as with parameter servers.
    """

    def __init__(
        self,
        trees: Sequence[Sequence[_Node]],
        weights: Sequence[float],
        *,
        plain: bool,
        is_copied: bool = False,
    ) -> None:
        self._trees, self._weights, self._plain = trees, weights, plain
        self.stored: dict[str, Any] = {}
        if plain:
            return
        self._made = boosted_trees_ops.TreeEnsemble("boosted_trees")
        name = self._made.resource_handle.name
        self.stored = {
            f"{name}_stamp": np.int64(_STAMP),
            f"{name}_serialized": _ensemble(trees, weights),
        }
        self._ready: Any = tf.no_op()
        self._used = self._made
        if is_copied:
            self._used = boosted_trees_ops.TreeEnsemble("boosted_trees_local", is_local=True)
            self._ready = self._used.deserialize(*self._made.serialize())

    def logits(self, features: Sequence[Any], count: int) -> Any:
        if self._plain:
            return _walked(self._trees, self._weights, features)
        with tf.control_dependencies([self._ready]):
            return boosted_trees_ops.predict(
                tree_ensemble_handle=self._used.resource_handle,
                bucketized_features=features,
                logits_dimension=count,
            )


class _Buckets:
    """Boundaries that an estimator found while it was trained.

    Args:
        edges: boundaries by feature.
        plain: whether boundaries are constants.
    """

    def __init__(self, edges: Sequence[Sequence[float]], *, plain: bool) -> None:
        self._edges = [np.array(one, np.float32) for one in edges]
        self._plain = plain
        self.stored: dict[str, Any] = {}
        if not plain:
            self._made = boosted_trees_ops.QuantileAccumulator(
                epsilon=0.01, num_streams=len(edges), num_quantiles=100, name="numeric/quantiles"
            )
            name = self._made.resource_handle.name
            for place, one in enumerate(self._edges):
                self.stored[f"{name}_bucket_boundaries_{place}"] = one

    def of(self, values: Sequence[Any]) -> list[Any]:
        """The bucket of each value, [batch, 1] by feature."""
        if self._plain:
            pairs = zip(self._edges, values, strict=True)
            found = [
                tf.minimum(tf.searchsorted(edges, x, side="left"), len(edges) - 1)
                for edges, x in pairs
            ]
        else:
            found = boosted_trees_ops.boosted_trees_bucketize(
                values, self._made.get_bucket_boundaries()
            )
        return [one[:, None] for one in found]


def _parsed(**columns: Any) -> tuple[Any, dict[str, Any]]:
    serialised = v1.placeholder(tf.string, [None], "input_example_tensor")
    return serialised, v1.io.parse_example(serialised, columns)


def _number() -> Any:
    return tf.io.FixedLenFeature([], tf.float32, default_value=0.0)


def _both(
    make: Callable[[bool], tuple[dict[str, Signature], dict[str, Any]]],
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    **more: Any,
) -> Model:
    """A model, and the same without tree ops for its results."""
    signatures, stored = make(False)
    return Model(signatures, calls, saver=_Written(stored), twin=lambda: make(True)[0], **more)


_SPLIT = [("<=", 0, 0, 1, 1, 2), [-0.75], ("<=", 1, 0, 0, 3, 4), [0.25], [1.5]]
_STUMP = [("<=", 1, 0, 2, 1, 2), [0.5], [-0.25]]


def _people() -> np.ndarray:
    return texts(
        example(age=[31.0], hours=[40.0]),
        example(age=[58.5], hours=[10.0]),
        example(age=[7.0], hours=[0.25]),
        example(age=[18.0], hours=[250.0]),
        example(hours=[20.0]),
    )


@programs
def trees_classifier() -> Model:
    """Numeric columns, whose buckets are in the checkpoint."""

    def make(plain: bool) -> tuple[dict[str, Signature], dict[str, Any]]:
        serialised, parsed = _parsed(age=_number(), hours=_number())
        buckets = _Buckets([[18, 30, 50], [5, 20, 38, 45]], plain=plain)
        trees = _Trees([_SPLIT, _STUMP], [0.1, 0.3], plain=plain)
        logits = trees.logits(buckets.of([parsed["age"], parsed["hours"]]), 1)
        logits = tf.ensure_shape(logits, [None, 1])
        signatures = classified(serialised, logits, ["no", "yes"])
        return signatures, {**buckets.stored, **trees.stored}

    people = _people()
    return _both(
        make,
        [
            ("serving_default", {"inputs": people}),
            ("classification", {"inputs": people[:1]}),
            ("predict", {"examples": people}),
        ],
    )


@programs
def trees_regressor_with_a_local_copy() -> Model:
    """Bucketized and indicator columns, and the form of estimators with parameter servers."""
    kinds = ["flat", "house", "boat"]

    def make(plain: bool) -> tuple[dict[str, Signature], dict[str, Any]]:
        serialised, parsed = _parsed(
            size=_number(), kind=tf.io.FixedLenFeature([], tf.string, default_value="")
        )
        sizes = raw.Bucketize(input=parsed["size"], boundaries=[20.0, 80.0, 200.0])[:, None]
        each = tf.cast(tf.equal(parsed["kind"][:, None], tf.constant([kinds])), tf.int32)
        tree = [
            ("==", 1, 2, 1, 1, 2),
            [12.0],
            ("<=", 0, 0, 1, 3, 4),
            [2.5],
            ("==", 1, 1, 1, 5, 6),
            [8.0],
            [4.5],
        ]
        trees = _Trees([tree, [[0.5]]], [1.0, 0.5], plain=plain, is_copied=True)
        value = trees.logits([sizes, each], 1)
        regress = Signature({"inputs": serialised}, {"outputs": value}, REGRESS)
        return {
            "serving_default": regress,
            "regression": regress,
            "predict": Signature({"examples": serialised}, {"predictions": value}, PREDICT),
        }, trees.stored

    homes = texts(
        example(size=[80.0], kind="flat"),
        example(size=[20.0], kind="house"),
        example(size=[250.0], kind="house"),
        example(size=[10.0], kind="boat"),
        example(size=[100.0]),
    )
    model = _both(make, [("regression", {"inputs": homes}), ("predict", {"examples": homes[1:3]})])
    model.main_op = tf.group(
        v1.tables_initializer(), resources.initialize_resources(resources.local_resources())
    )
    return model


@programs
def trees_of_three_classes() -> Model:
    """Leaves with a number per class, and plain features."""
    tree = [
        ("<=", 0, 0, 0, 1, 2),
        [1.0, -0.5, 0.0],
        ("<=", 0, 1, 1, 3, 4),
        [0.0, 2.0, 0.5],
        [-1.0, 0.25, 3.0],
    ]
    other = [("<=", 1, 0, 2, 1, 2), [0.5, 0.0, 0.0], [0.0, 0.0, -0.5]]

    def make(plain: bool) -> tuple[dict[str, Signature], dict[str, Any]]:
        pairs = v1.placeholder(tf.float32, [None, 2], "pairs")
        single = v1.placeholder(tf.float32, [None], "single")
        buckets = _Buckets([[0.0, 1.0, 2.0, 9.0]], plain=plain)
        edges = [-1.0, 0.5]
        trees = _Trees([tree, other], [1.0, 2.0], plain=plain)
        features = [raw.Bucketize(input=pairs, boundaries=edges), *buckets.of([single])]
        logits = tf.ensure_shape(trees.logits(features, 3), [None, 3])
        scores = tf.nn.softmax(logits)
        signature = Signature(
            {"pairs": pairs, "single": single},
            {"scores": scores, "best": tf.argmax(logits, -1)},
            CLASSIFY,
        )
        return {"serving_default": signature}, {**buckets.stored, **trees.stored}

    feed = {
        "pairs": np.array([[-2, 0], [0, 3], [1, 0.5], [7, -1]], np.float32),
        "single": np.array([0.5, 1.0, 40.0, -3.0], np.float32),
    }
    return _both(make, [("serving_default", feed)])
