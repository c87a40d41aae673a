"""Decision tree ensembles as arrays, parsed from their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.proto import tree_ensemble_pb2 as proto


class Tree(NamedTuple):
    """One tree, [nodes] each; a node whose children are itself is a leaf.

    Args:
        feature: the feature whose buckets decide.
        column: index of the feature's bucket.
        bound: the last bucket that goes left, or the only one.
        only: whether it is the only one.
        left: the next node.
        right: the next node otherwise.
        values: the values of leaves, [nodes, logits].
        weight: weight of the tree.
    """

    feature: Array
    column: Array
    bound: Array
    only: Array
    left: Array
    right: Array
    values: Array
    weight: float

    def leaves(self, name: str, features: Sequence[Array]) -> Array:
        """The leaf of each row, [batch], for features [batch, columns] of int32."""
        rows = np.arange(len(features[0]))
        at = np.zeros(len(rows), np.intp)
        for _ in range(len(self.left) + 1):
            following = at
            for index in np.unique(self.feature[at]).tolist():
                mine = self.feature[at] == index
                here, buckets = at[mine], features[index]
                found = buckets[rows[mine], np.minimum(self.column[here], buckets.shape[1] - 1)]
                goes_left = np.where(
                    self.only[here], found == self.bound[here], found <= self.bound[here]
                )
                following = following.copy()
                following[mine] = np.where(goes_left, self.left[here], self.right[here])
            if (following == at).all():
                return at
            at = following
        raise InvalidArgumentError(f"{name}: the nodes of a tree form a cycle")


class Ensemble:
    """The resource behind a handle: trees, once they are given.

    Args:
        name: name in error messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.stamp = -1
        self.data = b""
        self._message: proto.TreeEnsemble | None = None
        self._trees: dict[int, list[Tree]] = {}

    @property
    def is_initialized(self) -> bool:
        """Whether trees were given."""
        return self._message is not None

    @property
    def message(self) -> proto.TreeEnsemble:
        """The trees as they were given.

        Raises:
            FailedPreconditionError: no trees were given.
        """
        if self._message is None:
            raise FailedPreconditionError(f"the tree ensemble {self.name!r} was not created yet")
        return self._message

    def load(self, op: str, stamp: int, data: bytes) -> None:
        """Load the trees from bytes.

        Raises:
            InvalidArgumentError: the bytes are no ensemble.
        """
        from google.protobuf.message import DecodeError

        from pinnace.proto.tree_ensemble_pb2 import TreeEnsemble

        try:
            message = TreeEnsemble.FromString(data)
        except DecodeError as error:
            raise InvalidArgumentError(
                f"{op}: tree_ensemble_serialized is no ensemble of trees: {error}"
            ) from None
        if len(message.tree_weights) != len(message.trees):
            raise InvalidArgumentError(
                f"{op}: there must be a weight per tree, got {len(message.tree_weights)} for "
                f"{len(message.trees)}"
            )
        self.stamp, self.data, self._message, self._trees = stamp, data, message, {}

    def trees(self, op: str, logits: int) -> list[Tree]:
        """The trees as arrays, cached since ensembles are evaluated often."""
        found = self._trees.get(logits)
        if found is None:
            pairs = zip(self.message.trees, self.message.tree_weights, strict=True)
            found = [_tree(op, tree, weight, logits) for tree, weight in pairs]
            self._trees[logits] = found
        return found

    def __repr__(self) -> str:
        return f"<Ensemble {self.name!r}>"


def _tree(op: str, tree: proto.DecisionTree, weight: float, logits: int) -> Tree:
    count = len(tree.nodes)
    if not count:  # no logits change
        tree = type(tree)(nodes=[{"leaf": {"scalar": 0.0}}])
        count = 1
    whole = np.zeros((6, count), np.int64)
    values = np.zeros((count, logits), np.float32)
    for index, node in enumerate(tree.nodes):
        kind = node.WhichOneof("node")
        if kind == "leaf":
            whole[4:, index] = index
            values[index] = _leaf(op, node.leaf, logits)
        elif kind in {"bucketized_split", "categorical_split"}:
            split = getattr(node, kind)
            only = kind == "categorical_split"
            bound = split.value if only else split.threshold
            sides = (split.left_id, split.right_id)
            if (
                not all(0 < side < count and side != index for side in sides)
                or min(split.feature_id, split.dimension_id) < 0
            ):
                raise InvalidArgumentError(
                    f"{op}: node {index} of a tree of {count} leads to {sides}, by feature "
                    f"{split.feature_id}, column {split.dimension_id}"
                )
            whole[:, index] = (split.feature_id, split.dimension_id, bound, only, *sides)
        else:
            raise InvalidArgumentError(
                f"{op}: node {index} of a tree is no leaf and no split by buckets"
            )
    feature, column, bound, only, left, right = whole
    return Tree(feature, column, bound, only.astype(bool), left, right, values, weight)


def _leaf(op: str, leaf: proto.TreeLeaf, logits: int) -> Array:
    if not leaf.HasField("vector"):
        return np.full(1, leaf.scalar, np.float32) if logits == 1 else _wrong(op, 1, logits)
    if len(leaf.vector.value) != logits:
        return _wrong(op, len(leaf.vector.value), logits)
    return np.array(leaf.vector.value, np.float32)


def _wrong(op: str, found: int, logits: int) -> Array:
    raise InvalidArgumentError(f"{op}: a leaf has {found} values, logits_dimension is {logits}")
